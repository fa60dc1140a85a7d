// What the layer does beyond showing tracks, on MapLibre 6.
import { audit, expect, look, test } from '../fixture.mjs'
import { CROSSING, checkbox, drawn, jump, loaded, openMap, pixels, requests, rest, says } from '../map.mjs'

const ON = '1;activity;1;0;;'
const ORANGE = [0xd5, 0x5e, 0x00] // hiking, and as the first source osm
const BLUE = [0x00, 0x72, 0xb2] // cycling

test('waits until the map rests, and gives up a list that is too late', async ({ page }) => {
  const asked = requests(page)
  await openMap(page, { view: CROSSING, state: ON })
  await expect.poll(() => drawn(page)).toHaveLength(3)
  asked.forget()
  await loaded(page, () => page.evaluate(() => {
    for (let i = 1; i <= 5; i++) /** @type {any} */ (window).demo.map.jumpTo({ center: [10 + i / 1000, 45.2] })
  }))
  expect(asked.lists()).toHaveLength(1)

  let held = 0
  const failed = page.waitForEvent('requestfailed', r => r.url().includes('bbox='))
  await page.route(/bbox=/, async route => {
    if (held++ === 0) return // never answered
    await route.continue()
  })
  await jump(page, { center: [10.002, 45.2] })
  await expect.poll(() => held).toBe(1)
  await loaded(page, () => jump(page, { center: [10.001, 45.2] }))
  expect((await failed).failure()?.errorText).toBe('net::ERR_ABORTED')
  await says(page, '3 tracks')
})

test('filters by activity, source and age, also tiles; no box is none', { tag: '@quick' }, async ({ page }) => {
  const asked = requests(page)
  await openMap(page, { view: CROSSING, state: ON })
  await expect.poll(() => drawn(page)).toHaveLength(3)
  await loaded(page, () => page.getByRole('checkbox', { name: 'cycling' }).uncheck())
  expect((await drawn(page)).map(t => t.activity).sort()).toEqual(['hiking', 'unknown'])
  expect(asked.lists().at(-1)).toContain('activity=hiking%2Crunning%2Cskiing%2Criding%2Cboating%2Cdriving%2Cunknown')
  await loaded(page, () => page.getByRole('checkbox', { name: 'upload' }).uncheck())
  expect((await drawn(page)).map(t => t.source)).toEqual(['osm'])
  await says(page, '1 track')
  await loaded(page, () => jump(page, { zoom: 11 }))
  expect((await drawn(page, 'tiles')).map(t => t.source)).toEqual(['osm'])
  expect(await pixels(page, BLUE)).toBe(0)
  await loaded(page, () => page.getByRole('checkbox', { name: 'cycling' }).check())
  await page.getByLabel('Age').selectOption('2')
  await expect.poll(async () => (await drawn(page, 'tiles')).map(t => t.recorded_on)).toEqual(['2026-10-01'])
  await page.getByLabel('Age').selectOption('0')
  await jump(page, { zoom: 13 })
  for (const name of ['osm', 'club']) await page.getByRole('checkbox', { name }).uncheck()
  asked.forget()
  await says(page, 'All tracks are filtered out')
  await page.waitForTimeout(400) // longer than the layer waits
  expect(asked.lists()).toEqual([])
  expect(await drawn(page)).toEqual([])
})

test('colours by activity or source, with the boxes as the legend, and its opacity', async ({ page }) => {
  await openMap(page, { view: CROSSING, state: ON })
  await expect.poll(() => drawn(page)).toHaveLength(3)
  await rest(page)
  expect(await pixels(page, BLUE)).toBeGreaterThan(100)
  const before = await pixels(page, ORANGE)
  expect(before).toBeGreaterThan(100)
  const swatch = page.locator('label', { hasText: 'cycling' }).locator('i')
  await expect(swatch).toHaveCSS('background-color', 'rgb(0, 114, 178)')
  await page.getByLabel('Colours by').selectOption('source')
  await expect.poll(() => pixels(page, [0xd5, 0x5e, 0x00])).toBeGreaterThan(100) // club, in the order of names or of health
  expect(await pixels(page, BLUE)).toBeGreaterThan(100) // the third source
  await expect(swatch).toBeHidden()
  await page.getByLabel('Opacity').fill('0.3')
  await expect.poll(() => pixels(page, BLUE)).toBe(0)
})

test('keeps its state in the address, and refuses what cannot be right', async ({ page }) => {
  await page.addInitScript(() => localStorage.setItem('gps-tracks.v1', '{"on":"<b>","by":7,"opacity":99,"noSource":["<script>"]}'))
  await openMap(page, { view: CROSSING })
  await expect(checkbox(page)).not.toBeChecked()
  await loaded(page, () => checkbox(page).check())
  await page.getByRole('checkbox', { name: 'skiing' }).uncheck()
  await expect.poll(() => page.url()).toContain('tracks=1;activity;0.8;0;skiing;')
  expect(page.url()).toContain('map=13/45.2/10')
  await jump(page, { zoom: 13.5 })
  await expect.poll(() => page.url()).toMatch(/map=13.5\/.*tracks=1;activity/)
  await page.evaluate(() => void (location.hash = location.hash.replace('1;activity;0.8;0;skiing', '1;source;0.5;2;')))
  await expect(page.getByLabel('Colours by')).toHaveValue('source')
  await expect(page.getByLabel('Age')).toHaveValue('2')
  await expect(page.getByRole('checkbox', { name: 'skiing' })).toBeChecked()
})

test('works without browser storage', async ({ page }) => {
  await page.addInitScript(() => Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('no', 'SecurityError') } }))
  await openMap(page, { view: CROSSING })
  expect(await loaded(page, () => checkbox(page).check())).toMatchObject({ shown: 3 })
})

test('says quietly that it failed, and tries again', async ({ page, problems }) => {
  problems.allow(/503/)
  problems.allow(/maplibre-gl\.mjs/) // it logs an error for each tile
  await openMap(page, { view: CROSSING })
  for (const [where, view, asked] of /** @type {[string, {}, string][]} */ ([['the list', {}, 'bbox='], ['tiles', { zoom: 10 }, '/tiles/']])) {
    await jump(page, view)
    await page.route(/gps-tracks\/tiles|bbox=/, route => route.fulfill({ status: 503 }))
    const refused = page.waitForResponse(r => r.url().includes(asked)) // of a list: tiles stand in until it comes, and fail before
    await checkbox(page).check()
    await refused
    await says(page, 'Tracks could not be loaded')
    await page.unroute(/gps-tracks\/tiles|bbox=/)
    await loaded(page, () => page.getByRole('button', { name: 'Try again' }).click())
    await expect.poll(() => drawn(page), where).not.toHaveLength(0)
    await expect(page.getByRole('button', { name: 'Try again' })).toBeHidden()
    await checkbox(page).uncheck()
  }
})

test('says how many of all tracks it shows', async ({ page }) => {
  await openMap(page, { view: '12/46.6/7.9', state: ON })
  await expect(page.getByRole('status')).toHaveText(/^\d+ tracks$/)
  await page.route(/bbox=/, route => route.continue({ url: route.request().url() + '&limit=5' }))
  await loaded(page, () => jump(page, { zoom: 12.1 }))
  await expect(page.getByRole('status')).toHaveText(/^Showing 5 of \d+: zoom in for more$/)
})

test('brings the track of a popup to the front, for pointers and for keys', async ({ page }) => {
  await openMap(page, { view: '13/45.2/10.509', state: ON })
  await expect.poll(() => drawn(page)).toHaveLength(10)
  await rest(page)
  const hot = () => page.evaluate(() => [...new Set(/** @type {any} */ (window).demo.map.queryRenderedFeatures({ layers: ['gps-tracks-list-top'] }).map((/** @type {any} */ f) => f.properties.name))])
  await page.getByRole('button', { name: 'Tracks at the centre' }).focus()
  await page.keyboard.press('Enter')
  const popup = page.getByRole('region', { name: '10 tracks here' })
  await expect(popup.getByRole('heading')).toHaveCount(8)
  await expect(popup).toContainText('and 2 more')
  await expect.poll(hot).toHaveLength(1)
  await popup.getByRole('heading').nth(1).hover()
  const second = await popup.getByRole('heading').nth(1).textContent()
  await expect.poll(hot).toEqual([second])
  await audit(page)
  await page.getByRole('button', { name: 'Close popup' }).click()
  await expect.poll(hot).toEqual([])
  await loaded(page, () => jump(page, { center: [11, 44] })) // what has loaded is announced too
  await page.getByRole('button', { name: 'Tracks at the centre' }).click()
  await says(page, 'No track at the centre')
})

test('is left without a trace', async ({ page }) => {
  const asked = requests(page)
  await openMap(page, { view: CROSSING, state: ON })
  await expect.poll(() => drawn(page)).toHaveLength(3)
  await page.evaluate(() => /** @type {any} */ (window).demo.layer.destroy())
  asked.forget()
  await jump(page, { center: [10.01, 45.2] })
  await page.waitForTimeout(400) // longer than the layer waits
  expect(asked.all()).toEqual([])
  expect(await page.evaluate(() => Object.keys(/** @type {any} */ (window).demo.map.getStyle().sources))).toEqual(['base'])
})

test.describe('by touch', () => {
  test.use({ hasTouch: true, isMobile: true, viewport: { width: 390, height: 740 } })
  test('a finger needs less aim, and targets are large', async ({ page }) => {
    await openMap(page, { view: '12/45.2/10.05', state: ON })
    await expect.poll(() => drawn(page)).toHaveLength(3)
    await rest(page)
    await look(page, 'map-phone')
    for (const box of await page.locator('.gps-tracks label:visible').all()) expect((await box.boundingBox())?.height).toBeGreaterThanOrEqual(44)
    await page.getByRole('button', { name: 'Terrain' }).click()
    const at = await page.evaluate(() => /** @type {any} */ (window).demo.map.project([10.05, 45.2]))
    await page.touchscreen.tap(at.x, at.y + 11)
    await expect(page.getByRole('region', { name: 'Track', exact: true })).toBeVisible()
    await page.keyboard.press('Escape')
  })
})

test('pictures', async ({ page }) => {
  await page.setViewportSize({ width: 1000, height: 700 })
  for (const [name, view, state] of [['tiles', '8.5/46.6/7.6', ON], ['list', '12/46.59/7.91', ON], ['source', '12/46.59/7.91', '1;source;0.8;0;;']]) {
    await openMap(page, { view, state })
    await expect.poll(async () => (await drawn(page)).length).toBeGreaterThan(0)
    await rest(page)
    await look(page, `map-${name}`)
    await page.goto('about:blank')
  }
  await openMap(page, { view: CROSSING, state: ON })
  await page.getByRole('radio', { name: 'Satellite' }).check()
  await expect.poll(() => drawn(page)).toHaveLength(3)
  await rest(page) // with the style's layers, too: a click between two styles meets nothing
  await page.mouse.click(500, 350)
  await expect(page.getByRole('region', { name: '3 tracks here' })).toBeVisible()
  await rest(page)
  await look(page, 'map-popup-satellite')
})
