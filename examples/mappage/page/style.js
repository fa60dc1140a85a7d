// Two bases that need no tiles: a plan, and what passes for imagery.

/**
 * A style of patches and a graticule, always the same ones.
 * @param {string} ground @param {string[]} patches @param {string} lines
 */
function base(ground, patches, lines) {
	const features = []
	let n = 7
	const chance = () => (n = (n * 16807) % 2147483647) / 2147483647
	for (let i = 0; i < 400; i++) {
		const [x, y, r] = [5.5 + chance() * 9, 44.3 + chance() * 4, 0.03 + chance() * 0.15]
		const ring = Array.from({ length: 7 }, (_, k) => [x + r * (0.6 + chance() * 0.4) * Math.cos(k * 0.9), y + 0.7 * r * Math.sin(k * 0.9)])
		features.push({ type: 'Feature', properties: { tint: patches[i % patches.length] }, geometry: { type: 'Polygon', coordinates: [[...ring, ring[0]]] } })
	}
	for (let d = -180; d <= 180; d++) {
		features.push({ type: 'Feature', properties: {}, geometry: { type: 'LineString', coordinates: [[d, -85], [d, 85]] } })
		if (Math.abs(d) < 86) features.push({ type: 'Feature', properties: {}, geometry: { type: 'LineString', coordinates: [[-180, d], [180, d]] } })
	}
	return {
		version: 8,
		sources: { base: { type: 'geojson', data: { type: 'FeatureCollection', features } } },
		layers: [
			{ id: 'ground', type: 'background', paint: { 'background-color': ground } },
			{ id: 'patches', type: 'fill', source: 'base', filter: ['has', 'tint'], paint: { 'fill-color': ['get', 'tint'] } },
			{ id: 'graticule', type: 'line', source: 'base', filter: ['!', ['has', 'tint']], paint: { 'line-color': lines } },
		],
	}
}

export const styles = {
	plan: base('#f2f1ea', ['#e3eadb', '#e9ecdf', '#dfe9ea'], '#d5d5cc'),
	satellite: base('#2f3b28', ['#3b4a2e', '#27331f', '#4a4a38', '#31402f'], '#3a4534'),
}
