// What a popup says of a track besides what is in the tile: from tracks/{id}.
import { distance, element } from './words.js'

/** @param {number} s seconds */
const time = s => `${Math.floor(s / 3600)}:${String(Math.floor(s / 60) % 60).padStart(2, '0')} h`

/** A link, if the address is one of the web. @param {string} href @param {string} words @param {object} [more] */
export const link = (href, words, more = { target: '_blank', rel: 'noopener noreferrer' }) => (/^https?:/.test(href) ? [element('a', { href, ...more }, words)] : [])

/** The elevations along a track as a picture: [[along, elevation], …] in metres. @param {number[][]} profile */
export function drawProfile(profile) {
	const space = 'http://www.w3.org/2000/svg'
	const heights = profile.map(p => p[1])
	const [low, high, length] = [Math.min(...heights), Math.max(...heights), profile[profile.length - 1][0] || 1]
	const at = profile.map(([x, y]) => `${((x / length) * 200).toFixed(1)} ${(46 - ((y - low) / Math.max(high - low, 1)) * 42).toFixed(1)}`)
	const svg = document.createElementNS(space, 'svg')
	const path = document.createElementNS(space, 'path')
	const words = `Elevation from ${Math.round(low)} m to ${Math.round(high)} m over ${distance(Math.round(length))}`
	for (const [name, value] of [['viewBox', '0 0 200 48'], ['preserveAspectRatio', 'none'], ['role', 'img'], ['aria-label', words]]) svg.setAttribute(name, value)
	path.setAttribute('d', `M0 48L${at.join('L')}L200 48Z`)
	svg.append(path)
	return element('figure', {}, svg, element('figcaption', {}, words))
}

/** What is known of a track, as parts of the popup. @param {any} feature of tracks/{id} @param {string} base of the API */
export function describe({ properties: p, gpx }, base) {
	const parts = [
		p.ascent_m >= 0 && `↑ ${Math.round(p.ascent_m)} m`, p.descent_m >= 0 && `↓ ${Math.round(p.descent_m)} m`,
		p.duration_s > 0 && time(p.duration_s), p.moving_s > 0 && p.moving_s < p.duration_s && `${time(p.moving_s)} moving`,
	].filter(Boolean)
	const out = parts.length ? [element('p', {}, parts.join(' · '))] : []
	if (p.profile?.length > 1) out.push(drawProfile(p.profile))
	if (p.licence) out.push(element('p', {}, 'Licence: ', ...(link(p.licence_url, p.licence).length ? link(p.licence_url, p.licence) : [p.licence])))
	if (gpx) out.push(...link(new URL(gpx, base).href, 'Download GPX', { download: '' }))
	return out
}
