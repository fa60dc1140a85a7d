// Public GPS tracks as a layer of a MapLibre map that the page gives: first the
// pure part, then the layer. types.d.ts describes options, state and events.
/** @import { Feature, Handlers, List, MakeElement, MapLike, Options, Shown, State } from './types.d.ts' */

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

/** @type {MakeElement} */
export function element(tag, values, ...children) {
	const e = Object.assign(document.createElement(tag), values)
	e.append(...children)
	return e
}

const TILES = 'gps-tracks-tiles', LIST = 'gps-tracks-list'
const HANDOVER = 12 // of MapLibre's zoom: tiles below it, the list from it on
const WIDTHS = { halo: 6, line: 3, case: 9, top: 5 } // case and top: the highlighted track
const LAYERS = Object.entries(WIDTHS).flatMap(([kind, width]) => [TILES, LIST].map(source => ({ id: `${source}-${kind}`, source, kind, width })))

/** The layer. What people should know is in text, or in error. */
export class PublicTracksLayer extends EventTarget {
	text = ''
	error = ''
	#data = /** @type {List | object} */ ({ type: 'FeatureCollection', features: [] })
	#popup = /** @type {any} */ (null)
	#seen = /** @type {any} */ (null) // bounds that tiles were shown for
	#timer = /** @type {any} */ (0)
	#hot = -1
	#asked = false
	#satellite = false
	#abort = new AbortController()
	#end = new AbortController()

	/** @param {Options} o */
	constructor(o) {
		super()
		this.o = o
		this.map = /** @type {MapLike} */ (o.map)
		this.base = new URL(o.baseURL ?? '/api/gps-tracks', document.baseURI).href
		this.key = `${o.storageKey ?? 'gps-tracks'}.v1`
		this.sources = o.sources ?? []
		this.#asked = !!o.sources
		this.state = this.#read()
		this.handlers = Object.entries(/** @type {Handlers} */ ({
			'style.load': () => this.#attach(),
			styledata: () => this.#satellite !== !!o.isSatellite?.() && this.#draw(),
			movestart: () => { this.#abort.abort(); this.error = '' },
			moveend: () => this.#moved(),
			click: e => this.#open(e.point, e.lngLat, e.originalEvent?.pointerType === 'touch' ? 14 : 6),
		}))
		for (const h of this.handlers) this.map.on(...h)
		addEventListener('hashchange', () => this.setState(this.#address()), this.#end)
		this.#attach()
		this.#later()
	}

	/** Changes part of the state. @param {Partial<State> | null} change */
	setState(change) {
		const was = this.state
		const s = this.state = valid(change, was)
		if (toText(s) === toText(was)) return
		try {
			(this.o.storage ?? localStorage).setItem(this.key, JSON.stringify(s))
		} catch { /* full or forbidden */ }
		const key = this.o.urlKey
		if (key) history.replaceState(history.state, '', '#' + [...this.#hash().filter(p => !p.startsWith(key + '=')), `${key}=${toText(s)}`].join('&'))
		this.#attach()
		if (toText({ ...s, by: was.by, opacity: was.opacity }) !== toText(was)) this.#later()
		this.#tell('change')
	}

	/** What colours mean. @param {'activity' | 'source'} by */
	colors(by) {
		const own = by === 'source' ? this.o.sourceColors : this.o.activityColors
		return (by === 'source' ? this.sources : ACTIVITIES).map((name, i) => [name, own?.[name] ?? PALETTE[i % 8]])
	}

	/** Asks again after an error. */
	retry() {
		this.error = ''
		this.#detach()
		this.#attach()
		this.#load()
	}

	/** Opens a popup of what is near the centre; false if there is nothing. */
	showCentre() {
		const c = this.map.getCenter()
		return this.#open(this.map.project(c), c, 40)
	}

	/** Takes the layer off the map for good. */
	destroy() {
		this.#end.abort()
		for (const h of this.handlers) this.map.off(...h)
		this.state = { ...this.state, on: false }
		this.#attach()
	}

	/** @param {string} what @param {any} [detail] */
	#tell = (what, detail) => this.dispatchEvent(new CustomEvent(what, { detail }))

	#hash = () => location.hash.slice(1).split('&').filter(Boolean)

	#address() {
		const mine = this.#hash().map(p => p.split('=')).find(p => p[0] === this.o.urlKey)
		return mine ? fromText(mine[1] ?? '') : null
	}

	#read() {
		let kept
		try {
			kept = JSON.parse((this.o.storage ?? localStorage).getItem(this.key) ?? '')
		} catch { /* nothing that can be used */ }
		return this.#address() ?? valid(kept)
	}

	// Brings the map to the state: after a change, and for every new style.
	#attach() {
		const { map } = this
		const { on } = this.state
		if (!on) {
			clearTimeout(this.#timer)
			this.#abort.abort()
			this.#popup?.remove()
			this.error = this.text = ''
		}
		if (!map.getStyle()) return
		if (!on) return this.#detach()
		if (!map.getSource(TILES)) {
			map.addSource(TILES, { type: 'vector', tiles: [this.base + '/tiles/{z}/{x}/{y}.mvt'], maxzoom: HANDOVER - 1 })
			map.addSource(LIST, { type: 'geojson', data: this.#data })
			map.getSource(TILES).on('error', (/** @type {any} */ e) => this.#fail(e.error))
			for (const { id, source, width } of LAYERS) {
				map.addLayer({
					id, source, type: 'line', layout: { 'line-join': 'round', 'line-cap': 'round' },
					paint: { 'line-width': ['interpolate', ['linear'], ['zoom'], 6, width / 2, HANDOVER, width], 'line-color': '#fff' },
					...(source === TILES ? { 'source-layer': 'gps_tracks', maxzoom: HANDOVER } : { minzoom: HANDOVER }),
				}, map.getLayer(this.o.beforeId) && this.o.beforeId)
			}
		}
		this.#draw()
		this.#ask()
	}

	#detach() {
		for (const { id } of LAYERS) this.map.getLayer(id) && this.map.removeLayer(id)
		for (const id of [TILES, LIST]) this.map.getSource(id) && this.map.removeSource(id)
	}

	#draw() {
		const { map } = this
		const { by, opacity } = this.state
		const satellite = this.#satellite = !!this.o.isSatellite?.()
		const pairs = this.colors(by).flat()
		const color = pairs[0] ? ['match', ['get', by], ...pairs, PALETTE[7]] : PALETTE[7]
		const shown = filter(this.state, since(this.state))
		for (const { id, kind } of LAYERS) {
			if (!map.getLayer(id)) return
			const hot = kind === 'case' || kind === 'top'
			map.setFilter(id, hot ? [...shown, ['==', ['get', 'id'], this.#hot]] : shown)
			map.setPaintProperty(id, 'line-opacity', hot ? 1 : opacity)
			if (kind === 'halo') map.setLayoutProperty(id, 'visibility', satellite ? 'visible' : 'none')
			else map.setPaintProperty(id, 'line-color', kind !== 'case' ? color : satellite ? '#fff' : '#000')
		}
	}

	// Asks health for the names of the sources, once.
	async #ask() {
		if (this.#asked) return
		this.#asked = true
		try {
			const { sources } = await (await this.#fetch('/health', this.#end.signal)).json()
			this.#meet(sources.map((/** @type {any} */ s) => ({ properties: { source: s.name } })))
		} catch { /* those that are seen are known too */ }
	}

	/** Learns the names of sources. @param {Feature[]} features */
	#meet(features) {
		const fresh = [...new Set(features.map(f => f.properties.source))].filter(n => n && !this.sources.includes(n))
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
		const { map, state } = this
		this.#abort.abort()
		const zoom = map.getZoom()
		const query = listQuery(state, this.sources, map.getBounds().toArray().flat(), zoom)
		if (zoom < HANDOVER || !query) {
			this.#tilesTo(zoom < HANDOVER ? 24 : HANDOVER)
			return this.error || this.#done({ mode: query ? 'tiles' : 'none', shown: 0, truncated: false })
		}
		const { signal } = this.#abort = new AbortController()
		try {
			const answer = await this.#fetch(`?${query}`, signal)
			if (!answer.ok) throw new Error(`the server answered ${answer.status}`)
			const list = /** @type {List} */ (await answer.json())
			if (signal.aborted) return
			this.#data = list
			map.getSource(LIST)?.setData(list)
			this.#tilesTo(HANDOVER)
			this.#meet(list.features)
			const day = since(state)
			this.error = ''
			this.#done({
				mode: 'list', truncated: list.truncated, total: day ? undefined : list.numberMatched,
				shown: list.features.filter(f => (f.properties.recorded_on ?? '') >= day).length,
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
		for (const { id, source } of LAYERS) source === TILES && this.map.getLayer(id) && this.map.setLayerZoomRange(id, 0, zoom)
	}

	/** @param {{ x: number, y: number }} at @param {any} lngLat @param {number} near pixels */
	#open({ x, y }, lngLat, near) {
		const layers = LAYERS.filter(l => l.kind === 'line' && this.map.getLayer(l.id)).map(l => l.id)
		const hits = layers[0] ? [0, near].flatMap(r => this.map.queryRenderedFeatures([[x - r, y - r], [x + r, y + r]], { layers })) : []
		const tracks = [...new Map(hits.map(f => [f.properties.id, f.properties])).values()]
		const n = tracks.length
		this.#popup?.remove()
		if (!n) return false
		const box = element('section', { className: 'gps-tracks-popup', tabIndex: 0, ariaLabel: n > 1 ? `${n} tracks here` : 'Track' })
		for (const t of tracks.slice(0, 8)) {
			const show = () => this.#highlight(t.id)
			const item = element('article', { onpointerenter: show }, element('h3', {}, t.name || 'Track without a name'),
				element('p', {}, [t.activity, distance(t.length_m), t.recorded_on, t.source].filter(Boolean).join(' · ')))
			item.addEventListener('focusin', show)
			if (/^https?:/.test(t.url ?? '')) item.append(element('a', { href: t.url, target: '_blank', rel: 'noopener noreferrer' }, 'Open at its source'))
			item.append(element('p', {}, t.attribution ?? ''))
			box.append(item)
		}
		if (n > 8) box.append(`and ${n - 8} more`)
		const popup = this.#popup = new this.o.Popup().setLngLat(lngLat).setDOMContent(box).addTo(this.map)
		popup.on('close', () => this.#popup === popup && this.#highlight(-1))
		this.#highlight(tracks[0].id)
		return true
	}

	/** Brings a track to the front. @param {number} id */
	#highlight(id) {
		this.#hot = id
		this.#draw()
	}
}
