// What tests of the dashboard and the demo share.
import { expect } from './fixture.mjs'

/** @typedef {import('@playwright/test').Page} Page */

/** What a stranger's texts would leave behind if they were taken for more than text. */
export const token = 'operator-token'

/**
 * Fails a test when a stranger's text becomes a dialog.
 * @param {Page} page
 * @param {import('./fixture.mjs').Problems} problems
 */
export function noDialogs(page, problems) {
  page.on('dialog', async d => {
    problems.seen.push(`dialog: ${d.message()}`)
    await d.dismiss()
  })
}

/**
 * A page is narrow enough: nothing makes the whole of it scroll sideways.
 * @param {Page} page
 */
export async function fits(page) {
  const [wide, room] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth])
  expect(wide, 'the page scrolls sideways').toBeLessThanOrEqual(room)
}

/**
 * Addresses of all links of a page.
 * @param {Page} page
 */
export function links(page) {
  return page.locator('a[href], form[action], link[href], script[src]').evaluateAll(all => all.map(e => {
    const given = e.getAttribute('href') ?? e.getAttribute('action') ?? e.getAttribute('src') ?? ''
    return { url: new URL(given, document.baseURI).href, posts: e.matches('form[method=post]') }
  }))
}
