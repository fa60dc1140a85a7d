// Public GPS tracks as a layer of a MapLibre map that the page gives. types.d.ts
// describes options, state and events.
/** @import { Counts, Feature, Handlers, List, MapLike, Options, Shown, State } from './types.d.ts' */
import { DENSITY_ZOOM, count, heat, weight } from './density.js'
import { HANDOVER, HEAT, LAYERS, LIST, NAMES, TILES, addLayers, removeLayers } from './layers.js'
import { TrackPopup } from './popup.js'
import { ACTIVITIES, PALETTE, below, filter, fromText, listQuery, since, summary, toText, valid } from './state.js'

export * from './state.js'

/** The layer. What people should know is in text, or in error. */
export class PublicTracksLayer extends EventTarget {
	text = ''
	error = ''
	counts = /** @type {Counts} */ ({ activity: {}, source: {} }) // of tracks in the view
	#data = /** @type {List | object} */ ({ type: 'FeatureCollection', features: [] })
	#seen = /** @type {any} */ (null) // bounds that tiles were shown for
	#timer = /** @type {any} */ (0)
	#hot = -1
	#named = false
	#info = /** @type {any} */ (null) // TileJSON
	#tip = /** @type {any} */ (null)
	#satellite = false
	#abort = new AbortController()
	#end = new AbortController()

	/** @param {Options} o */
	constructor(o) {
		super()
		this.o = o
		this.map = /** @type {MapLike} */ (o.map)
		this.base = new URL(o.baseURL ?? '/api/gps-tracks', document.baseURI).href
		this.popup = new TrackPopup(this)
		this.key = `${o.storageKey ?? 'gps-tracks'}.v1`
		this.sources = o.sources ?? []
		this.#named = !!o.sources
		this.state = this.#kept()
		this.handlers = Object.entries(/** @type {Handlers} */ ({
			'style.load': () => this.#attach(),
			styledata: () => this.#satellite !== !!o.isSatellite?.() && this.#draw(),
			movestart: () => { this.#abort.abort(); this.error = '' },
			moveend: () => this.#moved(),
			idle: () => this.#count(),
			mousemove: e => this.#hover(e),
			mouseout: () => this.#hover(null),
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
		this.#emit('change')
	}

	/** What colours mean. @param {'activity' | 'source'} by */
	colors(by) {
		const own = by === 'source' ? this.o.sourceColors : this.o.activityColors
		return (by === 'source' ? this.sources : ACTIVITIES).map((name, i) => [name, own?.[name] ?? PALETTE[i % 8]])
	}

	/** Loads again after an error. */
	retry() {
		this.error = ''
		removeLayers(this.map)
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
	#emit = (what, detail) => this.dispatchEvent(new CustomEvent(what, { detail }))

	#hash = () => location.hash.slice(1).split('&').filter(Boolean)

	#address() {
		const mine = this.#hash().map(p => p.split('=')).find(p => p[0] === this.o.urlKey)
		return mine ? fromText(mine[1] ?? '') : null
	}

	#kept() {
		let kept
		try {
			kept = JSON.parse((this.o.storage ?? localStorage).getItem(this.key) ?? '')
		} catch { /* nothing that can be used */ }
		return this.#address() ?? valid(kept, valid(this.o.initial))
	}

	// Brings the map to the state: after a change, and for every new style.
	#attach() {
		const { map } = this
		const { on } = this.state
		if (!on) {
			clearTimeout(this.#timer)
			this.#abort.abort()
			this.popup.close()
			this.error = this.text = ''
		}
		if (!map.getStyle()) return
		if (!on) return removeLayers(map)
		if (!this.#info) return this.#inform()
		if (!map.getSource(TILES)) {
			addLayers(map, this.o, this.base, this.#info.attribution, this.#data)
			map.getSource(TILES).on('error', (/** @type {any} */ e) => this.#fail(e.error))
			this.popup.draw()
		}
		this.#draw()
		this.#readSources()
	}

	#draw() {
		const { map } = this
		const { by, opacity } = this.state
		const satellite = this.#satellite = !!this.o.isSatellite?.()
		const pairs = this.colors(by).flat()
		const color = pairs[0] ? ['match', ['get', by], ...pairs, PALETTE[7]] : PALETTE[7]
		const shown = filter(this.state, since(this.state))
		if (map.getLayer(HEAT)) { // cells have no days
			for (const [name, value] of Object.entries(heat(weight(this.state, ACTIVITIES, this.sources)))) map.setPaintProperty(HEAT, name, value)
			map.setLayoutProperty(HEAT, 'visibility', this.state.years ? 'none' : 'visible')
		}
		if (map.getLayer(NAMES)) map.setFilter(NAMES, shown)
		for (const { id, kind } of LAYERS) {
			if (!map.getLayer(id)) return
			const hot = kind === 'case' || kind === 'top'
			map.setFilter(id, hot ? [...shown, ['==', ['get', 'id'], this.#hot]] : shown)
			map.setPaintProperty(id, 'line-opacity', hot ? 1 : ['interpolate', ['linear'], ['zoom'], 4, opacity / 4, 8, opacity])
			if (kind === 'halo') map.setLayoutProperty(id, 'visibility', satellite ? 'visible' : 'none')
			else map.setPaintProperty(id, 'line-color', kind !== 'case' ? color : satellite ? '#fff' : '#000')
		}
	}

	// Reads the names that the tracks' licences require, before any of them is shown.
	async #inform() {
		this.#info = {}
		try {
			this.#info = await this.#read('/tiles.json')
			this.#attach()
			if (!this.#info.center) this.#later()
		} catch (e) {
			this.#info = null
			if (!this.#end.signal.aborted) this.#fail(e)
		}
	}

	// Counts what is in the view, for the boxes of the filters.
	#count() {
		const { map } = this
		if (!map.getSource(TILES)) return
		const zoom = map.getZoom()
		const features = zoom < HANDOVER
			? map.querySourceFeatures(TILES, { sourceLayer: zoom < DENSITY_ZOOM + 1 ? 'gps_density' : 'gps_tracks' })
			: /** @type {any} */ (this.#data).features
		const counts = count(features, map.getBounds())
		this.#emit('view')
		if (JSON.stringify(counts) === JSON.stringify(this.counts)) return
		this.counts = counts
		this.#emit('change')
	}

	/** Shows what the pointer is on. @param {any} e */
	#hover(e) {
		const t = e && this.state.on ? this.#near(e.point, 4)[0] : null
		this.popup.follow(t?.id, e?.lngLat)
		if (!this.popup.isOpen()) this.highlight(t?.id ?? -1)
		const canvas = this.map.getCanvas()
		if (t || this.#tip) canvas.style.cursor = t ? 'pointer' : ''
		if (!t) {
			this.#tip?.remove()
			this.#tip = null
			return
		}
		this.#tip ??= new this.o.Popup({ closeButton: false, closeOnClick: true, className: 'gps-tracks-box gps-tracks-tip' })
		this.#tip.setLngLat(e.lngLat).setText(t.name || t.activity).addTo(this.map)
	}

	// Reads the names of the sources from health, once.
	async #readSources() {
		if (this.#named) return
		this.#named = true
		try {
			const { sources } = await this.#read('/health')
			this.#addSources(sources.map((/** @type {any} */ s) => ({ properties: { source: s.name } })))
		} catch { /* those that come with tracks are there too */ }
	}

	/** Adds sources that are new. @param {Feature[]} features */
	#addSources(features) {
		const fresh = [...new Set(features.map(f => f.properties.source))].filter(n => n && !this.sources.includes(n))
		if (this.o.sources || !fresh.length) return
		this.sources = [...this.sources, ...fresh]
		this.#draw()
		this.#emit('change')
	}

	/** @param {string} path @param {AbortSignal} [signal] @param {URLSearchParams} [query] */
	async #read(path, signal = this.#end.signal, query = undefined) {
		const answer = await (this.o.fetch ?? fetch)(below(this.base, path, query), { signal })
		if (!answer.ok) throw new Error(`the server answered ${answer.status}`)
		return answer.json()
	}

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
			return this.error || this.#done({ mode: !query ? 'none' : this.#info?.tiles && !this.#info.center ? 'empty' : 'tiles', shown: 0, truncated: false })
		}
		const { signal } = this.#abort = new AbortController()
		try {
			const list = /** @type {List} */ (await this.#read('', signal, query))
			if (signal.aborted) return
			this.#data = list
			map.getSource(LIST)?.setData(list)
			this.#tilesTo(HANDOVER)
			this.#addSources(list.features)
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
		this.#emit('loaded', is)
	}

	/** @param {any} e */
	#fail(e) {
		this.error = 'Tracks could not be loaded'
		this.#emit('error', e)
	}

	/** @param {number} zoom where tiles end */
	#tilesTo(zoom) {
		for (const { id, source } of LAYERS) source === TILES && this.map.getLayer(id) && this.map.setLayerZoomRange(id, 0, zoom)
	}

	/** @param {{ x: number, y: number }} at @param {any} lngLat @param {number} near pixels */
	#open(at, lngLat, near) {
		const tracks = this.#near(at, near)
		if (!tracks.length) {
			this.popup.close()
			if (this.state.on && this.map.getZoom() < HANDOVER) this.#here(lngLat)
			return false
		}
		this.#hover(null)
		this.popup.show(tracks, lngLat)
		return true
	}

	/** Shows what passes a place and is not drawn: tiles of crowded places leave tracks out. @param {any} lngLat */
	async #here(lngLat) {
		const query = listQuery(this.state, this.sources, [], this.map.getZoom())
		if (!query) return
		query.delete('bbox')
		query.set('at', `${lngLat.lng.toFixed(5)},${lngLat.lat.toFixed(5)}`)
		query.set('limit', '9')
		try {
			const tracks = (await this.#read('', undefined, query)).features.map((/** @type {Feature} */ f) => f.properties)
			if (tracks.length) this.popup.show(tracks, lngLat)
		} catch { /* nothing is shown */ }
	}

	/** The tracks that are drawn near a point, the exact ones first. @param {{ x: number, y: number }} at @param {number} near pixels */
	#near({ x, y }, near) {
		return this.#drawn([[x, y], [x, y]], [[x - near, y - near], [x + near, y + near]])
	}

	/** Properties of the tracks that are drawn in boxes of pixels. @param {any[]} boxes undefined is the view @returns {any[]} */
	#drawn(...boxes) {
		const layers = LAYERS.filter(l => l.kind === 'line' && this.map.getLayer(l.id)).map(l => l.id)
		const hits = layers[0] ? boxes.flatMap(box => this.map.queryRenderedFeatures(box, { layers })) : []
		return [...new Map(hits.map(f => [f.properties.id, f.properties])).values()]
	}

	/** Reads a track. @param {number} id @returns {Promise<any>} null if there is none */
	track(id) {
		return this.#read(`/tracks/${id}`).catch(() => null)
	}

	/** Opens the popup of a track wherever it is, and moves the map there: false if there is none. @param {number} id */
	async select(id) {
		const track = await this.track(id)
		if (!track) return false
		this.popup.fit([track.bbox])
		const line = track.geometry.type === 'LineString' ? track.geometry.coordinates : track.geometry.coordinates[0]
		this.popup.show([track.properties], line[line.length >> 1], track)
		this.popup.fit()
		return true
	}

	/** Brings a track to the front; none with -1. @param {number} id */
	highlight(id) {
		if (id === this.#hot) return
		this.#hot = id
		this.#draw()
		this.#emit('hot', id)
	}

	/** The tracks that are drawn in the view, the longest first. @returns {any[]} their properties */
	inView() {
		return this.#drawn(undefined).sort((a, b) => b.length_m - a.length_m || a.id - b.id)
	}
}
