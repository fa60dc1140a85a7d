// A run that is followed while it works, by its steps.
import { fits, noDialogs } from '../dash.mjs'
import { audit, expect, look, site, test } from '../fixture.mjs'

const run = 'tasks/4/runs/3/1'
const steps = '#steps > li'

test('a run is followed, and a reader who scrolled up stays there', { tag: '@quick' }, async ({ page, problems }) => {
  noDialogs(page, problems)
  await page.setViewportSize({ width: 1400, height: 900 })
  await page.goto(site('follow') + run)
  const list = page.locator('#steps')
  const count = () => page.locator('#steps .step').count()
  await expect(list).toContainText('the cache of the tiles needs a bound')
  const before = await count()
  await expect.poll(count).toBeGreaterThan(before + 5)
  await expect(page.locator('.factline')).toContainText(/Cost so far \$\d/)
  await expect(page.getByLabel('follow').first()).toBeChecked()

  await list.evaluate(e => { e.style.maxHeight = '150px' }) // so that little is enough to scroll
  await expect.poll(() => list.evaluate(e => e.scrollHeight - e.clientHeight - e.scrollTop)).toBeLessThan(24)
  await list.evaluate(e => { e.scrollTop = 10 })
  await expect(page.getByLabel('follow').first()).not.toBeChecked()
  const seen = await count()
  await expect.poll(count).toBeGreaterThan(seen + 5)
  expect(await list.evaluate(e => e.scrollTop)).toBe(10)

  const fold = list.locator('details').first()
  await fold.locator('summary').click()
  await expect(fold).toHaveAttribute('open', '')
  await page.getByLabel('follow').first().check()
  await expect.poll(() => list.evaluate(e => e.scrollHeight - e.clientHeight - e.scrollTop)).toBeLessThan(24)
  await expect(list).toContainText('<script>alert(1)</script>')
  await expect(list.locator('a, img, script')).toHaveCount(0)
})

for (const [width, name] of /** @type {[number, string][]} */ ([[1400, 'wide'], [390, 'narrow']])) {
  test(`a run at work and its task: ${name}`, async ({ page, problems }) => {
    noDialogs(page, problems)
    await page.setViewportSize({ width, height: 900 })
    for (const [what, path, words] of [['follow-run', run, 'needs a bound'], ['follow-task', 'tasks/4', 'tool calls']]) {
      await page.goto(site('follow') + path)
      await expect(page.locator('main')).toContainText(words)
      await look(page, `${what}-${name}`, { fullPage: true })
      await fits(page)
    }
  })
}

test('the task comes up to date while its run goes on', async ({ page }) => {
  await page.goto(site('follow') + 'tasks/4')
  const calls = async () => Number(/(\d+) tool calls/.exec(await page.locator('#doing').innerText())?.[1])
  const before = await calls()
  await expect.poll(calls).toBeGreaterThan(before + 3)
})

test('without JavaScript the steps are there', async ({ browser }) => {
  const page = await browser.newPage({ javaScriptEnabled: false })
  await page.goto(site('follow') + run)
  await expect(page.locator(steps).first()).toBeVisible()
  await expect(page.getByText('Output and errors, as they were printed')).toBeVisible()
  await page.close()
})

// The last one: it ends the run.
test('a run that is followed ends with its result', async ({ page, request, problems }) => {
  noDialogs(page, problems)
  await page.setViewportSize({ width: 1400, height: 900 })
  await page.goto(site('follow') + run)
  await expect(page.locator('#steps')).toContainText('needs a bound')
  await request.post(new URL('/finish', site('follow')).href)
  await expect(page.locator('#steps li').last()).toContainText('every test passes')
  await expect(page.locator('.lead')).toContainText('exit code 0')
  await expect(page.locator('main')).toContainText('done </title>')
  await page.getByText('Output and errors, as they were printed').click()
  await expect(page.locator('#out')).toContainText('line 1')
  await audit(page)
  await look(page, 'follow-ended', { schemes: ['light'], fullPage: true })
})
