// The pages of the demo while it runs.
import { fits, noDialogs } from '../dash.mjs'
import { audit, expect, look, site, test } from '../fixture.mjs'

test.beforeEach(async ({ page, problems }) => {
  noDialogs(page, problems)
  await page.setViewportSize({ width: 1280, height: 800 })
})

test('the tour says what happens, and ticks it off', async ({ page }) => {
  await page.goto(site('demo'))
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('7 cards on their way from a board to production')
  await expect(page.locator('#step-taken.seen')).toBeVisible()
  await expect(page.locator('#step-approved.seen .proof')).toContainText('a person moved it from In Review to Approved')
  await expect(page.locator('#next pre')).toHaveCount(3)
  await look(page, 'demo-tour', { fullPage: true })
})

test('every page of the demo is in reach of every other', async ({ page }) => {
  const places = ['Tour', 'Card board', 'Messenger', 'Map']
  for (const name of places) {
    await page.goto(site('demo'))
    await page.locator('.top').getByRole('link', { name, exact: true }).click()
    await expect(page.locator('.top').getByRole('link', { name, exact: true })).toHaveAttribute('aria-current', 'page')
    await page.locator('.top').getByRole('link', { name: 'Dashboard' }).click()
    await expect(page).toHaveURL(site('dashboard'))
    await page.locator('.top').getByRole('link', { name: new RegExp(`^${name}`) }).click()
    await expect(page).toHaveURL(u => u.href.startsWith(site('demo')))
  }
  await page.goto(site('demo'))
  await page.getByRole('link', { name: 'See it' }).first().click()
  await expect(page).toHaveURL(/\/dashboard\/tasks\/\d+$/) // the cards become tasks side by side
})

test('the board shows the cards, with the service’s words', { tag: '@quick' }, async ({ page }) => {
  await page.goto(site('board'))
  const card = page.locator('article', { hasText: 'Cache tiles per zoom level' })
  await expect(card).toBeVisible()
  await expect(card.locator('.why')).not.toBeEmpty()
  await look(page, 'demo-board', { fullPage: true })
  await expect(card.getByLabel(/^Column of/)).toHaveValue('Done', { timeout: 120_000 }) // nobody else says anything then
  await card.locator('summary').click()
  const words = card.getByLabel(/^Comment on/)
  await words.fill('hello <b>there</b>')
  const id = await card.getAttribute('data-id')
  for (const column of ['Backlog', 'Done']) { // what is typed outlives updates, and moves to the left and to the right
    await page.request.post(new URL('/move', page.url()).href, { data: { id, column } })
    await expect(page.locator(`[data-column="${column}"]`).locator(card)).toBeVisible()
    await expect(words).toHaveValue('hello <b>there</b>')
    await expect(words).toBeFocused()
  }
  await card.getByRole('button', { name: 'Say' }).click()
  await expect(card.locator('.comment').last()).toHaveText('hello <b>there</b>')
})

test('the messenger shows live messages with their edits, and notices apart', async ({ page }) => {
  await page.goto(site('messenger'))
  const message = page.locator('section', { hasText: 'Live messages' }).locator('article', { hasText: 'GPX-1: Cache tiles' })
  await expect(message).toHaveCount(1)
  await message.locator('summary').click()
  await expect(message.locator('ins').first()).toBeVisible()
  await expect(page.locator('section', { hasText: 'Notices' }).locator('article', { hasText: /GPX-1: .*approval needed/s }).first()).toBeVisible()
  await look(page, 'demo-messenger', { fullPage: true })
})

test('the map draws the generated tracks', async ({ page }) => {
  await page.goto(site('tracks'))
  await expect(page.locator('#map path')).toHaveCount(300)
  await page.getByRole('checkbox', { name: 'hiking' }).uncheck()
  await expect(page.locator('#map path').first()).toBeVisible()
  await expect.poll(() => page.locator('#map path').count()).toBeLessThan(300)
  await page.locator('#map path').first().focus()
  await expect(page.locator('#about')).toContainText(' km. ')
  await look(page, 'demo-map')
  await page.getByRole('link', { name: 'on a real map' }).click()
  await expect(page.locator('#map canvas')).toBeVisible()
})

test('narrow screens', async ({ page }) => {
  await page.setViewportSize({ width: 360, height: 640 })
  for (const name of ['demo', 'board', 'messenger', 'tracks']) {
    await page.goto(site(name))
    await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
    await fits(page)
    await audit(page)
    await page.screenshot({ path: `screens/demo-${name}-narrow.png`, fullPage: true })
  }
})

test.describe('without JavaScript', () => {
  test.use({ javaScriptEnabled: false })
  test('the tour, the board and the messenger show one moment, and cards can be moved', async ({ page }) => {
    await page.goto(site('demo'))
    await expect(page.locator('#step-taken.seen')).toBeVisible()
    await expect(page.locator('noscript p')).toBeVisible()
    await page.goto(site('messenger'))
    await expect(page.locator('article').first()).toBeVisible()
    await page.goto(site('board'))
    const card = page.locator('article', { hasText: 'Cache tiles per zoom level' })
    await expect(card.getByRole('button', { name: 'Move' })).toBeVisible()
    await card.locator('summary').click()
    await card.getByLabel(/^Comment on/).fill('by a form')
    await card.getByRole('button', { name: 'Say' }).click()
    await card.locator('summary').click()
    await expect(card.locator('.comment').last()).toHaveText('by a form')
  })
})
