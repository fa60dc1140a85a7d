// What tests of the dashboard and the demo share.
import { expect, site } from './fixture.mjs'

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

/** Signs in by the operator's token, and types a name. @param {Page} page @param {string} name */
export async function called(page, name) {
  await page.goto(site('cards') + 'session?next=board#' + token)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.fill('#me', name)
  await page.getByRole('button', { name: 'That is me' }).click()
  await expect(page.locator('.whoami')).toContainText(`You are ${name}`)
}

/** Makes a card by its form, and stays on its page. @param {Page} page @param {string} title */
export async function make(page, title) {
  await page.goto(site('cards') + 'board/new?project=app')
  await page.getByLabel('Title').fill(title)
  await page.getByLabel('Description').fill('wanted')
  await page.getByRole('button', { name: 'Make the card' }).click()
  await expect(page.locator('h1')).toHaveText(title)
}
