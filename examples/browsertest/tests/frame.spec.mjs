// The frame catches what it is there for.
import { audit, expect, test } from '../fixture.mjs'

/**
 * Shows a page with a strict policy.
 * @param {import('@playwright/test').Page} page
 * @param {string} body
 */
async function show(page, body) {
  await page.route('http://127.0.0.1:9/**', route => route.fulfill({
    contentType: 'text/html', headers: { 'Content-Security-Policy': "default-src 'none'; script-src 'nonce-ours'" },
    body: `<!doctype html><html lang="en"><title>page</title><main><h1>page</h1>${body}</main></html>`,
  }))
  await page.goto('http://127.0.0.1:9/')
}

test('a good page passes', async ({ page }) => {
  await show(page, '<script nonce="ours">console.log("fine")</script>')
  await audit(page)
})

for (const [what, body, seen] of /** @type {const} */ ([
  ['an inline script', '<script>1</script>', 'policy: script-src-elem'],
  ['an inline style', '<p style="color: red">red</p>', 'policy: style-src-attr'],
  ['a console error', '<script nonce="ours">console.error("bad")</script>', 'console: bad'],
  ['an uncaught error', '<script nonce="ours">null.x</script>', 'uncaught: TypeError'],
  ['a lost promise', '<script nonce="ours">Promise.reject(new Error("lost"))</script>', 'uncaught: Error: lost'],
  ['an outside request', '<script nonce="ours">fetch("https://example.org/x").catch(() => {})</script>', 'policy: connect-src'],
])) {
  test(`${what} is a problem`, async ({ page, problems }) => {
    problems.allow(/./)
    await show(page, body)
    await expect.poll(() => problems.seen.join('\n')).toContain(seen)
  })
}

test('a problem fails the test', async ({ page, problems }) => {
  test.fail()
  await show(page, '<script nonce="ours">console.error("bad")</script>')
  await expect.poll(() => problems.seen.length).toBe(1)
})

test('a button without a name fails the audit', async ({ page }) => {
  await show(page, '<button></button>')
  await expect(audit(page)).rejects.toThrow('button-name')
})
