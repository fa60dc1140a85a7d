// Prints header and metadata of an archive, then for each line "z x y" of standard input the SHA-256 of
// the tile, or "-" where there is none.
import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { PMTiles } from 'pmtiles'

const file = await open(process.argv[2])
const archive = new PMTiles({
	getKey: () => process.argv[2],
	async getBytes(offset, length) {
		const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, offset)
		return { data: buffer.buffer.slice(buffer.byteOffset, buffer.byteOffset + bytesRead) }
	},
})
console.log(JSON.stringify({ header: await archive.getHeader(), metadata: await archive.getMetadata() }))
for await (const line of createInterface({ input: process.stdin })) {
	const [z, x, y] = line.split(' ').map(Number)
	const tile = await archive.getZxy(z, x, y)
	console.log(tile ? createHash('sha256').update(Buffer.from(tile.data)).digest('hex') : '-')
}
await file.close()
