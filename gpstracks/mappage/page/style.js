// Styles of the bases that are no styles themselves.

/** @typedef {{ name: string, kind: string, url?: string, attribution?: string, imagery?: boolean, style?: any }} Base */

// Lines at every degree.
const graticule = {
	type: 'FeatureCollection',
	features: Array.from({ length: 361 }, (_, i) => i - 180).flatMap(d => [[[d, -85], [d, 85]], ...(Math.abs(d) < 86 ? [[[-180, d], [180, d]]] : [])])
		.map(coordinates => ({ type: 'Feature', properties: {}, geometry: { type: 'LineString', coordinates } })),
}

/** Coast, borders and cities, which the page has itself, in light or dark. @param {boolean} dark */
function world(dark) {
	const [sea, land, edge, text] = dark ? ['#1b2530', '#2a3138', '#5b6670', '#c9d1d9'] : ['#d6e4ec', '#f4f2ea', '#b3a9a0', '#4a5058']
	const of = (/** @type {string} */ kind) => ['==', ['get', 'kind'], kind]
	return {
		version: 8,
		sources: { base: { type: 'geojson', data: new URL('world.json', import.meta.url).href, tolerance: 0.1, attribution: 'Natural Earth' }, grid: { type: 'geojson', data: graticule } },
		layers: [
			{ id: 'ground', type: 'background', paint: { 'background-color': sea } },
			{ id: 'land', type: 'fill', source: 'base', filter: of('land'), paint: { 'fill-color': land, 'fill-antialias': false } },
			{ id: 'coast', type: 'line', source: 'base', filter: of('coast'), paint: { 'line-color': edge } },
			{ id: 'borders', type: 'line', source: 'base', filter: of('border'), paint: { 'line-color': edge, 'line-dasharray': [4, 2] } },
			{ id: 'grid', type: 'line', source: 'grid', minzoom: 7, paint: { 'line-color': edge, 'line-opacity': 0.3 } },
			{ id: 'cities', type: 'circle', source: 'base', minzoom: 3, filter: of('city'), paint: { 'circle-radius': 3, 'circle-color': text } },
			{ id: 'names', type: 'symbol', source: 'base', minzoom: 3, filter: of('city'),
				layout: { 'text-field': ['get', 'name'], 'text-font': ['sans-serif'], 'text-size': 12, 'text-anchor': 'left', 'text-offset': [0.6, 0], 'symbol-sort-key': ['get', 'rank'] },
				paint: { 'text-color': text, 'text-halo-color': land, 'text-halo-width': 1.4 } },
		],
	}
}

/** @param {Base} base @param {boolean} [dark] @returns {any} */
export function styleOf(base, dark = false) {
	switch (base.kind) {
		case 'style': return base.url
		case 'pmtiles': return base.style
		case 'raster': return {
			version: 8,
			sources: { base: { type: 'raster', tiles: [new URL(base.url ?? '', document.baseURI).href.replaceAll('%7B', '{').replaceAll('%7D', '}')], tileSize: 256, maxzoom: 19, attribution: base.attribution } },
			layers: [{ id: 'ground', type: 'background', paint: { 'background-color': '#eef1ec' } }, { id: 'base', type: 'raster', source: 'base' }],
		}
		default: return world(dark)
	}
}

// What layers of vector tiles mostly hold, by their names: what is beneath comes first.
/** @type {[RegExp, string][]} */
const grounds = [
	[/^(earth|land|ground)$/, '#f7f5ee'], [/landcover|landuse|park|wood|forest|green|natural/, '#e2ead5'], [/water|ocean|sea|lake|river/, '#c4dbe8'],
	[/bound|admin|border/, '#c3a9b8'], [/road|transport|street|path|highway|rail/, '#cbc3b4'], [/build/, '#e0d8cb'],
]

/** A plain style of an archive that somebody has made with any layers. @param {string} address @param {any} header @param {any} metadata @param {string} [attribution] @returns {any} */
export function archiveStyle(address, header, metadata, attribution) {
	const vector = header.tileType === 1
	const about = { url: `pmtiles://${address}`, attribution: attribution || metadata.attribution || undefined }
	const ground = { id: 'ground', type: 'background', paint: { 'background-color': '#f2f1ea' } }
	if (!vector) return { version: 8, sources: { base: { type: 'raster', tileSize: 256, ...about } }, layers: [ground, { id: 'base', type: 'raster', source: 'base' }] }
	const rank = (/** @type {string} */ id) => grounds.findIndex(([name]) => name.test(id))
	const ids = /** @type {string[]} */ ((metadata.vector_layers ?? []).map((/** @type {any} */ l) => l.id)).sort((a, b) => rank(a) - rank(b))
	const of = (/** @type {string} */ id, /** @type {string} */ type, /** @type {any} */ rest) => ({ id: `${id}-${type}`, type, source: 'base', 'source-layer': id, ...rest })
	const color = (/** @type {string} */ id) => grounds[rank(id)]?.[1] ?? '#d9d5ca'
	const width = ['interpolate', ['exponential', 1.4], ['zoom'], 5, 0.4, 14, 3, 18, 12]
	return {
		version: 8, sources: { base: { type: 'vector', ...about } }, layers: [
			ground,
			...ids.map(id => of(id, 'fill', { filter: ['==', ['geometry-type'], 'Polygon'], paint: { 'fill-color': color(id) } })),
			...ids.map(id => of(id, 'line', { filter: ['==', ['geometry-type'], 'LineString'], paint: { 'line-color': color(id), 'line-width': width } })),
			...ids.filter(id => /place|city|town|settlement|peak|label/.test(id)).map(id => of(id, 'symbol', {
				filter: ['has', 'name'], layout: { 'text-field': ['get', 'name'], 'text-font': ['sans-serif'], 'text-size': 13 },
				paint: { 'text-color': '#33383d', 'text-halo-color': '#fff', 'text-halo-width': 1.4 },
			})),
		],
	}
}
