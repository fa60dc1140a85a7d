// The tiles in the maps of others, from another origin and behind each kind of login.
import { expect, site, test } from '../fixture.mjs'

/** @typedef {{ headers?: Record<string, string>, credentials?: 'include', query?: string }} Login */

/** @type {Record<string, Login>} */
const LOGINS = {
  'a bearer token': { headers: { Authorization: 'Bearer key' } },
  'a cookie': { credentials: 'include' },
  'a key in the address': { query: '?key=key' },
}

/**
 * Each library: the files that its page has, a map of the tiles, and how many tracks are drawn at its middle.
 * @type {Record<string, { files: string[], start: (from: { tiles: string, login: Login }) => any, drawn: () => number }>}
 */
const LIBRARIES = {
  MapLibre: {
    files: ['maplibre-gl/dist/maplibre-gl.css'],
    start: async ({ tiles, login: { headers, credentials } }) => {
      const w = /** @type {any} */ (window)
      const { Map } = await import(String('/maplibre/maplibre-gl.mjs'))
      w.map = new Map({
        container: 'map', center: [10, 45.2], zoom: 12,
        transformRequest: (/** @type {string} */ url) => ({ url, headers, credentials }),
        style: {
          version: 8, sources: { tracks: { type: 'vector', tiles: [tiles], maxzoom: 14 } },
          layers: [{ id: 'tracks', type: 'line', source: 'tracks', 'source-layer': 'gps_tracks', paint: { 'line-width': 4 } }],
        },
      })
    },
    drawn: () => {
      const { map } = /** @type {any} */ (window)
      return map.getLayer('tracks') ? new Set(map.queryRenderedFeatures({ layers: ['tracks'] }).map((/** @type {any} */ f) => f.properties.id)).size : 0
    },
  },
  OpenLayers: {
    files: ['ol/ol.css', 'ol/dist/ol.js'],
    start: ({ tiles, login: { headers, credentials } }) => {
      const w = /** @type {any} */ (window)
      const { ol } = w
      const source = new ol.source.VectorTile({
        url: tiles, format: new ol.format.MVT(), maxZoom: 14,
        tileLoadFunction: (/** @type {any} */ tile, /** @type {string} */ url) => tile.setLoader(async (/** @type {any} */ extent, /** @type {any} */ _, /** @type {any} */ projection) => {
          const answer = await fetch(url, { headers, credentials })
          tile.setFeatures(tile.getFormat().readFeatures(await answer.arrayBuffer(), { extent, featureProjection: projection }))
        }),
      })
      w.map = new ol.Map({ target: 'map', layers: [new ol.layer.VectorTile({ source })], view: new ol.View({ center: ol.proj.fromLonLat([10, 45.2]), zoom: 12 }) })
    },
    drawn: () => {
      const { map } = /** @type {any} */ (window)
      const found = map.getFeaturesAtPixel(map.getPixelFromCoordinate(map.getView().getCenter()), { hitTolerance: 5 })
      return new Set(found.filter((/** @type {any} */ f) => f.get('layer') === 'gps_tracks').map((/** @type {any} */ f) => f.get('id'))).size
    },
  },
  Leaflet: {
    files: ['leaflet/dist/leaflet.css', 'leaflet/dist/leaflet.js', 'leaflet.vectorgrid/dist/Leaflet.VectorGrid.bundled.js'],
    start: ({ tiles, login: { headers, credentials } }) => {
      const w = /** @type {any} */ (window)
      const { L } = w
      w.map = L.map('map').setView([45.2, 10], 12)
      w.seen = new Set()
      const style = (/** @type {any} */ properties) => (w.seen.add(properties.id), { weight: 4 })
      L.vectorGrid.protobuf(tiles, { rendererFactory: L.svg.tile, maxNativeZoom: 14, fetchOptions: { headers, credentials }, vectorTileLayerStyles: { gps_tracks: style } }).addTo(w.map)
    },
    drawn: () => document.querySelector('#map path') ? /** @type {any} */ (window).seen.size : 0,
  },
}

for (const [library, { files, start, drawn }] of Object.entries(LIBRARIES)) {
  for (const [what, login] of Object.entries(LOGINS)) {
    test(`${library} draws tiles of another origin behind ${what}`, async ({ page, context }) => {
      if (login.credentials) await context.addCookies([{ name: 'login', value: 'key', url: site('map-guarded') }])
      /** @type {number[]} */
      const statuses = []
      page.on('response', r => void (r.url().includes('.mvt') && statuses.push(r.status())))
      await page.goto(site('map') + 'files/embed.html')
      for (const f of files) {
        const url = 'node_modules/' + f
        await (f.endsWith('.css') ? page.addStyleTag({ url }) : page.addScriptTag({ url }))
      }
      await page.evaluate(start, { tiles: `${site('map-guarded')}api/gps-tracks/tiles/{z}/{x}/{y}.mvt${login.query ?? ''}`, login })
      await expect.poll(() => page.evaluate(drawn)).toBe(3)
      expect(statuses.filter(s => s !== 200 && s !== 204)).toEqual([])
      await page.screenshot({ path: `screens/embed-${library}.png` })
    })
  }
}

test('no tile comes without a login', async ({ request }) => {
  const tile = site('map-guarded') + 'api/gps-tracks/tiles/12/2161/1476.mvt'
  expect((await request.get(tile)).status()).toBe(401)
  const answer = await request.get(tile, { headers: { Authorization: 'Bearer key', Origin: new URL(site('map')).origin } })
  expect(answer.headers()).toMatchObject({ 'access-control-allow-origin': new URL(site('map')).origin, 'access-control-allow-credentials': 'true' })
  expect(answer.headers()['cache-control']).toContain('private')
})
