// The end of the demo: this file is the last, so that most of it has happened.
import { expect, look, site, test } from '../fixture.mjs'

test('every step is ticked off, and then it is the reader’s turn', async ({ page }) => {
  test.setTimeout(120_000)
  await page.setViewportSize({ width: 1280, height: 800 })
  await page.goto(site('demo'))
  await expect(page.locator('#next-h')).toContainText('You have seen everything', { timeout: 90_000 })
  await expect(page.locator('.line li.seen')).toHaveCount(17)
  await expect(page.locator('#step-worse .proof')).toContainText('503 Service Unavailable')
  await look(page, 'demo-tour-end', { fullPage: true })

  // A card is moved by hand, and by a list. Every column is in view: a board that scrolls under the hand moves another card.
  await page.setViewportSize({ width: 2400, height: 800 })
  await page.goto(site('board'))
  const card = page.locator('article', { hasText: 'Try the beta runtime' })
  await card.dragTo(page.locator('[data-column="Backlog"]'))
  await expect(page.locator('[data-column="Backlog"] article', { hasText: 'Try the beta runtime' })).toBeVisible()
  await card.getByLabel(/^Column of/).selectOption('STOP')
  await expect(page.locator('[data-column="STOP"] article', { hasText: 'Try the beta runtime' })).toBeVisible()

  // The freeze is ended on the dashboard, and the card begins.
  await page.goto(site('demo'))
  await page.getByRole('link', { name: 'end the freeze' }).click()
  await page.locator('#token').fill('demo-operator-token-of-128-bits')
  await look(page, 'demo-unfreeze')
  await page.getByRole('button', { name: 'Unfreeze' }).click()
  await expect(page.getByRole('status')).toContainText('The freeze has ended.')
  await page.goto(site('demo'))
  await expect(page.locator('#step-frozen .proof')).toContainText('has begun')
  await expect(page.locator('#turn')).toHaveCount(0)
})
