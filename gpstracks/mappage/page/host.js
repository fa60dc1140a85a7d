// A page with a map of its own, which mounts the layer into its terrain popup.
import { mountControls } from './gpstracks/controls.js'
import { PublicTracksLayer, below } from './gpstracks/gpstracks.js'
import { element } from './gpstracks/words.js'
import { archiveStyle, styleOf } from './style.js'

const gl = await import(new URL('maplibre/maplibre-gl.mjs', import.meta.url).href)

/** @type {{ api: string, on: boolean, bases: import('./style.js').Base[] }} */
const config = await (await fetch('config.json')).json()
const track = new URLSearchParams(location.search).get('track')

// An archive of tiles says itself what is in it.
const archives = config.bases.filter(b => b.kind === 'pmtiles')
if (archives.length) {
	await new Promise(onload => document.head.append(element('script', { src: 'pmtiles/pmtiles.js', onload })))
	const { PMTiles, Protocol } = /** @type {any} */ (globalThis).pmtiles
	const protocol = new Protocol()
	gl.addProtocol('pmtiles', protocol.tile)
	for (const one of archives) {
		const archive = new PMTiles(new URL(one.url ?? '', document.baseURI).href)
		try {
			one.style = archiveStyle(archive.source.getKey(), await archive.getHeader(), await archive.getMetadata(), one.attribution)
			protocol.add(archive)
		} catch (e) {
			console.error('The base cannot be read', e)
			one.kind = 'plain'
		}
	}
}

// Where the tracks are, unless the address says where to look.
async function bounds() {
	if (/[#&]map=/.test(location.hash)) return null
	try {
		const info = await (await fetch(below(new URL(config.api, document.baseURI).href, '/tiles.json'))).json()
		return info.center ? info.bounds : null
	} catch {
		return null
	}
}

let base = config.bases[0]
const dark = matchMedia('(prefers-color-scheme: dark)')
const around = await bounds()
const map = new gl.Map({
	container: 'map', style: styleOf(base, dark.matches), maxZoom: 19, hash: 'map', attributionControl: { compact: true },
	...(around ? { bounds: around, fitBoundsOptions: { padding: 30, maxZoom: 13 } } : { center: [8, 47], zoom: 3 }),
})
map.addControl(new gl.NavigationControl(), 'top-right')
map.addControl(new gl.GeolocateControl({}), 'top-right')
map.addControl(new gl.ScaleControl({}), 'bottom-left')

dark.addEventListener('change', () => base.kind === 'plain' && map.setStyle(styleOf(base, dark.matches)))

const layer = new PublicTracksLayer({ map, Popup: gl.Popup, baseURL: config.api, isSatellite: () => !!base.imagery, urlKey: 'tracks', share: id => new URL(`?track=${id}`, location.href.split('#')[0]).href, initial: { on: config.on || !!track } })
const terrain = /** @type {HTMLElement} */ (document.querySelector('#terrain'))
mountControls(layer, terrain)

// A place by its name or by latitude and longitude.
const search = /** @type {HTMLFormElement} */ (document.querySelector('#search'))
search.addEventListener('submit', async e => {
	e.preventDefault()
	const [place] = /** @type {any} */ (search.elements)
	const [lat, lng] = place.value.split(/[,;\s]+/).map(Number)
	if (Math.abs(lat) <= 85 && Math.abs(lng) <= 180) return map.jumpTo({ center: [lng, lat], zoom: 12 })
	const { features } = await (await fetch('world.json')).json()
	const found = features.find((/** @type {any} */ f) => f.properties.name?.toLowerCase().startsWith(place.value.trim().toLowerCase()))
	place.setCustomValidity(found ? '' : 'No city of this name is known here: try latitude, longitude')
	place.reportValidity()
	if (found) map.jumpTo({ center: found.geometry.coordinates, zoom: 9 })
})
search.addEventListener('input', e => /** @type {any} */ (e.target).setCustomValidity(''))

const open = /** @type {HTMLButtonElement} */ (document.querySelector('#open'))
const toggle = () => {
	terrain.hidden = !terrain.hidden
	open.ariaExpanded = `${!terrain.hidden}`
}
open.addEventListener('click', toggle)
layer.addEventListener('loaded', e => {
	if (/** @type {CustomEvent} */ (e).detail.mode === 'empty' && terrain.hidden) toggle() // the panel says why there is nothing
})
const bases = /** @type {HTMLElement} */ (document.querySelector('#bases'))
bases.hidden = config.bases.length < 2
for (const one of config.bases) {
	const choose = () => {
		base = one
		map.setStyle(styleOf(one, dark.matches))
	}
	bases.append(element('label', {}, element('input', { type: 'radio', name: 'base', checked: one === base, onchange: choose }), one.name))
}
if (track && /^\d{1,18}$/.test(track)) {
	layer.setState({ on: true })
	map.once('load', () => layer.select(+track))
}

Object.assign(globalThis, { demo: { map, layer, gl } }) // for the console
