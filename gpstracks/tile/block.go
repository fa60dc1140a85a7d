package tile

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
)

// A block is, in little-endian order:
//
//	header  version, level, 0, 0; number of features; bounds; number and bytes of words
//	words   activities, sources and attributions, each as an MVT value with its tag
//	index   of each record its bounds, its place after the index and its length
//	records header; own values as MVT values with their tags; headers of chunks; deltas of chunks
//
// The deltas of a chunk are those of at most chunkPoints points, zigzag-encoded
// as a tile holds them. The first chunk of a line is marked; each other one
// begins where the one before it ended. What decides whether something is in a
// tile lies side by side, so that a look at it reads little memory.
const (
	Version      = 2  // of the layout: a store builds blocks of another one again from the tracks
	BlockSize    = 64 // features that AppendBlock is best given at a time
	chunkPoints  = 64
	blockHeader  = 32
	indexEntry   = 24
	recordHeader = 32
	chunkHeader  = 36

	recordID, recordMetres, recordWords  = 0, 8, 12
	recordFlags, recordOwn, recordChunks = 18, 20, 24
	recordPlace                          = 28

	noWord     = 0xffff
	firstChunk = 0x8000

	hasName, hasDay, hasURL = 1, 2, 4
)

// errBlock is what every damaged block is.
var errBlock = errors.New("gps tile: a block of features is damaged: build the blocks again from the tracks")

// Sort puts features in the order in which they are cut into blocks: along the
// Hilbert curve, then by id. So a set of tracks has one set of blocks.
func Sort(features []Feature) {
	slices.SortFunc(features, func(a, b Feature) int { return cmp.Or(cmp.Compare(a.Place, b.Place), cmp.Compare(a.ID, b.ID)) })
}

// AppendBlock writes features of one level, at most 20,000, as a block.
func AppendBlock(dst []byte, level int, features []Feature) []byte {
	start, bounds, size := len(dst), nowhere(), blockHeader
	for _, f := range features {
		size += indexEntry + len(f.Record)
	}
	dst = append(slices.Grow(dst, size+512), make([]byte, blockHeader)...) // and some words
	known := map[string]uint16{}
	for _, f := range features {
		for _, word := range [...]string{f.Activity, f.Source, f.Attribution} {
			if _, ok := known[word]; !ok && word != "" {
				known[word] = uint16(len(known))
				dst = appendStringValue(dst, word)
			}
		}
	}
	words := len(dst) - start - blockHeader
	at := 0
	for _, f := range features {
		var entry [indexEntry]byte
		putWindow(entry[:], f.Bounds)
		binary.LittleEndian.PutUint32(entry[16:], uint32(at))
		binary.LittleEndian.PutUint32(entry[20:], uint32(len(f.Record)))
		dst = append(dst, entry[:]...)
		at += len(f.Record)
	}
	for _, f := range features {
		at := len(dst)
		dst = append(dst, f.Record...)
		for i, word := range [...]string{f.Activity, f.Source, f.Attribution} {
			number, ok := known[word]
			if !ok {
				number = noWord
			}
			binary.LittleEndian.PutUint16(dst[at+recordWords+2*i:], number)
		}
		bounds.grow(f.Bounds.MinX, f.Bounds.MinY)
		bounds.grow(f.Bounds.MaxX, f.Bounds.MaxY)
	}
	h := dst[start:]
	h[0], h[1] = Version, byte(level)
	binary.LittleEndian.PutUint32(h[4:], uint32(len(features)))
	putWindow(h[8:], bounds)
	binary.LittleEndian.PutUint32(h[24:], uint32(len(known)))
	binary.LittleEndian.PutUint32(h[28:], uint32(words))
	return dst
}

// BlockWindow is the bounds of a block, for a store's index.
func BlockWindow(block []byte) (Window, error) {
	if len(block) < blockHeader || block[0] != Version {
		return Window{}, errBlock
	}
	return window(block[8:]), nil
}

func window(b []byte) Window {
	_ = b[15]
	return Window{
		int32(binary.LittleEndian.Uint32(b)), int32(binary.LittleEndian.Uint32(b[4:])),
		int32(binary.LittleEndian.Uint32(b[8:])), int32(binary.LittleEndian.Uint32(b[12:])),
	}
}

func putWindow(b []byte, w Window) {
	for i, v := range [...]int32{w.MinX, w.MinY, w.MaxX, w.MaxY} {
		binary.LittleEndian.PutUint32(b[4*i:], uint32(v))
	}
}

// chunk is a part of a line.
type chunk struct {
	bounds         Window // of all its points, the start included
	startX, startY int32
	endX, endY     int32
	points         int // after the start
	first          bool
	size           int // bytes of its deltas
}

func (c *chunk) append(dst []byte) []byte {
	var h [chunkHeader]byte
	putWindow(h[:], c.bounds)
	for i, v := range [...]int32{c.startX, c.startY, c.endX, c.endY} {
		binary.LittleEndian.PutUint32(h[16+4*i:], uint32(v))
	}
	n := uint16(c.points)
	if c.first {
		n |= firstChunk
	}
	binary.LittleEndian.PutUint16(h[32:], n)
	binary.LittleEndian.PutUint16(h[34:], uint16(c.size))
	return append(dst, h[:]...)
}

// read takes the header b of a chunk.
func (c *chunk) read(b []byte) {
	_ = b[chunkHeader-1]
	c.bounds = window(b)
	c.startX, c.startY = int32(binary.LittleEndian.Uint32(b[16:])), int32(binary.LittleEndian.Uint32(b[20:]))
	c.endX, c.endY = int32(binary.LittleEndian.Uint32(b[24:])), int32(binary.LittleEndian.Uint32(b[28:]))
	n := binary.LittleEndian.Uint16(b[32:])
	c.points, c.first = int(n&^firstChunk), n&firstChunk != 0
	c.size = int(binary.LittleEndian.Uint16(b[34:]))
}
