// The overview: heat of the ways that tracks take, by cells that tiles have up to zoom 9, and how many tracks of each
// kind start in a view.
/** @import { Counts, Feature, State } from './types.d.ts' */

export const DENSITY_ZOOM = 9 // of tiles; above it every line is drawn

/** How many tracks that pass the filters take a cell. @param {State} s @param {string[]} activities @param {string[]} sources */
export function weight(s, activities, sources) {
	const hidden = activities.flatMap(a => sources.filter(b => s.noActivity.includes(a) || s.noSource.includes(b)).map(b => ['coalesce', ['get', `${a}/${b}`], 0]))
	return hidden.length ? ['-', ['get', 'count'], ...(hidden.length > 1 ? [['+', ...hidden]] : hidden)] : ['get', 'count']
}

/** The paint of the heat. Hue and lightness rise together, so that it reads without colours too. @param {any} tracks */
export const heat = tracks => ({
	'heatmap-weight': ['min', 1, ['/', ['ln', ['+', 1, tracks]], 6]],
	'heatmap-intensity': ['interpolate', ['linear'], ['zoom'], 0, 1, DENSITY_ZOOM, 1.6],
	'heatmap-radius': ['interpolate', ['linear'], ['zoom'], 0, 10, DENSITY_ZOOM, 16],
	'heatmap-color': ['interpolate', ['linear'], ['heatmap-density'],
		0, 'rgba(255,237,160,0)', 0.08, 'rgba(254,200,110,0.55)', 0.3, 'rgba(253,141,60,0.8)', 0.6, 'rgba(227,60,38,0.85)', 1, 'rgba(128,0,60,0.9)'],
	'heatmap-opacity': ['interpolate', ['linear'], ['zoom'], 7, 0.85, DENSITY_ZOOM, 0.5, DENSITY_ZOOM + 1, 0],
})

/** @param {any[]} line @param {any} view @returns {boolean} */
const inside = (line, view) => (Array.isArray(line[0]) ? line.some(l => inside(l, view)) : view.contains(line))

/** How many tracks there are in a view: of cells those that start there, or of lines. @param {Feature[]} features @param {any} view @returns {Counts} */
export function count(features, view) {
	/** @type {Counts} */
	const n = { activity: {}, source: {} }
	const seen = new Set()
	const add = (/** @type {string} */ a, /** @type {string} */ b, /** @type {number} */ k) => {
		n.activity[a] = (n.activity[a] ?? 0) + k
		n.source[b] = (n.source[b] ?? 0) + k
	}
	for (const { properties: p, geometry } of features) {
		if (p.id ? seen.has(p.id) : seen.has(`${geometry.coordinates}`)) continue
		if (!inside(geometry.coordinates, view)) continue
		seen.add(p.id ?? `${geometry.coordinates}`)
		if (p.id) add(p.activity, p.source, 1)
		else for (const [key, k] of Object.entries(p)) {
			const [a, b, starts] = key.split('/')
			if (starts) add(a, b, +k)
		}
	}
	return n
}
