// The map as the reference server has it: MapLibre built in, no base, tracks shown at once.
import { audit, expect, look, site, test } from '../fixture.mjs'
import { CROSSING, drawn, jump, pixels, rest } from '../map.mjs'

/** Opens the page and waits for its tracks. @param {import('@playwright/test').Page} page @param {string} [where] query and hash */
async function open(page, where = '') {
  await page.goto(site('map-own') + where)
  await page.waitForFunction(() => /** @type {any} */ (window).demo?.map.loaded() && /** @type {any} */ (window).demo.map.getLayer('gps-tracks-heat'))
  await rest(page)
}

/** What the heat is made of. @param {import('@playwright/test').Page} page @returns {Promise<number>} the number of tracks that start in it */
const counted = page => page.evaluate(() => {
  const { map } = /** @type {any} */ (window).demo
  const cells = map.querySourceFeatures('gps-tracks-tiles', { sourceLayer: 'gps_density' })
  return [...new Map(cells.map((/** @type {any} */ f) => [`${f.geometry.coordinates}`, f.properties])).values()]
    .flatMap(p => Object.entries(p)).reduce((sum, [key, n]) => sum + (key.endsWith('/starts') ? n : 0), 0)
})

test('opens where the tracks are, with heat and whom to name', { tag: '@quick' }, async ({ page }) => {
  await open(page)
  const view = await page.evaluate(() => /** @type {any} */ (window).demo.map.getBounds().toArray().flat())
  expect(view[0]).toBeLessThan(6.7)
  expect(view[2]).toBeGreaterThan(13.5)
  expect(view[2] - view[0]).toBeLessThan(20)
  await expect(page.locator('.maplibregl-ctrl-attrib-inner')).toContainText('Generated, in the public domain')
  await expect(page.locator('.maplibregl-ctrl-attrib-inner')).toContainText('<b>Someone</b>') // as text
  await expect(page.locator('.maplibregl-ctrl-scale')).toBeVisible()
  await audit(page)
})

test('names whom the licences require where the list is drawn too', async ({ page }) => {
  await open(page, '#map=13/46.6/7.9')
  await expect.poll(() => drawn(page, 'list')).not.toHaveLength(0)
  await expect(page.locator('.maplibregl-ctrl-attrib-inner')).toContainText('Generated, in the public domain')
})

test('says that nothing is collected, in the panel that it opens', async ({ page }) => {
  await page.route('**/tiles.json', async route => {
    const { center: _, ...empty } = await (await route.fetch()).json()
    await route.fulfill({ json: empty })
  })
  await open(page)
  await expect(page.getByRole('status')).toHaveText('No tracks are collected yet')
})

test('counts every track in the overview, whatever its size, and by the filters', async ({ page }) => {
  const total = (await (await page.request.get(site('map-own') + 'api/gps-tracks/health')).json()).tracks
  for (const zoom of [1, 4]) {
    await open(page, `#map=${zoom}/46.2/10`)
    expect(await counted(page), `zoom ${zoom}`).toBe(total)
    await page.goto('about:blank')
  }
  await open(page, '#map=4/46.2/10')
  const warm = () => page.evaluate(() => /** @type {any} */ (window).demo.map.queryRenderedFeatures({ layers: ['gps-tracks-heat'] }).length)
  await expect.poll(warm).toBeGreaterThan(0)
  await page.getByRole('button', { name: 'Terrain' }).click()
  const boxes = page.getByRole('group', { name: 'Activities' }).locator('label')
  const numbers = await boxes.locator('small').allTextContents()
  expect(numbers.reduce((sum, n) => sum + Number(n.replace(',', '')), 0)).toBe(total)
  await page.getByLabel('Age').selectOption('1')
  await expect.poll(warm, 'cells have no days').toBe(0)
  await jump(page, { zoom: 11 })
  await page.getByLabel('Age').selectOption('0')
  await rest(page)
  expect(await warm()).toBe(0)
})

test('shows a name under the pointer, and all that is known of a track', async ({ page }) => {
  await open(page, `#map=${CROSSING}`)
  await expect.poll(() => drawn(page)).toHaveLength(3)
  await rest(page)
  const at = await page.evaluate(() => /** @type {any} */ (window).demo.map.project([9.98, 45.196]))
  await page.mouse.move(at.x, at.y)
  await expect(page.locator('.gps-tracks-tip')).toContainText('onerror')
  const grounds = async () => (await page.locator('.maplibregl-popup-content').evaluateAll(all => all.map(e => getComputedStyle(e).backgroundColor))).join()
  expect(await grounds()).toBe('rgb(255, 255, 255)')
  await page.emulateMedia({ colorScheme: 'dark' })
  await expect.poll(grounds).toBe('rgb(34, 39, 46)')
  await rest(page)
  await page.mouse.move(5, 400)
  await expect(page.locator('.gps-tracks-tip')).toHaveCount(0)
  await page.mouse.click(at.x, at.y)
  const popup = page.getByRole('region', { name: 'Track', exact: true })
  await expect(popup).toContainText('Licence: ODbL 1.0')
  await expect(popup.getByRole('link', { name: 'ODbL 1.0' })).toHaveAttribute('href', 'https://odbl.example/')
  await expect(popup.getByRole('link', { name: 'Download GPX' })).toHaveCount(0)
  await expect.poll(grounds).toBe('rgb(34, 39, 46)')
  await look(page, 'map-own-popup')
})

test('an address leads to a track, with its file where the licence allows it', async ({ page }) => {
  const list = await (await page.request.get(site('map-own') + 'api/gps-tracks?bbox=9,45,11,45.5&source=club')).json()
  const { id } = list.features[0].properties
  await page.goto(`${site('map-own')}?track=${id}`)
  const popup = page.getByRole('region', { name: 'Track', exact: true })
  await expect(popup).toContainText('Over the same bridge')
  const download = page.waitForEvent('download')
  await popup.getByRole('link', { name: 'Download GPX' }).click()
  expect((await download).suggestedFilename()).toBe(`track-${id}.gpx`)
  const center = await page.evaluate(() => /** @type {any} */ (window).demo.map.getCenter())
  expect(center.lng).toBeCloseTo(10, 1)
})

test('sends the key that is in the address of the API wherever it asks', async ({ page }) => {
  /** @type {Set<string>} */
  const asked = new Set()
  await page.route('**/config.json', route => route.fulfill({ json: { api: 'api/gps-tracks?key=K', on: true, bases: [{ name: 'Map', kind: 'plain' }] } }))
  await page.route(/api\/gps-tracks/, route => {
    const url = new URL(route.request().url())
    asked.add(url.pathname.replace(/.*gps-tracks/, '').replace(/\d+/g, 'n') || 'list')
    return url.searchParams.get('key') === 'K' ? route.continue() : route.fulfill({ status: 401 })
  })
  const list = await (await page.request.get(site('map-own') + 'api/gps-tracks?bbox=9,45,11,45.5&source=club')).json()
  await open(page, `?track=${list.features[0].id}#map=9/45.2/10`)
  const popup = page.getByRole('region', { name: 'Track', exact: true })
  await expect(popup.getByRole('link', { name: 'Download GPX' })).toHaveAttribute('href', /\/tracks\/\d+\.gpx\?key=K$/)
  await jump(page, { center: [10, 45.2], zoom: 13 })
  await expect.poll(() => drawn(page, 'list')).toHaveLength(3)
  expect([...asked].sort()).toEqual(['/health', '/tiles.json', '/tiles/n/n/n.mvt', '/tracks/n', 'list'])
})

test('hands the address of a track on, or says how to copy it where a page may not', async ({ page, context }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  const share = page.getByRole('region', { name: 'Track', exact: true }).getByRole('button', { name: 'Share' })
  await open(page, '?track=1')
  await share.click()
  await expect(page.getByRole('button', { name: 'Copied' })).toBeVisible()
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(`${site('map-own')}?track=1`)
  await page.addInitScript(() => Object.defineProperty(navigator, 'clipboard', { value: undefined })) // as over plain HTTP
  await page.reload()
  await share.click()
  await expect(page.getByLabel('Copy this address')).toBeFocused()
  expect(await page.evaluate(() => `${getSelection()}`)).toBe(`${site('map-own')}?track=1`)
  await audit(page)
})

test('writes names along lines when they are near', async ({ page }) => {
  await open(page, '#map=14/45.15/10.5')
  await expect.poll(() => page.evaluate(() => /** @type {any} */ (window).demo.map.queryRenderedFeatures({ layers: ['gps-tracks-names'] }).map((/** @type {any} */ f) => f.properties.name))).toContain('Ray 0')
})

test('draws arrows on a style whose glyphs have none, and names with a font of it', async ({ page }) => {
  const style = {
    version: 8, glyphs: site('map-own') + 'glyphs/{fontstack}/{range}.pbf', sources: { base: { type: 'geojson', data: { type: 'FeatureCollection', features: [] } } },
    layers: [{ id: 'ground', type: 'background' }, { id: 'labels', type: 'symbol', source: 'base', layout: { 'text-field': 'x', 'text-font': ['Noto Sans Bold'] } }],
  }
  /** @type {Set<string>} */
  const fonts = new Set()
  await page.route('**/config.json', route => route.fulfill({ json: { api: 'api/gps-tracks', on: true, bases: [{ name: 'Map', kind: 'style', url: 'style.json' }] } }))
  await page.route(site('map-own') + 'style.json', route => route.fulfill({ json: style }))
  await page.route('**/glyphs/**', route => {
    fonts.add(decodeURIComponent(route.request().url().split('/').at(-2) ?? ''))
    return route.fulfill({ status: 200, body: '' })
  })
  await open(page, '?track=1')
  await expect.poll(() => page.evaluate(() => /** @type {any} */ (window).demo.map.queryRenderedFeatures({ layers: ['gps-tracks-way'] }).length)).toBeGreaterThan(0)
  await expect.poll(() => [...fonts]).toEqual(['Noto Sans Bold'])
})

test('draws a profile where elevations are known', async ({ page }) => {
  await page.route(/\/tracks\/\d+$/, async route => {
    const answer = await route.fetch()
    const body = await answer.json()
    Object.assign(body.properties, { ascent_m: 812.4, descent_m: 640, duration_s: 7384, moving_s: 7000, profile: [[0, 400], [1500, 900], [3000, 500]] })
    await route.fulfill({ response: answer, json: body })
  })
  await open(page, `?track=1`)
  const popup = page.getByRole('region', { name: 'Track', exact: true })
  await expect(popup).toContainText('↑ 812 m · ↓ 640 m · 2:03 h · 1:56 h moving')
  const picture = popup.getByRole('img', { name: 'Elevation from 400 m to 900 m over 3.0 km' })
  await expect(picture).toBeVisible()

  const spots = () => page.evaluate(() => /** @type {any} */ (window).demo.map.queryRenderedFeatures({ layers: ['gps-tracks-spot'] }).length)
  expect(await spots()).toBe(0)
  const box = /** @type {{ x: number, y: number, width: number, height: number }} */ (await picture.boundingBox())
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2)
  await expect(popup.locator('figcaption')).toHaveText('900 m at 1.5 km')
  await expect.poll(spots).toBe(1)
  await page.mouse.move(5, 400)
  await expect.poll(spots).toBe(0)
  await expect(popup.locator('figcaption')).toContainText('over 3.0 km')
  const far = await page.evaluate(() => { // the last place of the track, on the map
    const { map } = /** @type {any} */ (window).demo
    const lines = map.queryRenderedFeatures({ layers: ['gps-tracks-list-line', 'gps-tracks-tiles-line'] }).filter((/** @type {any} */ f) => f.properties.id === 1)
    const line = lines[0].geometry.type === 'LineString' ? lines[0].geometry.coordinates : lines[0].geometry.coordinates[0]
    return map.project(line[line.length - 1])
  })
  await page.mouse.move(far.x - 1, far.y)
  await page.mouse.move(far.x, far.y)
  await expect(popup.locator('figcaption')).toContainText(' m at ')
  await expect.poll(spots).toBe(1)
})

test('marks start and finish, the way between, and its slope', async ({ page }) => {
  await page.route(/\/tracks\/\d+$/, async route => {
    const answer = await route.fetch()
    const body = await answer.json()
    body.properties.profile = [[0, 400], [1500, 900], [3000, 500]]
    await route.fulfill({ response: answer, json: body })
  })
  await open(page, '?track=1')
  const rendered = (/** @type {string} */ id) => page.evaluate(id => /** @type {any} */ (window).demo.map.queryRenderedFeatures({ layers: [id] }).map((/** @type {any} */ f) => f.properties.is), id)
  await expect.poll(async () => [...new Set(await rendered('gps-tracks-ends'))].sort()).toEqual(['finish', 'start'])
  await expect.poll(async () => (await rendered('gps-tracks-way')).length).toBeGreaterThan(0)
  const steep = () => pixels(page, [0xa5, 0x0f, 0x15])
  expect(await steep()).toBe(0)
  await page.getByRole('button', { name: 'Slope' }).click()
  await expect.poll(steep).toBeGreaterThan(50)
  await page.emulateMedia({ colorScheme: 'dark' }) // a new style, without the popup's line
  await expect.poll(() => pixels(page, [0x2a, 0x31, 0x38])).toBeGreaterThan(1000)
  await expect.poll(steep).toBeGreaterThan(50)
  await expect.poll(async () => (await rendered('gps-tracks-way')).length).toBeGreaterThan(0)
  await expect.poll(async () => [...new Set(await rendered('gps-tracks-ends'))].sort()).toEqual(['finish', 'start'])
  await page.getByRole('button', { name: 'Close popup' }).click()
  await expect.poll(steep).toBe(0)
  await expect.poll(() => rendered('gps-tracks-ends')).toEqual([])
})

test('compares two tracks, chosen on the map or in the list', async ({ page }) => {
  await page.route(/\/tracks\/\d+$/, async route => {
    const answer = await route.fetch()
    const body = await answer.json()
    const far = body.properties.source === 'osm' ? 3000 : 5000
    Object.assign(body.properties, { ascent_m: far / 10, profile: [[0, 400], [far / 2, 400 + far / 10], [far, 500]] })
    await route.fulfill({ response: answer, json: body })
  })
  await open(page, `#map=${CROSSING}`)
  await expect.poll(() => drawn(page)).toHaveLength(3)
  const click = async (/** @type {number[]} */ lngLat) => {
    await rest(page)
    const at = await page.evaluate(at => /** @type {any} */ (window).demo.map.project(at), lngLat)
    await page.mouse.click(at.x, at.y)
  }
  const two = page.getByRole('region', { name: 'Two tracks' })
  const rows = () => two.getByRole('row').evaluateAll(all => all.map(r => [...r.children].map(c => c.textContent)))
  await click([9.98, 45.196])
  await page.getByRole('button', { name: 'Compare' }).click()
  await expect(page.getByRole('button', { name: 'Choose the other track' })).toBeVisible()
  await click([10.02, 45.204]) // of those that lie one upon the other it is not the first
  await expect(two).toBeVisible()
  const [head, ...numbers] = await rows()
  expect(head[1]).toContain('onerror')
  expect(numbers[1]).toEqual(['Ascent', '300 m', '500 m'])
  expect(numbers[2]).toEqual(['Date', '2026-10-01', '–'])
  const picture = two.getByRole('img', { name: 'Elevation from 400 m to 900 m over 5.0 km' })
  await expect(picture.locator('path[fill=none]')).toHaveCount(2)
  const box = /** @type {{ x: number, y: number, width: number, height: number }} */ (await picture.boundingBox())
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2)
  await expect(two.locator('figcaption')).toHaveText(/^\d+ m and 900 m at 2\.5 km$/)
  for (const color of [[0x00, 0x80, 0xc8], [0xd5, 0x5e, 0x00]]) await expect.poll(() => pixels(page, color)).toBeGreaterThan(200)
  await page.emulateMedia({ colorScheme: 'dark' })
  await expect.poll(() => pixels(page, [0x00, 0x80, 0xc8])).toBeGreaterThan(200)
  await audit(page)
  await page.getByRole('button', { name: 'Close popup' }).click()
  await expect.poll(() => pixels(page, [0x00, 0x80, 0xc8])).toBe(0)

  const list = await (await page.request.get(site('map-own') + 'api/gps-tracks?bbox=9,45,11,45.5&source=club')).json()
  await click([9.98, 45.196])
  await page.getByRole('button', { name: 'Compare' }).click()
  await page.evaluate(id => /** @type {any} */ (window).demo.layer.select(id), list.features[0].id)
  await expect(two).toContainText('Over the same bridge')
})

test('lists what is in view, and marks it here and there', async ({ page }) => {
  await open(page, `#map=${CROSSING}`)
  await expect.poll(() => drawn(page)).toHaveLength(3)
  await page.getByRole('button', { name: 'Terrain' }).click()
  await page.getByText('In view').click()
  const items = page.locator('.gps-tracks ol li')
  await expect(items).toHaveCount(3)
  await page.getByPlaceholder('part of a name').fill('BRIDGE')
  await expect(items).toHaveCount(1)
  await page.getByPlaceholder('part of a name').fill('')
  const top = () => page.evaluate(() => /** @type {any} */ (window).demo.map.queryRenderedFeatures({ layers: ['gps-tracks-list-top'] }).length)
  await items.first().getByRole('button').hover()
  await items.first().getByRole('button').focus()
  await page.evaluate(() => /** @type {any} */ (window).demo.layer.dispatchEvent(new Event('view')))
  await expect(items.first().getByRole('button')).toBeFocused()
  await expect.poll(top).toBeGreaterThan(0)
  const at = await page.evaluate(() => /** @type {any} */ (window).demo.map.project([10, 45.2])) // beside the panel
  await page.mouse.move(at.x + 129, at.y)
  await page.mouse.move(at.x + 130, at.y)
  await expect(page.locator('.gps-tracks ol .hot')).toHaveText(/^Over the same bridge/)
  await items.first().getByRole('button').click()
  await expect(page.getByRole('region', { name: 'Track', exact: true })).toBeVisible()
  await audit(page)
  await jump(page, { center: [10, 46.2], zoom: 6 })
  await expect.poll(async () => (await drawn(page)).length).toBeGreaterThan(100)
  await expect(items.first()).toHaveText(/^100 of \d+ shown: zoom in$/)
  await expect(items).toHaveCount(101)
})

test('has coast, borders and cities of its own, in light and dark, and goes where it is told', async ({ page }) => {
  await open(page, '#map=4/47/10')
  const of = (/** @type {string} */ layer) => page.evaluate(layer => /** @type {any} */ (window).demo.map.queryRenderedFeatures({ layers: [layer] }).length, layer)
  for (const layer of ['land', 'coast', 'borders', 'names']) await expect.poll(() => of(layer), layer).toBeGreaterThan(1)
  await page.emulateMedia({ colorScheme: 'dark' })
  await expect.poll(() => pixels(page, [0x2a, 0x31, 0x38])).toBeGreaterThan(1000)
  await expect.poll(() => of('gps-tracks-heat')).toBeGreaterThan(0)
  await page.getByRole('button', { name: 'Terrain' }).click()
  const place = page.getByLabel('City, or latitude, longitude')
  const center = () => page.evaluate(() => /** @type {any} */ (window).demo.map.getCenter().toArray().map(Math.round))
  for (const [text, at] of /** @type {[string, number[]][]} */ ([['chișin', [29, 47]], ['46.1, 7.9', [8, 46]]])) {
    await place.fill(text)
    await place.press('Enter')
    await expect.poll(center).toEqual(at)
  }
  await place.fill('nowhere at all')
  await place.press('Enter')
  await expect(place).toHaveJSProperty('validationMessage', 'No city of this name is known here: try latitude, longitude')
})

test('an archive of tiles is a base, of which parts are read @quick', async ({ page }) => {
  /** @type {number[]} */
  const parts = []
  page.on('response', r => void (r.url().endsWith('/base-0.pmtiles') && parts.push(r.status())))
  await page.goto(site('map-base') + '#map=8/46.5/8')
  await expect.poll(() => page.evaluate(() => /** @type {any} */ (window).demo?.map.querySourceFeatures('base', { sourceLayer: 'gps_tracks' }).length ?? 0)).toBeGreaterThan(20)
  expect(new Set(parts)).toEqual(new Set([206]))
  const layers = await page.evaluate(() => /** @type {any} */ (window).demo.map.getStyle().layers.map((/** @type {any} */ l) => l.id))
  expect(layers).toContain('gps_tracks-line')
  await expect(page.locator('.maplibregl-ctrl-attrib')).toContainText('Generated, in the public domain')
})

test.describe('on a phone', () => {
  test.use({ hasTouch: true, isMobile: true, viewport: { width: 390, height: 740 } })
  test('its controls are a sheet at the bottom, closed at first', async ({ page }) => {
    await open(page, '#map=8/46.2/8')
    const sheet = page.getByRole('region', { name: 'Terrain' })
    await expect(sheet).toBeHidden()
    await page.getByRole('button', { name: 'Terrain' }).click()
    const box = await sheet.boundingBox()
    expect(box?.x).toBe(0)
    expect(box?.width).toBe(390)
    expect(box?.y).toBeGreaterThan(740 / 2)
    expect(await pixels(page, [0xf4, 0xf2, 0xea])).toBeGreaterThan(1000)
    await look(page, 'map-own-phone')
  })

  test('what is known of a track is docked below the map, and covers none of its line', async ({ page }) => {
    const api = site('map-own') + 'api/gps-tracks'
    const { id } = (await (await page.request.get(`${api}?bbox=10.4,45.1,10.6,45.3&source=osm&limit=1`)).json()).features[0]
    const { bbox } = await (await page.request.get(`${api}/tracks/${id}`)).json() // higher than it is wide
    await open(page, `?track=${id}`)
    const box = await page.locator('.maplibregl-popup:has(.gps-tracks-popup)').boundingBox()
    expect([box?.x, box?.width]).toEqual([0, 390])
    const top = box?.y ?? 0
    expect(top + (box?.height ?? 0)).toBeCloseTo(740, 0)
    expect(top).toBeGreaterThan(740 / 2)
    const south = await page.evaluate(bbox => /** @type {any} */ (window).demo.map.project([bbox[0], bbox[1]]).y, bbox)
    expect(south).toBeLessThan(top - 50)
    expect(south).toBeGreaterThan(top / 2)
  })
})

test('draws on the terrain that a style brings', async ({ page }) => {
  const url = site('map-own')
  await page.route('**/config.json', route => route.fulfill({ json: { api: 'api/gps-tracks', on: true, bases: [{ name: 'Relief', kind: 'style', url: 'relief.json' }] } }))
  await page.route('**/relief.json', route => route.fulfill({ json: {
    version: 8, terrain: { source: 'dem' }, layers: [{ id: 'relief', type: 'hillshade', source: 'dem' }],
    sources: { dem: { type: 'raster-dem', encoding: 'terrarium', tileSize: 64, maxzoom: 12, tiles: [`${url}dem/{z}/{x}/{y}.png`] } },
  } }))
  await page.goto(url)
  const picture = await page.evaluate(() => {
    const canvas = Object.assign(document.createElement('canvas'), { width: 64, height: 64 })
    const draw = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'))
    draw.fillStyle = 'rgb(131, 232, 0)' // 131 × 256 + 232 − 32768 = 1000 m
    draw.fillRect(0, 0, 64, 64)
    return canvas.toDataURL().replace(/.*,/, '')
  })
  await page.route('**/dem/**', route => route.fulfill({ contentType: 'image/png', body: Buffer.from(picture, 'base64') }))
  await page.goto('about:blank')
  await open(page, `#map=${CROSSING}/0/60`)
  await expect.poll(() => page.evaluate(() => /** @type {any} */ (window).demo.map.queryTerrainElevation([9.98, 45.196]))).toBeCloseTo(1000, 0)
  await expect.poll(() => drawn(page)).toHaveLength(3)
  await look(page, 'map-own-terrain')
})
