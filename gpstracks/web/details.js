// What a popup says of a track besides what is in the tile: from tracks/{id}.
import { drawProfile } from './profile.js'
import { element } from './words.js'

/** @param {number} s seconds */
const time = s => `${Math.floor(s / 3600)}:${String(Math.floor(s / 60) % 60).padStart(2, '0')} h`

/** A link, if the address is one of the web. @param {string} href @param {string} words @param {object} [more] */
export const link = (href, words, more = { target: '_blank', rel: 'noopener noreferrer' }) => (/^https?:/.test(href) ? [element('a', { href, ...more }, words)] : [])

/** What is known of a track, as parts of the popup. @param {any} feature of tracks/{id} @param {string} base of the API @param {ReturnType<typeof drawProfile> | null} profile */
export function describe({ properties: p, gpx }, base, profile) {
	const parts = [
		p.ascent_m >= 0 && `↑ ${Math.round(p.ascent_m)} m`, p.descent_m >= 0 && `↓ ${Math.round(p.descent_m)} m`,
		p.duration_s > 0 && time(p.duration_s), p.moving_s > 0 && p.moving_s < p.duration_s && `${time(p.moving_s)} moving`,
	].filter(Boolean)
	const out = parts.length ? [element('p', {}, parts.join(' · '))] : []
	if (profile) out.push(profile.figure)
	if (p.licence) out.push(element('p', {}, 'Licence: ', ...(link(p.licence_url, p.licence).length ? link(p.licence_url, p.licence) : [p.licence])))
	if (gpx) out.push(...link(Object.assign(new URL(gpx, base), { search: new URL(base).search }).href, 'Download GPX', { download: '' }))
	return out
}
