// The popup of tracks: what is known of each, and its line, ends, slope and profile on the map; or two side by side.
import { compare } from './compare.js'
import { describe, link } from './details.js'
import { CHOSEN, SPOT, chosen, spot } from './layers.js'
import { drawProfile, nearest, path, place, slopes } from './profile.js'
import { button, distance, element } from './words.js'

/** One popup at a time. */
export class TrackPopup {
	#popup = /** @type {any} */ (null)
	#profile = /** @type {any} */ (null) // of the track that is described: its id, path and cursor
	#shown = /** @type {any[]} */ ([]) // it, or two that are compared, as tracks/{id} has them
	#first = /** @type {any} */ (null) // a track that is to be compared with what is chosen next
	#gradient = /** @type {any} */ (null) // the colours of its slope, if they are shown

	/** @param {import('./gpstracks.js').PublicTracksLayer} layer */
	constructor(layer) {
		this.layer = layer
		this.map = layer.map
	}

	isOpen() {
		return !!this.#popup?.isOpen?.()
	}

	close() {
		this.#popup?.remove()
	}

	/** Puts the cursor of the profile where the pointer is. @param {number} [id] of the track under it @param {{ lng: number, lat: number }} [at] */
	follow(id, at) {
		const p = this.#profile
		if (!p) return
		const along = at && id === p.id ? nearest(p.points, [at.lng, at.lat]) : null
		p.cursor(along)
		this.#mark(along)
	}

	/** Moves the map to boxes, of what is shown, and leaves free what a popup covers from below on a narrow map. */
	fit(boxes = this.#shown.map(t => t.bbox)) {
		const { width, height } = this.#popup?.getElement().getBoundingClientRect() ?? {}
		const bottom = 60 + (width === this.map.getContainer().clientWidth ? height : 0)
		const [west, south, east, north] = [0, 1, 2, 3].map(i => (i < 2 ? Math.min : Math.max)(...boxes.map(b => b[i])))
		this.map.fitBounds([west, south, east, north], { padding: { top: 60, left: 60, right: 60, bottom }, maxZoom: 15, animate: false })
	}

	/** @param {any[]} tracks @param {any} lngLat @param {any} [whole] the only one as tracks/{id} has it, if that is known */
	async show(tracks, lngLat, whole) {
		const first = this.#first
		const other = first && tracks.find(t => t.id !== first.id)
		this.close()
		if (other) whole ??= await this.layer.track(other.id)
		if (other) return whole && this.#compare([first, whole], lngLat)
		const n = tracks.length
		const [popup, box] = this.#make(lngLat, n > 1 ? `${n} tracks here` : 'Track')
		for (const t of tracks.slice(0, 8)) {
			const show = () => this.layer.highlight(t.id)
			/** @type {any} */
			const item = element('article', { onpointerenter: show }, element('h3', {}, t.name || 'Track without a name'),
				element('p', {}, [t.activity, distance(t.length_m), t.recorded_on, t.source].filter(Boolean).join(' · ')))
			item.addEventListener('focusin', show)
			item.append(...link(t.url ?? '', 'Open at its source'), element('p', {}, t.attribution ?? ''))
			const more = () => this.#describe(popup, t.id, item, whole)
			if (n === 1) more()
			else item.append(button('Details', (/** @type {any} */ e) => { e.target.remove(); more() }))
			box.append(item)
		}
		if (n > 8) box.append(`and ${n - 8} more`)
		popup.addTo(this.map)
		this.layer.highlight(tracks[0].id)
	}

	/** @param {any} lngLat @param {string} ariaLabel @returns {any[]} a popup, and the box of what it says */
	#make(lngLat, ariaLabel) {
		const box = element('section', { className: 'gps-tracks-popup', tabIndex: 0, ariaLabel })
		const popup = this.#popup = new this.layer.o.Popup({ className: 'gps-tracks-box' }).setLngLat(lngLat).setDOMContent(box)
		popup.on('close', () => this.#popup === popup && this.#forget())
		return [popup, box]
	}

	/** @param {any[]} tracks two @param {any} lngLat */
	#compare(tracks, lngLat) {
		this.close()
		const [popup, box] = this.#make(lngLat, 'Two tracks')
		box.append(...compare(tracks))
		popup.setMaxWidth('340px').addTo(this.map)
		this.#shown = tracks
		this.draw()
		this.fit()
	}

	/** Takes a track to be compared with the next, or no more. @param {any} pressed @param {any} track */
	#pick(pressed, track) {
		if (this.#first && this.#first !== track) return this.#compare([this.#first, track], this.#popup.getLngLat())
		this.#first = this.#first ? null : track
		pressed.textContent = this.#first ? 'Choose the other track' : 'Compare'
	}

	/** Puts the line on the map, which has lost it after a new style. */
	draw() {
		const { map } = this
		if (!map.getLayer(CHOSEN)) return
		map.getSource(CHOSEN).setData(chosen(this.#shown.map(t => t.geometry)))
		map.setPaintProperty(CHOSEN, 'line-gradient', this.#gradient ?? undefined)
		map.setLayoutProperty(CHOSEN, 'visibility', this.#gradient || this.#shown[1] ? 'visible' : 'none')
	}

	#forget() {
		this.#popup = this.#profile = this.#gradient = this.#first = null
		this.#shown = []
		this.draw()
		this.#mark(null)
		this.layer.highlight(-1)
	}

	/** Adds what else is known of a track. @param {any} popup @param {number} id @param {Element} item @param {any} track if it is read */
	async #describe(popup, id, item, track) {
		try {
			track ??= await this.layer.track(id)
			if (!track || this.#popup !== popup) return
			const { profile } = track.properties
			const drawn = profile?.length > 1 ? drawProfile([profile], along => this.#mark(along)) : null
			this.#shown = [track]
			this.#gradient = null
			this.draw()
			item.append(...describe(track, this.layer.base, drawn))
			const share = this.layer.o.share?.(id)
			if (share) item.append(button('Share', (/** @type {any} */ e) => hand(e.target, share)))
			item.append(button('Compare', (/** @type {any} */ e) => this.#pick(e.target, track)))
			if (!drawn) return
			const slope = (/** @type {any} */ e) => this.#slope(e.target, track)
			if (track.geometry.type === 'LineString') item.append(button('Slope', slope, { ariaPressed: 'false' }))
			this.#profile = { id, points: path(track.geometry), cursor: drawn.cursor }
		} catch { /* what the tile says is there */ }
	}

	/** Colours the line of a track by its slope, or no more. @param {any} pressed @param {any} track */
	#slope(pressed, track) {
		const on = pressed.ariaPressed !== 'true'
		pressed.ariaPressed = `${on}`
		this.#shown = [track]
		this.#gradient = on ? slopes(track.properties.profile) : null
		this.draw()
	}

	/** Shows where the cursor of the profile is. @param {number | null} along */
	#mark(along) {
		this.map.getSource(SPOT)?.setData(along === null || !this.#profile ? spot() : spot(place(this.#profile.points, along)))
	}
}

/** Hands an address on: to the system, to the clipboard, or in a field to copy it from. @param {any} pressed @param {string} url */
async function hand(pressed, url) {
	try {
		const system = 'share' in navigator
		if (system) return await navigator.share({ url })
		await navigator.clipboard.writeText(url) // a page without encryption has no clipboard
		pressed.textContent = 'Copied'
	} catch (/** @type {any} */ e) {
		if (e.name === 'AbortError') return // the person has given it up
		const field = element('input', { readOnly: true, value: url })
		pressed.replaceWith(element('label', {}, 'Copy this address ', field))
		field.focus()
		field.select()
	}
}
