// Two tracks side by side: in numbers, and their profiles over one distance.
import { PAIR, drawProfile } from './profile.js'
import { distance, element } from './words.js'

/** What is said of two tracks, as parts of the popup. @param {any[]} tracks of tracks/{id} */
export function compare(tracks) {
	const both = tracks.map(t => t.properties)
	const row = (/** @type {string} */ name, /** @type {(p: any) => any} */ say) =>
		element('tr', {}, element('th', { scope: 'row' }, name), ...both.map(p => element('td', {}, say(p) || '–')))
	const head = element('tr', {}, element('td', {}), ...both.map((p, i) => {
		const swatch = element('i', {})
		swatch.style.background = PAIR[i]
		return element('th', { scope: 'col' }, swatch, p.name || 'Track without a name')
	}))
	const ascent = (/** @type {any} */ p) => p.ascent_m >= 0 && `${Math.round(p.ascent_m)} m`
	const table = element('table', {}, head, row('Length', p => distance(p.length_m)), row('Ascent', ascent), row('Date', p => p.recorded_on))
	const profiles = both.map(p => (p.profile?.length > 1 ? p.profile : []))
	return profiles.flat()[0] ? [table, drawProfile(profiles).figure] : [table]
}
