// A page with a map of its own, which mounts the layer into its terrain popup.
import { mountControls } from './gpstracks/controls.js'
import { PublicTracksLayer } from './gpstracks/gpstracks.js'
import { element } from './gpstracks/words.js'
import { styleOf } from './style.js'

const five = /** @type {any} */ (globalThis).maplibregl
const gl = five ?? await import(new URL('maplibre/maplibre-gl.mjs', import.meta.url).href)
if (five) gl.setWorkerUrl(new URL('maplibre/maplibre-gl-csp-worker.js', import.meta.url).href)

/** @type {{ api: string, on: boolean, bases: import('./style.js').Base[] }} */
const config = await (await fetch('config.json')).json()
const track = new URLSearchParams(location.search).get('track')

// Where the tracks are, unless the address says where to look.
async function bounds() {
	if (/[#&]map=/.test(location.hash)) return null
	try {
		const info = await (await fetch(`${config.api}/tiles.json`)).json()
		return info.center ? info.bounds : null
	} catch {
		return null
	}
}

let base = config.bases[0]
const around = await bounds()
const map = new gl.Map({
	container: 'map', style: styleOf(base), maxZoom: 19, hash: 'map', attributionControl: { compact: true },
	...(around ? { bounds: around, fitBoundsOptions: { padding: 30, maxZoom: 13 } } : { center: [8, 47], zoom: 3 }),
})
map.addControl(new gl.NavigationControl(), 'top-right')
map.addControl(new gl.GeolocateControl({}), 'top-right')
map.addControl(new gl.ScaleControl({}), 'bottom-left')

const layer = new PublicTracksLayer({ map, Popup: gl.Popup, baseURL: config.api, isSatellite: () => !!base.imagery, urlKey: 'tracks', initial: { on: config.on || !!track } })
const terrain = /** @type {HTMLElement} */ (document.querySelector('#terrain'))
mountControls(layer, terrain)

const open = /** @type {HTMLButtonElement} */ (document.querySelector('#open'))
open.addEventListener('click', () => {
	terrain.hidden = !terrain.hidden
	open.ariaExpanded = `${!terrain.hidden}`
})
const bases = /** @type {HTMLElement} */ (document.querySelector('#bases'))
bases.hidden = config.bases.length < 2
for (const one of config.bases) {
	const choose = () => {
		base = one
		map.setStyle(styleOf(one))
	}
	bases.append(element('label', {}, element('input', { type: 'radio', name: 'base', checked: one === base, onchange: choose }), one.name))
}
if (track && /^\d{1,18}$/.test(track)) {
	layer.setState({ on: true })
	map.once('load', () => layer.select(+track))
}

Object.assign(globalThis, { demo: { map, layer, gl } }) // for the console
