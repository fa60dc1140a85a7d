// Writes what readers that are not ours say of files: node answers.mjs DIR > answers.json, where
// fetch.sh has installed them. The names of files are theirs.
import fs from 'node:fs'
import path from 'node:path'
import zlib from 'node:zlib'
import { createRequire } from 'node:module'
import { execFileSync } from 'node:child_process'

const require = createRequire(path.join(process.cwd(), 'x.js'))
const { Decoder, Stream } = require('@garmin/fitsdk')
const FitParser = require('fit-file-parser').default
const togeojson = require('@tmcw/togeojson')
const GPXParser = require('gpxparser')
const { DOMParser } = require('@xmldom/xmldom')
const JSDOM = require('jsdom-global')

const radius = 6371008.8, rad = Math.PI / 180
function metres(points) { // chords of a sphere
  let sum = 0
  const at = p => [Math.cos(p[1] * rad) * Math.cos(p[0] * rad), Math.cos(p[1] * rad) * Math.sin(p[0] * rad), Math.sin(p[1] * rad)]
  for (let i = 1; i < points.length; i++) {
    const a = at(points[i - 1]), b = at(points[i])
    sum += 2 * radius * Math.asin(Math.min(1, Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]) / 2))
  }
  return sum
}
const second = t => t ? new Date(t).toISOString().slice(0, 19) + 'Z' : ''
// a track is { name, lines: [[[lon, lat, time], …], …] }
function measure(t) {
  const all = t.lines.flat(), times = all.map(p => p[2]).filter(Boolean).map(x => +new Date(x))
  const out = { name: (t.name ?? '').trim(), points: all.length, metres: Math.round(t.lines.reduce((s, l) => s + metres(l), 0) * 10) / 10 }
  if (times.length > 0) Object.assign(out, { first: second(times.reduce((a, b) => Math.min(a, b))), last: second(times.reduce((a, b) => Math.max(a, b))) })
  return out
}
function sessions(starts, points) { // a point belongs to the last session that had begun
  starts = starts.filter(Boolean).map(s => +new Date(s)).sort((a, b) => a - b)
  const lines = starts.length > 1 ? starts.map(() => []) : [[]]
  for (const p of points) {
    let i = 0
    while (i + 1 < lines.length && +new Date(p[2]) >= starts[i + 1]) i++
    lines[i].push(p)
  }
  return lines.map(l => ({ lines: [l] }))
}
console.info = console.debug = () => {}
const quiet = f => { const log = console.log, warn = console.warn; console.log = console.warn = () => {}; try { return f() } finally { console.log = log; console.warn = warn } }

const babel = (format, named) => body => {
  fs.writeFileSync('x', body)
  const gpx = execFileSync('gpsbabel', ['-t', '-i', format, '-f', 'x', '-o', 'gpx', '-F', '-'], { maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'ignore'] }).toString()
  return gpx.split('<trk>').slice(1).map(t => ({ name: named && /<name>(?:<!\[CDATA\[)?(.*?)(?:\]\]>)?<\/name>/s.exec(t.split('<trkseg>')[0])?.[1], lines: t.split('<trkseg>').slice(1).map(s =>
    [...s.matchAll(/<trkpt lat="([^"]*)" lon="([^"]*)">(.*?)<\/trkpt>/gs)].map(p => [+p[2], +p[1], /<time>(.*?)</.exec(p[3])?.[1]])) }))
}
const readers = {
  fit: {
    '@garmin/fitsdk': body => {
      const { messages: m } = new Decoder(Stream.fromBuffer(body)).read()
      return sessions((m.sessionMesgs ?? []).map(s => s.startTime),
        (m.recordMesgs ?? []).filter(r => r.positionLat != null && r.positionLong != null)
          .map(r => [r.positionLong * 180 / 2 ** 31, r.positionLat * 180 / 2 ** 31, r.timestamp]))
    },
    'fit-file-parser': body => {
      let out
      new FitParser({ force: true, mode: 'list' }).parse(body, (err, d) => { if (err) throw new Error(err); out = d })
      return sessions((out.sessions ?? []).map(s => s.start_time),
        (out.records ?? []).filter(r => r.position_lat != null && r.position_long != null).map(r => [r.position_long, r.position_lat, r.timestamp]))
    },
  },
  gpx: {
    '@tmcw/togeojson': body => xml(togeojson.gpx, body),
    gpxparser: body => {
      const g = new GPXParser()
      g.parse(body.toString())
      return [...g.tracks, ...g.routes].map(t => ({ name: t.name, lines: [t.points.map(p => [p.lon, p.lat, p.time])] }))
    },
  },
  tcx: {
    '@tmcw/togeojson': body => xml(togeojson.tcx, body),
    gpsbabel: babel('gtrnctr'),
  },
  igc: { gpsbabel: babel('igc') },
  nmea: { gpsbabel: babel('nmea') },
  kml: { '@tmcw/togeojson': body => xml(togeojson.kml, body), gpsbabel: babel('kml', true) },
}
function xml(read, body) {
  const doc = new DOMParser({ errorHandler: () => {} }).parseFromString(body.toString(), 'text/xml')
  return read(doc).features.filter(f => f.geometry && f.geometry.type.endsWith('LineString')).map(f => {
    const lines = f.geometry.type === 'LineString' ? [f.geometry.coordinates] : f.geometry.coordinates
    const times = f.properties.coordinateProperties?.times ?? []
    const of = i => f.geometry.type === 'LineString' ? times : times[i] ?? []
    return { name: f.properties.name, lines: lines.map((l, i) => l.map((c, k) => [c[0], c[1], of(i)[k]])) }
  })
}

const answers = {}
JSDOM()
for (const file of fs.readdirSync(process.argv[2]).sort()) {
  const of = readers[file.toLowerCase().replace(/\.gz$/, '').split('.').pop()]
  if (!of) continue
  let body = fs.readFileSync(path.join(process.argv[2], file))
  if (file.endsWith('.gz')) body = zlib.gunzipSync(body)
  answers[file] = {}
  for (const [name, read] of Object.entries(of)) {
    try {
      answers[file][name] = quiet(() => read(body)).map(measure).filter(t => t.points > 1)
    } catch (err) {
      answers[file][name] = null // it fails
    }
  }
}
console.log('{\n' + Object.entries(answers).map(([f, a]) => `  ${JSON.stringify(f)}: {\n` + Object.entries(a).map(([r, t]) =>
  `    ${JSON.stringify(r)}: ${JSON.stringify(t)}`).join(',\n') + '\n  }').join(',\n') + '\n}')
