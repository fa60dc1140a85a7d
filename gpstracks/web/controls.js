// The controls of the layer, for the terrain popup of the page.
import { button, distance, element } from './words.js'

/** @param {any[]} parts */
const label = (...parts) => element('label', {}, ...parts)

/** @param {[string, string?][]} options words and values @param {() => void} onchange */
const choice = (options, onchange) => element('select', { onchange }, ...options.map(o => new Option(...o)))

/**
 * Puts the controls into an element: the checkbox, and what there is to choose
 * while the layer is on. The answer takes them away.
 * @param {import('./gpstracks.js').PublicTracksLayer} layer
 * @param {Element} into
 */
export function mountControls(layer, into) {
	const end = new AbortController()
	const on = element('input', { type: 'checkbox', onchange: () => layer.setState({ on: on.checked }) })
	const by = choice([['activity'], ['source']], () => layer.setState({ by: by.value }))
	const years = choice([['any', '0'], ['1 year', '1'], ['2 years', '2'], ['5 years', '5']], () => layer.setState({ years: +years.value }))
	const opacity = element('input', { type: 'range', min: 0.1, max: 1, step: 0.1, oninput: () => layer.setState({ opacity: +opacity.value }) })
	const activities = element('fieldset', {}, element('legend', {}, 'Activities'))
	const sources = element('fieldset', {}, element('legend', {}, 'Sources'))
	const centre = button('Tracks at the centre', () => layer.showCentre() || (text.textContent = 'No track at the centre'))
	const wanted = element('input', { type: 'search', placeholder: 'part of a name', oninput: () => list() })
	const seen = element('ol', {})
	const view = element('details', { ontoggle: () => list() }, element('summary', {}, 'In view'), label('Name ', wanted), seen)
	const more = element('div', {}, view, label('Colours by ', by), activities, sources, label('Opacity ', opacity), label('Age up to ', years), centre)
	const text = element('span', { role: 'status' })
	const again = button('Try again', () => layer.retry())
	const all = element('div', { className: 'gps-tracks' }, label(on, 'Public tracks'), element('p', {}, text, ' ', again), more)

	// The boxes of a filter; their swatches are the legend.
	/** @param {any} box @param {'activity' | 'source'} kind @param {'noActivity' | 'noSource'} key */
	function boxes(box, kind, key) {
		for (const [i, [name, color]] of layer.colors(kind).entries()) {
			if (!box.children[i + 1]) {
				const input = element('input', { type: 'checkbox', onchange: () => {
					const others = layer.state[key].filter(n => n !== name)
					layer.setState({ [key]: input.checked ? others : [...others, name] })
				} })
				box.append(label(input, element('i', {}), name, element('small', {})))
			}
			const [input, swatch, number] = box.children[i + 1].children
			const n = layer.counts[kind][name]
			number.textContent = n ? n.toLocaleString('en') : ''
			input.checked = !layer.state[key].includes(name)
			swatch.style.background = color
			swatch.hidden = layer.state.by !== kind
		}
		box.hidden = !box.children[1]
	}

	let listed = ''

	// The tracks in the view; one under the pointer is marked here and on the map.
	function list() {
		if (!view.open) return
		const text = wanted.value.toLowerCase()
		const tracks = layer.inView().filter(t => `${t.name}`.toLowerCase().includes(text))
		const now = JSON.stringify(tracks.map(t => [t.id, t.name, t.length_m]))
		if (now === listed) return // an element keeps the focus and the pointer
		listed = now
		const cut = tracks.length > 100 ? [element('li', {}, `100 of ${tracks.length.toLocaleString('en')} shown: zoom in`)] : []
		seen.replaceChildren(...cut, ...tracks.slice(0, 100).map(t => {
			const one = button(`${t.name || t.activity} · ${distance(t.length_m)}`, () => layer.select(t.id))
			one.onpointerenter = one.onfocus = () => layer.highlight(t.id)
			one.onpointerleave = one.onblur = () => layer.highlight(-1)
			return element('li', { value: t.id }, one)
		}))
		if (!tracks.length) seen.append(element('li', {}, 'No track of this name is drawn here'))
	}

	function hot(/** @type {any} */ e) {
		for (const item of seen.children) item.className = item.value === e.detail ? 'hot' : ''
	}

	function tell() {
		const words = layer.error || layer.text
		if (text.textContent !== words) text.textContent = words
		again.hidden = !layer.error
	}

	function draw() {
		const s = layer.state
		on.checked = s.on
		more.hidden = !s.on
		by.value = s.by
		years.value = s.years
		opacity.value = s.opacity
		boxes(activities, 'activity', 'noActivity')
		boxes(sources, 'source', 'noSource')
		tell()
	}

	layer.addEventListener('view', list, end)
	layer.addEventListener('hot', hot, end)
	layer.addEventListener('change', draw, end)
	layer.addEventListener('loaded', tell, end)
	layer.addEventListener('error', tell, end)
	draw()
	into.append(all)
	return () => {
		end.abort()
		all.remove()
	}
}
