// Decodes tiles with the library that maps use. In: each tile behind its length in
// four bytes, the lowest first. Out: a line of JSON for each tile.
import { readFileSync } from 'node:fs'
import Pbf from 'pbf'
import { VectorTile } from '@mapbox/vector-tile'

const input = readFileSync(0)
for (let at = 0; at < input.length;) {
  const length = input.readUInt32LE(at)
  const body = input.subarray(at + 4, at + 4 + length)
  at += 4 + length
  const tile = new VectorTile(new Pbf(body))
  const layers = Object.values(tile.layers).map(layer => ({
    name: layer.name,
    version: layer.version,
    extent: layer.extent,
    features: Array.from({ length: layer.length }, (_, i) => {
      const f = layer.feature(i)
      return { id: f.id, type: f.type, properties: f.properties, lines: f.loadGeometry().map(line => line.map(p => [p.x, p.y])) }
    })
  }))
  console.log(JSON.stringify(layers))
}
