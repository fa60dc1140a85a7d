// Every page of the dashboard, over pipelines in which every text that can come
// from outside is a stranger's.
import { fits, links, noDialogs, token } from '../dash.mjs'
import { audit, expect, look, site, test } from '../fixture.mjs'

/** @type {[name: string, path: string, words: string][]} */
const pages = [
  ['board', '', 'Needs you'], ['queue', 'queue', 'Queue'], ['repos', 'repos', 'acme/app'], ['cost', 'cost', 'Cost'], ['history', 'history', 'History'], ['journal', 'journal', 'Journal'],
  ['moment', 'journal/1', 'State at this moment'], ['task-done', 'tasks/1', 'done'], ['task-red', 'tasks/2', 'CI failed'], ['task-stopped', 'tasks/3', 'cancelled'],
  ['task-at-work', 'tasks/4', 'developer'], ['run', 'tasks/1/runs/1/1', 'output'], ['run-at-work', 'tasks/4/runs/3/1', 'at work for'],
  ['session', 'session', 'Sign in'], ['retry', 'tasks/2/retry', 'again?'], ['stop', 'tasks/4/stop', 'Stop the task'], ['unfreeze', 'repos/unfreeze?repo=acme/app', 'Unfreeze acme/app?'],
  ['missing', 'nothing', 'There is no such page.'],
]

for (const [name, path, words] of pages) {
  test(`${name}: light, dark and narrow`, async ({ page, problems }) => {
    noDialogs(page, problems)
    if (name === 'missing') problems.allow(/404/)
    await page.setViewportSize({ width: 1280, height: 800 })
    await page.goto(site('strangers') + path)
    await expect(page.locator('main')).toContainText(words)
    await expect(page.locator('h1')).toHaveCount(1)
    await expect(page.locator('img, main script, iframe')).toHaveCount(0)
    await look(page, `dash-${name}`, { fullPage: true })
    await fits(page)
    await page.setViewportSize({ width: 360, height: 640 })
    await page.goto(site('strangers-2') + path)
    await expect(page.locator('main')).toContainText(words)
    await fits(page)
    await audit(page)
    await page.screenshot({ path: `screens/dash-${name}-narrow.png`, fullPage: true })
  })
}

test('a stranger’s words are words, everywhere', async ({ page, problems }) => {
  noDialogs(page, problems)
  for (const path of ['', 'tasks/1', 'journal', 'cost', 'tasks/1/runs/1/1', 'repos']) {
    await page.goto(site('strangers') + path)
    await expect(page.locator('body')).toContainText('<script>alert(1)</script>')
  }
  await page.goto(site('strangers') + 'tasks/1/runs/1/1')
  await expect(page.locator('#out')).toContainText('output </title></pre></script><script>alert(1)</script>')
})

test('every link below a prefix stays there and leads somewhere', { tag: '@quick' }, async ({ page, request }) => {
  const root = site('strangers-2')
  const seen = new Set()
  for (const [, path] of pages.slice(0, -1)) {
    await page.goto(root + path)
    for (const { url, posts } of await links(page)) {
      const known = /^https:\/\/(board|git|host)\.example\.org\//.test(url) || new URL(url).pathname === '/map'
      if (!known) expect(url, `on ${path}`).toContain(root.slice(0, -1))
      if (!known && !posts) seen.add(url.split('#')[0])
    }
  }
  expect(seen.size).toBeGreaterThan(40)
  for (const url of seen) expect((await request.get(url)).status(), url).toBe(200)
})

test('a link to sign in types the token, and leaves it in no address', { tag: '@quick' }, async ({ page }) => {
  await page.goto(site('strangers') + 'session#' + token)
  await expect(page.locator('#token')).toHaveValue(token)
  expect(page.url()).not.toContain(token)
  await page.goBack()
  expect(page.url()).not.toContain(token)
})

test('the keyboard reaches the content and the entries', async ({ page }) => {
  await page.goto(site('strangers'))
  await page.keyboard.press('Tab')
  await expect(page.getByRole('link', { name: 'Skip to the content' })).toBeFocused()
  await page.keyboard.press('Enter')
  await expect(page.locator('main')).toBeFocused()
})

test('a page comes up to date by itself, and keeps what the reader has', async ({ page, context }) => {
  await page.goto(site('acts'))
  await page.evaluate(() => void Object.assign(window, { same: true }))
  const card = page.locator('.card', { hasText: 'waits for a person' })
  await expect(card).toBeVisible()
  const link = card.locator('a').first()
  await link.focus()
  const other = await context.newPage()
  await other.goto(site('acts') + 'tasks/2/retry')
  await other.getByLabel('Token').fill(token)
  await other.getByRole('button', { name: 'Run it again' }).click()
  await expect(other.getByRole('status')).toContainText('The retry is queued.')
  await expect(page.locator('.needs li', { hasText: 'red </title>' })).toBeVisible()
  await expect.poll(() => page.locator('body').getAttribute('data-rev')).not.toBe('')
  await expect(link).toBeFocused()
  expect(await page.evaluate(() => 'same' in window)).toBe(true)
  await page.getByRole('button', { name: 'Pause' }).click()
  await expect(page.getByRole('button', { name: 'Resume' })).toHaveAttribute('aria-pressed', 'true')
})

test('a log is followed while it grows', async ({ page }) => {
  await page.goto(site('acts') + 'tasks/4/runs/3/1')
  const log = page.locator('#out')
  await page.getByText('Output and errors, as they were printed').click()
  await expect(log).toContainText('output')
  const before = await log.evaluate(e => e.textContent?.length ?? 0)
  await expect.poll(() => log.evaluate(e => e.textContent?.length ?? 0)).toBeGreaterThan(before + 10)
  await expect(page.locator('[data-follow=out]')).toBeChecked()
})

test('what changes something asks first, and for the token', { tag: '@quick' }, async ({ page, problems }) => {
  problems.allow(/40[13]/)
  await page.addInitScript(() => { performance.now = () => 5000 })
  await page.goto(site('acts') + 'tasks/4')
  await page.getByRole('link', { name: /^Stop/ }).click()
  await expect(page.getByRole('heading', { level: 1 })).toContainText('Stop APP-')
  const field = page.locator('#token')
  await field.fill('wrong')
  await page.getByRole('button', { name: 'Stop the task' }).click()
  await expect(page.getByRole('alert')).toContainText("This is no token of this server")
  await look(page, 'dash-refused')
  await page.getByRole('link', { name: 'Cancel' }).click()
  await expect(page).toHaveURL(site('acts') + 'tasks/4')
  await page.getByRole('link', { name: /^Stop/ }).click()
  await field.fill(token)
  await page.getByRole('button', { name: 'Stop the task' }).click()
  await expect(page.getByRole('status')).toContainText('STOP is queued.')
  await expect(page.locator('.now')).toContainText('cancelled') // comes by itself
  // What came of the request outlives an update: the page's clock stands.
  await page.getByRole('button', { name: 'Pause' }).click()
  const update = page.waitForResponse(r => r.request().resourceType() === 'fetch' && r.url().includes('tasks/4'))
  await page.getByRole('button', { name: 'Resume' }).click()
  await (await update).finished()
  await page.waitForTimeout(300) // until it is taken over
  await expect(page.getByRole('status')).toContainText('STOP is queued.')
})

test('who is signed in is not asked again', async ({ page, context, problems }) => {
  problems.allow(/40[13]/)
  await page.goto(site('acts'))
  await page.getByRole('link', { name: 'Sign in' }).click()
  await page.locator('#token').fill('wrong')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await expect(page.getByRole('alert')).toBeVisible()
  await page.locator('#token').fill(token)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await expect(page.getByRole('status')).toContainText('You are signed in.')
  const [cookie] = await context.cookies()
  expect({ only: cookie.httpOnly, same: cookie.sameSite, path: cookie.path }).toEqual({ only: true, same: 'Strict', path: '/tools/' })
  await page.goto(site('acts') + 'repos')
  await page.getByRole('link', { name: /^Unfreeze/ }).click()
  await expect(page.locator('#token')).toHaveCount(0)
  await look(page, 'dash-unfreeze-signed-in')
  await page.getByRole('button', { name: 'Unfreeze' }).click()
  await expect(page.getByRole('status')).toContainText('The freeze has ended.')
  await page.goto(site('acts') + 'journal')
  await expect(page.locator('main')).toContainText('admin (dashboard, token)')
  await page.getByRole('button', { name: 'Sign out' }).click()
  await expect(page.getByRole('status')).toContainText('You are signed out.')
  await expect(page.getByRole('link', { name: 'Sign in' })).toBeVisible()
})

test.describe('without JavaScript', () => {
  test.use({ javaScriptEnabled: false })

  test('every page shows what it has to show', async ({ page }) => {
    for (const [, path, words] of pages.slice(0, -1)) {
      await page.goto(site('strangers') + path)
      await expect(page.locator('main')).toContainText(words)
    }
    await page.goto(site('strangers'))
    await expect(page.locator('noscript p')).toBeVisible()
    await page.screenshot({ path: 'screens/dash-board-noscript.png', fullPage: true })
  })

  test('a request is made', async ({ page }) => {
    await page.goto(site('acts') + 'tasks/2')
    await page.getByRole('link', { name: /again|Retry/i }).first().click()
    await page.locator('#token').fill(token)
    await page.getByRole('button', { name: 'Run it again' }).click()
    await expect(page.getByRole('status')).toContainText('The retry is queued.')
  })
})
