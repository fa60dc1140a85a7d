// The state of the layer, and what follows from it: nothing here touches a page.
/** @import { Shown, State } from './types.d.ts' */
export { distance } from './words.js'

export const ACTIVITIES = ['hiking', 'running', 'cycling', 'skiing', 'riding', 'boating', 'driving', 'unknown']

/** Colours after Okabe and Ito: colour-blind people tell them apart. */
export const PALETTE = ['#d55e00', '#cc79a7', '#0072b2', '#56b4e9', '#e69f00', '#009e73', '#222222', '#808080']

/** @type {State} */
export const INITIAL = { on: false, by: 'activity', opacity: 0.8, years: 0, noActivity: [], noSource: [] }

/** Takes what can be used of anything: a change, something stored. @param {any} given */
export function valid(given, rest = INITIAL) {
	const s = { ...rest }
	const { on, by, opacity, years, noActivity, noSource } = given ?? {}
	const names = (/** @type {any[]} */ list) => list.filter(n => /^[\w-]{1,64}$/.test(n)).slice(0, 99)
	if (typeof on === 'boolean') s.on = on
	if (by === 'activity' || by === 'source') s.by = by
	if (opacity >= 0.1 && opacity <= 1) s.opacity = +opacity
	if (years >= 0 && years <= 99) s.years = Math.floor(years)
	if (Array.isArray(noActivity)) s.noActivity = names(noActivity)
	if (Array.isArray(noSource)) s.noSource = names(noSource)
	return s
}

/** The state as part of an address. @param {State} s */
export const toText = s => [+s.on, s.by, s.opacity, s.years, s.noActivity.join('.'), s.noSource.join('.')].join(';')

/** The reverse. @param {string} text */
export function fromText(text) {
	const [on, by, opacity, years, a = '', b = ''] = text.split(';')
	return valid({ on: on === '1', by, opacity, years, noActivity: a.split('.'), noSource: b.split('.') })
}

/** The query of the list, or null if no track can pass. @param {State} s @param {string[]} sources @param {number[]} box @param {number} zoom */
export function listQuery(s, sources, box, zoom) {
	const q = new URLSearchParams({ bbox: box.map(v => v.toFixed(5)).join(), zoom: zoom.toFixed(1) })
	const add = (/** @type {string} */ name, /** @type {string[]} */ all, /** @type {string[]} */ hidden) => {
		const wanted = all.filter(n => !hidden.includes(n))
		if (wanted.length < all.length) q.set(name, wanted.join())
		return wanted.length || !all.length
	}
	return add('activity', ACTIVITIES, s.noActivity) && add('source', sources, s.noSource) ? q : null
}

/** The first day that passes. @param {State} s */
export function since({ years }, day = new Date()) {
	day.setUTCFullYear(day.getUTCFullYear() - years)
	return years ? day.toISOString().slice(0, 10) : ''
}

/** The filter of the map's layers. @param {State} s @param {string} day */
export const filter = (s, day) => ['all',
	['!', ['in', ['get', 'activity'], ['literal', s.noActivity]]],
	['!', ['in', ['get', 'source'], ['literal', s.noSource]]],
	['>=', ['to-string', ['get', 'recorded_on']], day]]

// A gateway's key can be in the query of base.
/** An address below that of the API, whose query stays. @param {string} base @param {string} path @param {Iterable<string[]>} [query] */
export function below(base, path, query = []) {
	const url = new URL(base)
	url.pathname = url.pathname.replace(/\/$/, '') + path
	for (const [name, value] of query) url.searchParams.set(name, value)
	return url.href.replaceAll('%7B', '{').replaceAll('%7D', '}') // of tiles
}

/** What is shown, in words. @param {Shown} is */
export function summary({ mode, shown, total, truncated }) {
	const n = shown.toLocaleString('en')
	if (mode === 'none') return 'All tracks are filtered out'
	if (mode === 'empty') return 'No tracks are collected yet'
	if (mode === 'tiles') return 'Zoom in to see every track'
	if (truncated) return `Showing ${n}${total ? ` of ${total.toLocaleString('en')}` : ', the longest'}: zoom in for more`
	return shown ? `${n} track${shown > 1 ? 's' : ''}` : 'No tracks here'
}
