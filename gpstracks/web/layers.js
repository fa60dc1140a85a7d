// The sources and layers of the map that show tracks.
/** @import { MapLike, Options } from './types.d.ts' */
import { DENSITY_ZOOM } from './density.js'
import { PAIR } from './profile.js'
import { below } from './state.js'
import { element } from './words.js'

export const TILES = 'gps-tracks-tiles', LIST = 'gps-tracks-list', HEAT = 'gps-tracks-heat', NAMES = 'gps-tracks-names', SPOT = 'gps-tracks-spot', CHOSEN = 'gps-tracks-chosen', WAY = 'gps-tracks-way', ENDS = 'gps-tracks-ends'
export const HANDOVER = 12 // of MapLibre's zoom: tiles below it, the list from it on
const WIDTHS = { halo: 6, line: 3, case: 9, top: 5 } // case and top: the highlighted track
export const LAYERS = Object.entries(WIDTHS).flatMap(([kind, width]) => [TILES, LIST].map(source => ({ id: `${source}-${kind}`, source, kind, width })))

export const spot = (/** @type {number[][]} */ ...at) => ({ type: 'MultiPoint', coordinates: at })

/** The tracks whose popup is open, with their starts and finishes. @param {any[]} [geometries] one, or two that are compared */
export const chosen = (geometries = []) => ({ type: 'FeatureCollection', features: geometries.flatMap((geometry, n) => {
	const lines = geometry.type === 'LineString' ? [geometry.coordinates] : geometry.coordinates
	const end = (/** @type {string} */ is, /** @type {number[]} */ at) => ({ type: 'Feature', properties: { is }, geometry: { type: 'Point', coordinates: at } })
	return [{ type: 'Feature', properties: { n }, geometry }, end('finish', lines[lines.length - 1].slice(-1)[0]), end('start', lines[0][0])]
}) })

/** Adds them. @param {MapLike} map @param {Options} o @param {string} base of the API @param {string} [attribution] @param {object} [data] of the list */
export function addLayers(map, o, base, attribution, data) {
	map.addSource(TILES, { type: 'vector', tiles: [below(base, '/tiles/{z}/{x}/{y}.mvt')], maxzoom: HANDOVER - 1, ...(attribution && { attribution }) })
	map.addSource(LIST, { type: 'geojson', data, ...(attribution && { attribution }) }) // tiles are in no use where it is drawn
	const before = map.getLayer(o.beforeId) && o.beforeId
	map.addLayer({ id: HEAT, source: TILES, 'source-layer': 'gps_density', type: 'heatmap', maxzoom: DENSITY_ZOOM + 1 }, before)
	for (const { id, source, width } of LAYERS) {
		map.addLayer({
			id, source, type: 'line', layout: { 'line-join': 'round', 'line-cap': 'round' },
			paint: { 'line-width': ['interpolate', ['linear'], ['zoom'], 6, width / 2, HANDOVER, width], 'line-color': '#fff' },
			...(source === TILES ? { 'source-layer': 'gps_tracks', maxzoom: HANDOVER } : { minzoom: HANDOVER }),
		}, before)
	}
	map.addSource(CHOSEN, { type: 'geojson', lineMetrics: true, data: chosen() })
	map.addLayer({
		id: CHOSEN, source: CHOSEN, type: 'line', layout: { 'line-cap': 'round', 'line-join': 'round', visibility: 'none' },
		paint: { 'line-width': 6, 'line-color': ['match', ['get', 'n'], 0, PAIR[0], PAIR[1]] },
	})
	map.addLayer({
		id: ENDS, source: CHOSEN, type: 'circle', filter: ['has', 'is'],
		paint: { 'circle-radius': 6, 'circle-stroke-width': 2, 'circle-stroke-color': '#fff', 'circle-color': ['match', ['get', 'is'], 'start', '#1a7f37', '#b3261e'] },
	})
	map.addSource(SPOT, { type: 'geojson', data: spot() })
	map.addLayer({ id: SPOT, source: SPOT, type: 'circle', paint: { 'circle-radius': 6, 'circle-color': '#0b5394', 'circle-stroke-color': '#fff', 'circle-stroke-width': 2 } })
	if (!map.hasImage(WAY)) map.addImage(WAY, arrow(), { pixelRatio: 2 })
	map.addLayer({
		id: WAY, source: CHOSEN, type: 'symbol', filter: ['!', ['has', 'is']],
		layout: { 'icon-image': WAY, 'symbol-placement': 'line', 'symbol-spacing': 90, 'icon-allow-overlap': true, 'icon-ignore-placement': true },
	})
	const font = o.labelFont ? [o.labelFont] : fontOf(map.getStyle())
	if (font) map.addLayer({
		id: NAMES, source: LIST, type: 'symbol', minzoom: HANDOVER + 1,
		layout: { 'text-field': ['get', 'name'], 'text-font': font, 'text-size': 12, 'symbol-placement': 'line', 'text-max-angle': 45, 'text-padding': 8 },
		paint: { 'text-color': '#111', 'text-halo-color': '#eeeeea', 'text-halo-width': 1.6 },
	}, before)
}

// An arrow to the right: a picture, as the glyphs of a style need not have one.
function arrow() {
	const pen = /** @type {CanvasRenderingContext2D} */ (element('canvas', { width: 30, height: 30 }).getContext('2d'))
	const shape = new Path2D('M5 5L27 15L5 25L10 15Z')
	pen.lineWidth = 5
	pen.lineJoin = 'round'
	pen.stroke(shape)
	pen.fillStyle = '#fff'
	pen.fill(shape)
	return pen.getImageData(0, 0, 30, 30)
}

/** A font of a style: one that it writes with, or, without glyphs, the machine's. @param {any} style @returns {string[] | undefined} */
export function fontOf({ glyphs, layers }) {
	if (!glyphs) return ['sans-serif']
	const fonts = layers.map((/** @type {any} */ l) => l.layout?.['text-font']).map((/** @type {any} */ f) => (f?.[0] === 'literal' ? f[1] : f))
	return fonts.find((/** @type {any} */ f) => Array.isArray(f) && f[0] !== 'get' && f.every(name => typeof name === 'string'))
}

/** Takes them off. @param {MapLike} map */
export function removeLayers(map) {
	for (const id of [HEAT, NAMES, SPOT, CHOSEN, WAY, ENDS, ...LAYERS.map(l => l.id)]) map.getLayer(id) && map.removeLayer(id)
	for (const id of [TILES, LIST, SPOT, CHOSEN]) map.getSource(id) && map.removeSource(id)
	if (map.hasImage(WAY)) map.removeImage(WAY)
}
