// The elevations along a track as a picture, and where on the map a point of it is.
import { distance, element } from './words.js'

/** Metres between two places. @param {number[]} a @param {number[]} b */
function metres(a, b) {
	const rad = Math.PI / 180
	const h = Math.sin((b[1] - a[1]) * rad / 2) ** 2 + Math.cos(a[1] * rad) * Math.cos(b[1] * rad) * Math.sin((b[0] - a[0]) * rad / 2) ** 2
	return 2 * 6371008.8 * Math.asin(Math.sqrt(Math.min(1, h)))
}

/** The points of a geometry with their metres along it; a gap between lines has no length. @param {any} geometry @returns {{ at: number[], along: number }[]} */
export function path({ type, coordinates }) {
	let along = 0
	return (type === 'LineString' ? [coordinates] : coordinates).flatMap((/** @type {number[][]} */ line) =>
		line.map((at, i) => ({ at, along: along += i ? metres(line[i - 1], at) : 0 })))
}

/** The place so many metres along. @param {ReturnType<typeof path>} points @param {number} along */
export function place(points, along) {
	const i = Math.max(1, points.findIndex(p => p.along >= along))
	const [a, b] = [points[i - 1], points[i]]
	const share = Math.min(1, Math.max(0, (along - a.along) / (b.along - a.along || 1)))
	return a.at.map((v, k) => v + share * (b.at[k] - v))
}

/** How far along the point nearest to a place is. @param {ReturnType<typeof path>} points @param {number[]} at */
export const nearest = (points, at) => points.reduce((a, b) => (metres(a.at, at) <= metres(b.at, at) ? a : b)).along

/** The elevation so many metres along. @param {number[][]} profile @param {number} along */
export const height = (profile, along) => place(profile.map(([x, y]) => ({ at: [y], along: x })), along)[0]

/** The colours of a line by its slope, of which the darkest are 15 in 100. @param {number[][]} profile */
export function slopes(profile) {
	const length = profile[profile.length - 1][0] || 1
	const [steps, reach] = [100, length / 100]
	const at = Array.from({ length: steps + 1 }, (_, i) => {
		const [from, to] = [Math.max(0, length * i / steps - reach), Math.min(length, length * i / steps + reach)]
		return [i / steps, (height(profile, to) - height(profile, from)) / (to - from)]
	})
	const color = (/** @type {number} */ s) => ['#08519c', '#6baed6', '#f7f7f7', '#fd8d3c', '#a50f15'][Math.max(0, Math.min(4, Math.round(2 + s / 0.075)))]
	return ['interpolate', ['linear'], ['line-progress'], ...at.flatMap(([x, s]) => [x, color(s)])]
}

/** The colours of two tracks that are compared. */
export const PAIR = ['#0080c8', '#d55e00']

/**
 * Profiles as a picture: [[along, elevation], …] in metres, of one track or of two that are compared. follow is called with
 * how far along the pointer is, and null when it leaves; cursor puts the cursor there from elsewhere.
 * @param {number[][][]} profiles @param {(along: number | null) => void} [follow]
 */
export function drawProfile(profiles, follow = () => {}) {
	const all = profiles.flat(), up = all.map(p => p[1])
	const [low, high, length] = [Math.min(...up), Math.max(...up), Math.max(...all.map(p => p[0])) || 1]
	const at = (/** @type {number[]} */ [x, y]) => `${((x / length) * 200).toFixed(1)} ${(46 - ((y - low) / Math.max(high - low, 1)) * 42).toFixed(1)}`
	const words = `Elevation from ${Math.round(low)} m to ${Math.round(high)} m over ${distance(Math.round(length))}`
	const draw = (/** @type {string} */ tag, /** @type {Record<string, string>} */ values) => {
		const e = document.createElementNS('http://www.w3.org/2000/svg', tag)
		for (const [name, value] of Object.entries(values)) e.setAttribute(name, value)
		return e
	}
	const svg = draw('svg', { viewBox: '0 0 200 48', preserveAspectRatio: 'none', role: 'img', 'aria-label': words })
	const line = draw('path', { class: 'gps-tracks-cursor' })
	const trace = (/** @type {number[][]} */ p, i = 0) => draw('path', !profiles[1] ? { d: `M0 48L${p.map(at).join('L')}L200 48Z` }
		: { d: p[0] ? `M${p.map(at).join('L')}` : '', fill: 'none', stroke: PAIR[i] })
	svg.append(...profiles.map(trace), line)
	const caption = element('figcaption', {}, words)
	const cursor = (/** @type {number | null} */ along) => {
		line.setAttribute('d', along === null ? '' : `M${((along / length) * 200).toFixed(1)} 0V48`)
		const heights = () => profiles.map(p => (p[1] ? `${Math.round(height(p, along ?? 0))} m` : '–')).join(' and ')
		caption.textContent = along === null ? words : `${heights()} at ${distance(Math.round(along))}`
	}
	const move = (/** @type {PointerEvent} */ e) => {
		const box = svg.getBoundingClientRect()
		const along = Math.min(1, Math.max(0, (e.clientX - box.left) / box.width)) * length
		cursor(along)
		follow(along)
	}
	const leave = () => {
		cursor(null)
		follow(null)
	}
	svg.onpointerdown = svg.onpointermove = move
	svg.onpointerleave = leave
	return { figure: element('figure', {}, svg, caption), cursor }
}
