// A page with a map of its own, which mounts the layer into its terrain popup.
import { mountControls } from './gpstracks/controls.js'
import { PublicTracksLayer } from './gpstracks/gpstracks.js'
import { styles } from './style.js'

const five = /** @type {any} */ (globalThis).maplibregl
const gl = five ?? await import(new URL('maplibre/maplibre-gl.mjs', import.meta.url).href)
if (five) gl.setWorkerUrl(new URL('maplibre/maplibre-gl-csp-worker.js', import.meta.url).href)

let base = /** @type {'plan' | 'satellite'} */ ('plan')
const map = new gl.Map({ container: 'map', style: styles[base], center: [7.9, 46.6], zoom: 9, maxZoom: 17, hash: 'map', attributionControl: { compact: true } })
map.addControl(new gl.NavigationControl(), 'top-right')

const layer = new PublicTracksLayer({ map, Popup: gl.Popup, baseURL: 'api/gps-tracks', isSatellite: () => base === 'satellite', urlKey: 'tracks' })
const terrain = /** @type {HTMLElement} */ (document.querySelector('#terrain'))
mountControls(layer, terrain)

const open = /** @type {HTMLButtonElement} */ (document.querySelector('#open'))
open.addEventListener('click', () => {
	terrain.hidden = !terrain.hidden
	open.ariaExpanded = `${!terrain.hidden}`
})
terrain.addEventListener('change', e => {
	const chosen = /** @type {HTMLInputElement} */ (e.target)
	if (chosen.name !== 'base') return
	base = /** @type {typeof base} */ (chosen.value)
	map.setStyle(styles[base])
})

Object.assign(globalThis, { demo: { map, layer, gl } }) // for the console
