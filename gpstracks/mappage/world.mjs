// Makes page/world.json.gz of Natural Earth, which is in the public domain: land and borders (1:50 million) as npm's
// world-atlas has them, and cities (1:110 million) as Debian's python3-geopandas has them. node world.mjs
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'

const dir = mkdtempSync(join(tmpdir(), 'world-'))
const run = (/** @type {string} */ command, /** @type {string[]} */ ...args) => execFileSync(command, args, { cwd: dir })
run('npm', 'install', '--silent', '--no-audit', '--no-fund', '--prefix', dir, 'world-atlas@2.0.2', 'topojson-client@3.1.0')
run('curl', '-fsSLo', 'cities.deb', 'http://deb.debian.org/debian/pool/main/p/python-geopandas/python3-geopandas_0.12.2-1_all.deb')
run('dpkg-deb', '-x', 'cities.deb', 'cities')
const { feature, mesh } = createRequire(join(dir, 'x.js'))('topojson-client')
const atlas = JSON.parse(readFileSync(join(dir, 'node_modules/world-atlas/countries-50m.json'), 'utf8'))

/** Coordinates to a kilometre, each place once. @param {any} c @returns {any} */
const round = c => (typeof c[0] === 'number' ? c.map((/** @type {number} */ v) => Math.round(v * 100) / 100)
	: c.map(round).filter((/** @type {any} */ p, /** @type {number} */ i, /** @type {any} */ all) => !i || `${p}` !== `${all[i - 1]}`))

/** A line that goes on beyond 180 degrees where it crosses the antimeridian, and a ring round a pole goes over it. @param {any} c @returns {any} */
function unwrap(c) {
	if (typeof c[0][0] !== 'number') return c.map(unwrap)
	let turn = 0
	const out = c.map((/** @type {number[]} */ [x, y], /** @type {number} */ i) => {
		if (i && Math.abs(x - c[i - 1][0]) > 180) turn += x < 0 ? 360 : -360
		return [x + turn, y]
	})
	if (turn && `${c[0]}` === `${c[c.length - 1]}`) out.push([out[out.length - 1][0], -90], [out[0][0], -90], out[0])
	return out
}

const of = (/** @type {string} */ kind, /** @type {any} */ geometry, more = {}) => ({ type: 'Feature', properties: { kind, ...more }, geometry: { ...geometry, coordinates: geometry.type === 'Point' ? round(geometry.coordinates) : round(unwrap(geometry.coordinates)) } })

// A shapefile of points, and the two columns of its table that are wanted.
const base = join(dir, 'cities/usr/lib/python3/dist-packages/geopandas/datasets/naturalearth_cities/naturalearth_cities')
const [shp, dbf] = [readFileSync(base + '.shp'), readFileSync(base + '.dbf')]
const [head, size] = [dbf.readUInt16LE(8), dbf.readUInt16LE(10)]
const cities = Array.from({ length: dbf.readUInt32LE(4) }, (_, i) => {
	const name = dbf.subarray(head + i * size + 1, head + (i + 1) * size).toString('latin1').trim().replace('Chi?in?u', 'Chișinău')
	const at = 100 + i * 28 + 12
	return of('city', { type: 'Point', coordinates: [shp.readDoubleLE(at), shp.readDoubleLE(at + 8)] }, { name, rank: -i }) // the greatest are the last
})
const countries = feature(atlas, atlas.objects.countries).features // one polygon of a continent would not be filled well
const polygons = (/** @type {any} */ g) => (g.type === 'Polygon' ? [g.coordinates] : g.coordinates)
const world = { type: 'FeatureCollection', features: [
	...countries.flatMap((/** @type {any} */ c) => polygons(c.geometry).map((/** @type {any} */ rings) => of('land', { type: 'Polygon', coordinates: rings })))
		.filter((/** @type {any} */ f) => f.geometry.coordinates[0].length > 3),
	of('coast', mesh(atlas, atlas.objects.countries, (/** @type {any} */ a, /** @type {any} */ b) => a === b)),
	of('border', mesh(atlas, atlas.objects.countries, (/** @type {any} */ a, /** @type {any} */ b) => a !== b)), ...cities,
] }
writeFileSync(new URL('page/world.json.gz', import.meta.url), gzipSync(JSON.stringify(world), { level: 9 }))
