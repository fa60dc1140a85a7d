// The pure part of the layer.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { count, weight } from '../../../gpstracks/web/density.js'
import { fontOf } from '../../../gpstracks/web/layers.js'
import { height, nearest, path, place } from '../../../gpstracks/web/profile.js'
import { ACTIVITIES, INITIAL, PALETTE, below, distance, filter, fromText, listQuery, since, summary, toText, valid } from '../../../gpstracks/web/gpstracks.js'

test('the modules import nothing from elsewhere, and make no markup of text', () => {
  for (const name of ['compare.js', 'controls.js', 'density.js', 'details.js', 'gpstracks.js', 'layers.js', 'popup.js', 'profile.js', 'state.js', 'words.js']) {
    const code = readFileSync(new URL(`../../../gpstracks/web/${name}`, import.meta.url), 'utf8')
    assert.doesNotMatch(code.replace(/^import \{[^}]*\} from '\.\/[a-z]+\.js'$/gm, ''), /^import|\bimport\((?!')|innerHTML|insertAdjacent|\beval\(|\bFunction\(/m)
  }
})

test('a cursor of a profile is at a place of the track, and back', () => {
  const points = path({ type: 'MultiLineString', coordinates: [[[7, 0], [7.001, 0]], [[8, 0], [8.001, 0]]] })
  assert.deepEqual(points.map(p => Math.round(p.along)), [0, 111, 111, 222])
  assert.deepEqual(place(points, -5), [7, 0])
  assert.ok(Math.abs(place(points, 55.6)[0] - 7.0005) < 1e-6)
  assert.ok(Math.abs(place(points, 166.8)[0] - 8.0005) < 1e-6)
  assert.equal(nearest(points, [8.002, 0.1]), points[3].along)
  assert.equal(height([[0, 100], [100, 200], [200, 100]], 150), 150)
})

test('names are written with a font that the style has', () => {
  const style = (/** @type {any[]} */ ...fonts) => ({ glyphs: 'x', layers: [{}, ...fonts.map(f => ({ layout: { 'text-font': f } }))] })
  assert.deepEqual(fontOf({ layers: [] }), ['sans-serif'])
  assert.equal(fontOf(style()), undefined)
  assert.equal(fontOf(style(['get', 'font'], ['step', ['zoom'], ['literal', ['A']], 9, ['literal', ['B']]])), undefined)
  assert.deepEqual(fontOf(style(['get', 'font'], ['Noto Sans Regular', 'Arial'], ['Later'])), ['Noto Sans Regular', 'Arial'])
  assert.deepEqual(fontOf(style(['literal', ['Open Sans']])), ['Open Sans'])
})

test('anything can be stored; only what is valid is taken', () => {
  for (const junk of [null, undefined, 7, 'x', [], { on: 'yes', by: 'colour', opacity: 7, years: -1, noActivity: 'x', noSource: [1, null, '<b>', {}] }]) {
    assert.deepEqual({ ...valid(junk), noSource: [] }, { ...INITIAL, noSource: [] })
  }
  assert.deepEqual(valid({ noSource: ['<b>', 'a b', '', 'x'.repeat(65), 'osm'] }).noSource, ['osm'])
  const s = { on: true, by: /** @type {const} */ ('source'), opacity: 0.3, years: 2, noActivity: ['skiing'], noSource: ['a-b', 'c_d'] }
  assert.deepEqual(valid(s), s)
  assert.deepEqual(valid({ on: true }, { ...s, on: false }), s)
})

test('the state goes through an address and back', () => {
  for (const s of [INITIAL, valid({ on: true, by: 'source', opacity: 0.4, years: 5, noActivity: ['hiking', 'unknown'], noSource: ['my-club_2'] })]) {
    assert.deepEqual(fromText(toText(s)), s)
    assert.equal(encodeURI(toText(s)), toText(s))
  }
  assert.deepEqual(fromText('nonsense'), INITIAL)
})

test('the list is asked for what may pass, and not at all for nothing', () => {
  const ask = (/** @type {any} */ change, sources = ['osm', 'club']) => listQuery(valid(change), sources, [7, 46, 8.123456789, 47], 12.34)
  assert.equal(String(ask({})), 'bbox=7.00000%2C46.00000%2C8.12346%2C47.00000&zoom=12.3')
  assert.equal(ask({ noActivity: ['skiing', 'unknown'] })?.get('activity'), 'hiking,running,cycling,riding,boating,driving')
  assert.equal(ask({ noSource: ['osm', 'gone'] })?.get('source'), 'club')
  assert.equal(ask({ noSource: ['osm', 'club'] }), null)
  assert.equal(ask({ noActivity: ACTIVITIES }), null)
  assert.equal(ask({ noSource: ['osm'] }, [])?.get('source'), null, 'no source is known yet')
})

test('addresses below the API keep its query', () => {
  assert.equal(below('https://a.example/x/tracks', '/tiles/{z}/{x}/{y}.mvt'), 'https://a.example/x/tracks/tiles/{z}/{x}/{y}.mvt')
  assert.equal(below('https://a.example/tracks?key=K%26&v=1', '/tiles/{z}.mvt'), 'https://a.example/tracks/tiles/{z}.mvt?key=K%26&v=1')
  assert.equal(below('https://a.example/tracks/?key=K', '', new URLSearchParams({ bbox: '1,2', zoom: '3' })), 'https://a.example/tracks?key=K&bbox=1%2C2&zoom=3')
  assert.equal(below('https://a.example/?key=K', '/tracks/7'), 'https://a.example/tracks/7?key=K')
})

test('age is counted in years from today', () => {
  const now = new Date('2026-11-21T12:00:00Z')
  assert.equal(since(INITIAL), '')
  assert.equal(since({ ...INITIAL, years: 2 }, new Date(now)), '2024-11-21')
  assert.equal(JSON.stringify(filter({ ...INITIAL, years: 2 }, '2024-11-21')).includes('2024-11-21'), true)
})

test('what is shown is said in words', () => {
  const is = { mode: /** @type {const} */ ('list'), shown: 500, truncated: true }
  assert.equal(summary({ ...is, total: 2310 }), 'Showing 500 of 2,310: zoom in for more')
  assert.equal(summary(is), 'Showing 500, the longest: zoom in for more')
  assert.equal(summary({ ...is, shown: 1, truncated: false }), '1 track')
  assert.equal(summary({ ...is, shown: 1200, truncated: false }), '1,200 tracks')
  assert.equal(summary({ ...is, shown: 0, truncated: false }), 'No tracks here')
  assert.equal(summary({ mode: 'empty', shown: 0, truncated: false }), 'No tracks are collected yet')
  assert.equal(distance(999), '999 m')
  assert.equal(distance(12345), '12.3 km')
})

/** Linear light of a colour. @param {string} hex */
const light = hex => [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16) / 255).map(v => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))

/** Lab of linear light. @param {number[]} rgb */
function lab([r, g, b]) {
  const f = (/** @type {number} */ t) => (t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116)
  const x = f((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505)
  const y = f(0.2126 * r + 0.7152 * g + 0.0722 * b)
  const z = f((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089)
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)]
}

// Machado, Oliveira and Fernandes 2009, severity 1, for linear light.
const EYES = {
  all: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  'without red': [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  'without green': [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
  'without blue': [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}

test('colours differ for every kind of eye', () => {
  assert.equal(PALETTE.length, ACTIVITIES.length)
  for (const [eye, matrix] of Object.entries(EYES)) {
    const seen = PALETTE.map(c => lab(matrix.map(row => Math.max(0, Math.min(1, row.reduce((s, v, i) => s + v * light(c)[i], 0))))))
    for (let i = 0; i < seen.length; i++) {
      for (let j = 0; j < i; j++) {
        const apart = Math.hypot(...seen[i].map((v, k) => v - seen[j][k]))
        assert.ok(apart >= 9, `${PALETTE[i]} and ${PALETTE[j]} for eyes ${eye}: ${apart.toFixed(1)}`)
      }
    }
  }
})

test('the heat leaves out what is hidden, and only that', () => {
  assert.deepEqual(weight(INITIAL, ACTIVITIES, ['osm']), ['get', 'count'])
  assert.deepEqual(weight(valid({ noActivity: ['skiing'] }), ['hiking', 'skiing'], ['osm']), ['-', ['get', 'count'], ['coalesce', ['get', 'skiing/osm'], 0]])
  const all = /** @type {any} */ (weight)(valid({ noActivity: ['skiing'], noSource: ['club'] }), ['hiking', 'skiing'], ['osm', 'club'])
  assert.deepEqual(all[2].slice(1).map((/** @type {any} */ t) => t[1][1]), ['hiking/club', 'skiing/osm', 'skiing/club'])
})

test('tracks of a view are counted once, of cells and of lines', () => {
  const view = { contains: (/** @type {number[]} */ [x]) => x < 10 }
  const cell = (/** @type {number} */ x, /** @type {any} */ properties) => ({ properties, geometry: { type: 'Point', coordinates: [x, 0] } })
  const cells = [cell(1, { count: 9, activity: 'hiking', 'hiking/osm': 7, 'hiking/osm/starts': 3, 'skiing/club/starts': 2 }), cell(1, { count: 5, 'hiking/osm/starts': 3 }), cell(11, { count: 9, 'hiking/osm/starts': 9 }), cell(2, { count: 1, 'hiking/club': 1, 'hiking/club/starts': 1 })]
  assert.deepEqual(count(/** @type {any} */ (cells), view), { activity: { hiking: 4, skiing: 2 }, source: { osm: 3, club: 3 } })
  const line = (/** @type {number} */ id, /** @type {number} */ x) => ({ properties: { id, activity: 'running', source: 'osm' }, geometry: { coordinates: [[[x, 0], [x + 5, 0]]] } })
  assert.deepEqual(count(/** @type {any} */ ([line(1, 8), line(1, 9), line(2, 12)]), view), { activity: { running: 1 }, source: { osm: 1 } })
})
