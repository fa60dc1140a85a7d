// Public GPS tracks as a layer of a MapLibre map, which the page gives. First
// the pure part, then the layer; types.d.ts says what the options are.
/** @import { Options, Shown, State } from './types.d.ts' */

export const ACTIVITIES = ['hiking', 'running', 'cycling', 'skiing', 'riding', 'boating', 'driving', 'unknown']

/** Colours after Okabe and Ito: colour-blind people tell them apart too. */
export const PALETTE = ['#d55e00', '#cc79a7', '#0072b2', '#56b4e9', '#e69f00', '#009e73', '#222222', '#808080']

/** @type {State} */
export const INITIAL = { on: false, by: 'activity', opacity: 0.8, years: 0, noActivity: [], noSource: [] }

/**
 * Takes what can be used of anything: a change, something stored, an address.
 * @param {any} given
 * @returns {State}
 */
export function valid(given, rest = INITIAL) {
	const s = { ...rest }
	if (typeof given?.on === 'boolean') s.on = given.on
	if (/^(activity|source)$/.test(given?.by)) s.by = given.by
	if (given?.opacity >= 0.1 && given.opacity <= 1) s.opacity = +given.opacity
	if (given?.years >= 0 && given.years <= 99) s.years = Math.floor(given.years)
	for (const key of /** @type {const} */ (['noActivity', 'noSource'])) {
		if (Array.isArray(given?.[key])) s[key] = given[key].filter((/** @type {any} */ n) => /^[\w-]{1,64}$/.test(n)).slice(0, 99)
	}
	return s
}

/** The state as part of an address. @param {State} s */
export const toText = s => [+s.on, s.by, s.opacity, s.years, s.noActivity.join('.'), s.noSource.join('.')].join(';')

/** The reverse. @param {string} text */
export function fromText(text) {
	const [on, by, opacity, years, a = '', b = ''] = text.split(';')
	return valid({ on: on === '1', by, opacity, years, noActivity: a.split('.'), noSource: b.split('.') })
}

/**
 * The query of the list, or null if no track can pass.
 * @param {State} s @param {string[]} sources @param {number[]} box @param {number} zoom
 */
export function listQuery(s, sources, box, zoom) {
	const q = new URLSearchParams({ bbox: box.map(v => v.toFixed(5)).join(), zoom: zoom.toFixed(1) })
	for (const [name, all, hidden] of /** @type {const} */ ([['activity', ACTIVITIES, s.noActivity], ['source', sources, s.noSource]])) {
		const wanted = all.filter(n => !hidden.includes(n))
		if (all.length && !wanted.length) return null
		if (wanted.length < all.length) q.set(name, wanted.join())
	}
	return q
}

/** The first day that passes. @param {State} s @param {Date} now */
export function since({ years }, now) {
	if (!years) return ''
	const day = new Date(now)
	day.setUTCFullYear(day.getUTCFullYear() - years)
	return day.toISOString().slice(0, 10)
}

/** The filter of the map's layers. @param {State} s @param {string} day @returns {any} */
export const filter = (s, day) => ['all',
	['!', ['in', ['get', 'activity'], ['literal', s.noActivity]]],
	['!', ['in', ['get', 'source'], ['literal', s.noSource]]],
	['>=', ['to-string', ['get', 'recorded_on']], day]]

/** What is shown, in words. @param {Shown} is */
export function summary({ mode, shown, total, truncated }) {
	const n = shown.toLocaleString('en')
	if (mode === 'none') return 'All tracks are filtered out'
	if (mode === 'tiles') return 'Zoom in to see every track'
	if (truncated) return `Showing ${n}${total ? ` of ${total.toLocaleString('en')}` : ', the longest'}: zoom in for more`
	return shown ? `${n} track${shown > 1 ? 's' : ''}` : 'No tracks here'
}

/** @param {number} m metres */
export const distance = m => (m < 1000 ? `${m} m` : `${(m / 1000).toFixed(1)} km`)

/** Makes an element; text is never markup. @param {string} tag @param {any} values @param {any[]} children @returns {any} */
function element(tag, values, ...children) {
	const e = Object.assign(document.createElement(tag), values)
	e.append(...children)
	return e
}

const TILES = 'gps-tracks-tiles', LIST = 'gps-tracks-list'
const HANDOVER = 12 // of MapLibre's zoom: tiles below it, the list from it on
const WIDTHS = { halo: 6, line: 3, case: 9, top: 5 } // case and top: the highlighted track
const LAYERS = [TILES, LIST].flatMap(id => Object.entries(WIDTHS).map(([kind, width]) => ({ id: `${id}-${kind}`, source: id, kind, width })))
const POPUP = 8 // tracks in a popup

/**
 * The layer. Events: change (of state or sources), loaded (detail: Shown), error.
 * What people should know is in text, or in error.
 */
export class PublicTracksLayer extends EventTarget {
	text = ''
	error = ''
	/** @type {any} */ #data = { type: 'FeatureCollection', features: [] }
	/** @type {any} */ #popup
	/** @type {any} */ #seen // bounds of what tiles were shown for
	#hot = -1
	/** @type {any} */ #timer
	#asked = false
	#satellite = false
	#abort = new AbortController()
	#end = new AbortController()

	/** @param {Options} o */
	constructor(o) {
		super()
		this.o = o
		this.map = o.map
		this.base = new URL(o.baseURL ?? '/api/gps-tracks', document.baseURI).href
		this.key = (o.storageKey ?? 'gps-tracks') + '.v1'
		this.sources = o.sources ?? []
		this.state = this.#read()
		this.listeners = Object.entries({
			'style.load': () => this.#attach(),
			styledata: () => this.#satellite !== !!o.isSatellite?.() && this.#draw(),
			idle: () => this.sources.length || this.#meet(this.map.getSource(TILES) ? this.map.querySourceFeatures(TILES, { sourceLayer: 'gps_tracks' }) : []),
			movestart: () => { this.#abort.abort(); this.error = '' },
			moveend: () => this.#moved(),
			click: (/** @type {any} */ e) => this.#open(e.point, e.lngLat, e.originalEvent?.pointerType === 'touch' ? 14 : 6),
		})
		for (const l of this.listeners) this.map.on(...l)
		addEventListener('hashchange', () => this.setState(this.#address()), this.#end)
		this.#attach()
	}

	/** Changes part of the state. @param {Partial<State> | null} change */
	setState(change) {
		const was = this.state
		this.state = valid(change, was)
		if (toText(this.state) === toText(was)) return
		this.#write()
		this.state.on !== was.on ? this.#attach() : this.#draw()
		if (['years', 'noActivity', 'noSource'].some(k => `${this.state[/** @type {'years'} */ (k)]}` !== `${was[/** @type {'years'} */ (k)]}`)) this.#later()
		this.#tell('change')
	}

	/** What colours mean. @param {'activity' | 'source'} by @returns {Record<string, string>} */
	colors(by) {
		const own = this.o[/** @type {const} */ (`${by}Colors`)]
		return Object.fromEntries((by === 'source' ? this.sources : ACTIVITIES).map((n, i) => [n, own?.[n] ?? PALETTE[i % 8]]))
	}

	/** Asks again after an error. */
	retry() {
		this.error = ''
		this.map.getSource(TILES)?.setTiles([this.base + '/tiles/{z}/{x}/{y}.mvt'])
		this.#load()
	}

	/** Opens a popup of what is near the centre, without a pointer; false if there is nothing. */
	showCentre() {
		const c = this.map.getCenter()
		return this.#open(this.map.project(c), c, 40)
	}

	/** Takes the layer off the map for good. */
	destroy() {
		this.#end.abort()
		for (const l of this.listeners) this.map.off(...l)
		this.state = { ...this.state, on: false }
		this.#attach()
	}

	/** @param {string} what @param {any} [detail] */
	#tell = (what, detail) => this.dispatchEvent(new CustomEvent(what, { detail }))

	#parts = () => location.hash.slice(1).split('&').filter(Boolean)

	#address() {
		const mine = this.o.urlKey && this.#parts().find(p => p.startsWith(this.o.urlKey + '='))
		return mine ? fromText(mine.slice(mine.indexOf('=') + 1)) : null
	}

	#read() {
		let kept
		try {
			kept = JSON.parse((this.o.storage ?? localStorage).getItem(this.key) ?? '')
		} catch { /* nothing that can be used */ }
		return this.#address() ?? valid(kept)
	}

	#write() {
		try {
			(this.o.storage ?? localStorage).setItem(this.key, JSON.stringify(this.state))
		} catch { /* full or forbidden */ }
		const key = this.o.urlKey + '='
		if (this.o.urlKey) history.replaceState(history.state, '', '#' + [...this.#parts().filter(p => !p.startsWith(key)), key + toText(this.state)].join('&'))
	}

	// Puts on the map what is not there: after a change, and for every new style.
	#attach() {
		const map = this.map
		if (!this.state.on) {
			clearTimeout(this.#timer)
			this.#abort.abort()
			this.#popup?.remove()
			this.error = this.text = ''
		}
		if (!map.getStyle()) return
		if (!this.state.on) {
			for (const l of LAYERS) map.getLayer(l.id) && map.removeLayer(l.id)
			for (const id of [TILES, LIST]) map.getSource(id) && map.removeSource(id)
			return
		}
		if (!map.getSource(TILES)) {
			map.addSource(TILES, { type: 'vector', tiles: [this.base + '/tiles/{z}/{x}/{y}.mvt'], maxzoom: HANDOVER - 1 })
			map.addSource(LIST, { type: 'geojson', data: this.#data })
			map.getSource(TILES).on('error', (/** @type {any} */ e) => this.#fail(e.error))
			for (const kind in WIDTHS) {
				for (const l of LAYERS) if (l.kind === kind) this.#add(l)
			}
		}
		this.#draw()
		this.#ask()
		this.#later()
	}

	/** @param {typeof LAYERS[0]} l */
	#add({ id, source, width }) {
		this.map.addLayer({
			id, source, type: 'line', layout: { 'line-join': 'round', 'line-cap': 'round' },
			paint: { 'line-width': ['interpolate', ['linear'], ['zoom'], 6, width / 2, HANDOVER, width], 'line-color': '#fff' },
			...(source === TILES ? { 'source-layer': 'gps_tracks', maxzoom: HANDOVER } : { minzoom: HANDOVER }),
		}, this.map.getLayer(this.o.beforeId) && this.o.beforeId)
	}

	#draw() {
		this.#satellite = !!this.o.isSatellite?.()
		const { by, opacity } = this.state
		const pairs = Object.entries(this.colors(by)).flat()
		const color = pairs.length ? ['match', ['get', by], ...pairs, PALETTE[7]] : PALETTE[7]
		const shown = filter(this.state, since(this.state, new Date()))
		for (const { id, kind } of LAYERS) {
			if (!this.map.getLayer(id)) return
			const hot = kind === 'case' || kind === 'top'
			this.map.setFilter(id, hot ? [...shown, ['==', ['get', 'id'], this.#hot]] : shown)
			this.map.setPaintProperty(id, 'line-opacity', hot ? 1 : opacity)
			if (kind === 'line' || kind === 'top') this.map.setPaintProperty(id, 'line-color', color)
			if (kind === 'case') this.map.setPaintProperty(id, 'line-color', this.#satellite ? '#fff' : '#000')
			if (kind === 'halo') this.map.setLayoutProperty(id, 'visibility', this.#satellite ? 'visible' : 'none')
		}
	}

	// Asks health for the names of the sources, once.
	async #ask() {
		if (this.#asked || this.o.sources) return
		this.#asked = true
		try {
			const { sources } = await (await this.#fetch('/health', this.#end.signal)).json()
			this.#meet(sources.map((/** @type {any} */ s) => ({ properties: { source: s.name } })))
		} catch { /* those that are seen are known too */ }
	}

	/** Learns the names of sources. @param {any[]} features */
	#meet(features) {
		const fresh = [...new Set(features.map(f => f.properties.source))].filter(n => n && !this.sources.includes(n)).sort()
		if (this.o.sources || !fresh.length) return
		this.sources = [...this.sources, ...fresh]
		this.#draw()
		this.#tell('change')
	}

	/** @param {string} path @param {AbortSignal} signal */
	#fetch = (path, signal) => (this.o.fetch ?? fetch)(this.base + path, { signal })

	#moved() {
		const view = this.map.getBounds()
		if (this.map.getZoom() < HANDOVER) this.#seen = view
		else if (!this.#seen?.contains(view.getNorthEast()) || !this.#seen.contains(view.getSouthWest())) this.#tilesTo(HANDOVER)
		this.#later()
	}

	#later() {
		clearTimeout(this.#timer)
		if (this.state.on) this.#timer = setTimeout(() => this.#load(), this.o.debounceMs ?? 250)
	}

	// Reads the list for the view. Until it has come, tiles that are there stand in.
	async #load() {
		this.#abort.abort()
		const zoom = this.map.getZoom()
		const query = listQuery(this.state, this.sources, this.map.getBounds().toArray().flat(), zoom)
		if (zoom < HANDOVER || !query) {
			this.#tilesTo(zoom < HANDOVER ? 24 : HANDOVER)
			return this.error || this.#done({ mode: query ? 'tiles' : 'none', shown: 0, truncated: false })
		}
		const { signal } = this.#abort = new AbortController()
		try {
			const answer = await this.#fetch('?' + query, signal)
			if (!answer.ok) throw new Error(`the server answered ${answer.status}`)
			const list = this.#data = await answer.json()
			if (signal.aborted) return
			this.map.getSource(LIST)?.setData(list)
			this.#tilesTo(HANDOVER)
			this.#meet(list.features)
			const day = since(this.state, new Date())
			this.error = ''
			this.#done({
				mode: 'list', truncated: list.truncated, total: day ? undefined : list.numberMatched,
				shown: list.features.filter((/** @type {any} */ f) => (f.properties.recorded_on ?? '') >= day).length,
			})
		} catch (e) {
			if (!signal.aborted) this.#fail(e)
		}
	}

	/** @param {Shown} is */
	#done(is) {
		this.text = summary(is)
		this.#tell('loaded', is)
	}

	/** @param {any} e */
	#fail(e) {
		this.error = 'Tracks could not be loaded'
		this.#tell('error', e)
	}

	/** @param {number} zoom where tiles end */
	#tilesTo(zoom) {
		for (const l of LAYERS) l.source === TILES && this.map.getLayer(l.id) && this.map.setLayerZoomRange(l.id, 0, zoom)
	}

	/** @param {{ x: number, y: number }} at @param {any} lngLat @param {number} near pixels */
	#open({ x, y }, lngLat, near) {
		const layers = LAYERS.filter(l => l.kind === 'line' && this.map.getLayer(l.id)).map(l => l.id)
		const hits = layers.length ? [0, near].flatMap(r => this.map.queryRenderedFeatures([[x - r, y - r], [x + r, y + r]], { layers })) : []
		const tracks = [...new Map(hits.map(f => [f.properties.id, f.properties])).values()]
		this.#popup?.remove()
		if (!tracks.length) return false
		const popup = this.#popup = new this.o.Popup({ maxWidth: '20rem' }).setLngLat(lngLat).setDOMContent(this.#content(tracks)).addTo(this.map)
		popup.on('close', () => this.#popup === popup && this.#highlight(-1))
		this.#highlight(tracks[0].id)
		return true
	}

	/** @param {any[]} tracks */
	#content(tracks) {
		const n = tracks.length
		const box = element('section', { className: 'gps-tracks-popup', ariaLabel: n > 1 ? `${n} tracks here` : 'Track', tabIndex: 0 })
		for (const t of tracks.slice(0, POPUP)) {
			const show = () => this.#highlight(t.id)
			const item = element('article', { onpointerenter: show }, element('h3', { textContent: t.name || 'Track without a name' }),
				element('p', { textContent: [t.activity, distance(t.length_m), t.recorded_on, t.source].filter(Boolean).join(' · ') }))
			item.addEventListener('focusin', show)
			if (/^https?:\/\//.test(t.url)) item.append(element('a', { href: t.url, target: '_blank', rel: 'noopener noreferrer', textContent: 'Open at its source' }))
			if (t.attribution) item.append(element('p', { textContent: t.attribution }))
			box.append(item)
		}
		if (n > POPUP) box.append(element('p', { textContent: `and ${n - POPUP} more` }))
		return box
	}

	/** Brings a track to the front. @param {number} id */
	#highlight(id) {
		this.#hot = id
		this.#draw()
	}
}
