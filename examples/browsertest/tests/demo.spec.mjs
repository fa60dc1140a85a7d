import { expect, look, site, test } from '../fixture.mjs'

test('the board of the demo shows the cards', async ({ page }) => {
  await page.setViewportSize({ width: 1280, height: 800 })
  await page.goto(site('demo'))
  await expect(page.locator('article', { hasText: 'Cache tiles per zoom level' })).toBeVisible()
  await look(page, 'demo-board')
})
