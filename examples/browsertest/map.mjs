// What the tests of the map page share.
import { expect, site } from './fixture.mjs'

/** @typedef {import('@playwright/test').Page} Page */

/** A place that only the tests' own tracks cross: three of them. */
export const CROSSING = '13/45.2/10'

/**
 * Opens a map page and waits until its style is there.
 * @param {Page} page
 * @param {{ site?: string, view?: string, state?: string }} [options] view is zoom/lat/lon
 */
export async function openMap(page, { site: name = 'map', view = CROSSING, state } = {}) {
  await page.goto(`${site(name)}#map=${view}${state ? '&tracks=' + state : ''}`)
  await page.waitForFunction(() => /** @type {any} */ (window).demo?.map.loaded())
  await page.getByRole('button', { name: 'Terrain' }).click()
}

/** The checkbox of the layer. @param {Page} page */
export const checkbox = page => page.getByRole('checkbox', { name: 'Public tracks' })

/** Notes the requests to the API from now on. @param {Page} page */
export function requests(page) {
  /** @type {string[]} */
  const seen = []
  page.on('request', r => void (r.url().includes('/api/gps-tracks') && seen.push(r.url())))
  return {
    tiles: () => seen.filter(u => u.includes('/tiles/')),
    lists: () => seen.filter(u => u.includes('?bbox=')),
    all: () => seen,
    forget: () => void seen.splice(0),
  }
}

/** Does something, then waits until the layer has loaded and the map rests. @param {Page} page @param {() => Promise<any>} act @returns {Promise<any>} what was shown */
export async function loaded(page, act) {
  const next = page.evaluate(() => new Promise(resolve => {
    const { layer } = /** @type {any} */ (window).demo
    layer.addEventListener('loaded', (/** @type {any} */ e) => resolve(e.detail), { once: true })
  }))
  await act()
  const detail = await next
  await rest(page)
  return detail
}

/** Waits until the map has drawn everything. @param {Page} page */
export async function rest(page) {
  await page.evaluate(() => new Promise(resolve => {
    const { map } = /** @type {any} */ (window).demo
    map.once('idle', resolve)
    map.triggerRepaint()
  }))
}

/** Moves the map. @param {Page} page @param {any} to */
export const jump = (page, to) => page.evaluate(to => void /** @type {any} */ (window).demo.map.jumpTo(to), to)

/**
 * Properties of the tracks that are drawn, each once.
 * @param {Page} page @param {string} [source] part of the layer's id
 * @returns {Promise<any[]>}
 */
export const drawn = (page, source = '') => page.evaluate(source => {
  const { map } = /** @type {any} */ (window).demo
  const layers = (map.getStyle()?.layers ?? []).map((/** @type {any} */ l) => l.id).filter((/** @type {string} */ id) => id.startsWith('gps-tracks-') && id.endsWith('-line') && id.includes(source))
  if (!layers.length) return []
  const found = map.queryRenderedFeatures({ layers }).map((/** @type {any} */ f) => f.properties)
  return [...new Map(found.map((/** @type {any} */ p) => [p.id, p])).values()]
}, source)

/**
 * How many pixels of the map have about a colour.
 * @param {Page} page @param {number[]} rgb
 * @returns {Promise<number>}
 */
export const pixels = (page, rgb) => page.evaluate(rgb => new Promise(resolve => {
  const { map } = /** @type {any} */ (window).demo
  map.once('render', () => {
    const from = map.getCanvas()
    const to = Object.assign(document.createElement('canvas'), { width: from.width, height: from.height })
    const context = /** @type {CanvasRenderingContext2D} */ (to.getContext('2d'))
    context.drawImage(from, 0, 0)
    const { data } = context.getImageData(0, 0, to.width, to.height)
    let n = 0
    for (let i = 0; i < data.length; i += 4) n += +rgb.every((v, k) => Math.abs(data[i + k] - v) < 12)
    resolve(n)
  })
  map.triggerRepaint()
}), rgb)

/** Waits for the words that people read below the controls. @param {Page} page @param {string | RegExp} words */
export const says = (page, words) => expect(page.getByRole('status')).toHaveText(words)
