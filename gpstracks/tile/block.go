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
//	records header; own values as MVT values with their tags; chunks
//
// A chunk is a header and the zigzag deltas of at most chunkPoints points, as a
// tile holds them. The first chunk of a line is marked; each other one begins
// where the one before it ended.
const (
	version      = 1
	BlockSize    = 64 // features that AppendBlock is best given at a time
	chunkPoints  = 64
	blockHeader  = 32
	recordHeader = 48
	chunkHeader  = 36

	recordID, recordMetres, recordBounds, recordWords = 4, 12, 16, 32
	recordFlags, recordOwn, recordChunks              = 38, 40, 44

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
	start, bounds := len(dst), nowhere()
	dst = append(dst, make([]byte, blockHeader)...)
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
		b := window(f.Record[recordBounds:])
		bounds.grow(b.MinX, b.MinY)
		bounds.grow(b.MaxX, b.MaxY)
	}
	h := dst[start:]
	h[0], h[1] = version, byte(level)
	binary.LittleEndian.PutUint32(h[4:], uint32(len(features)))
	putWindow(h[8:], bounds)
	binary.LittleEndian.PutUint32(h[24:], uint32(len(known)))
	binary.LittleEndian.PutUint32(h[28:], uint32(words))
	return dst
}

// BlockWindow is the bounds of a block, for a store's index.
func BlockWindow(block []byte) (Window, error) {
	if len(block) < blockHeader || block[0] != version {
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
	deltas         []byte
}

func (c *chunk) append(dst, deltas []byte) []byte {
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
	binary.LittleEndian.PutUint16(h[34:], uint16(len(deltas)))
	return append(append(dst, h[:]...), deltas...)
}

// read takes the chunk at the beginning of b and returns what is behind it.
func (c *chunk) read(b []byte) (rest []byte, ok bool) {
	if len(b) < chunkHeader {
		return nil, false
	}
	n, size := binary.LittleEndian.Uint16(b[32:]), int(binary.LittleEndian.Uint16(b[34:]))
	if len(b) < chunkHeader+size {
		return nil, false
	}
	c.bounds = window(b)
	c.startX, c.startY = int32(binary.LittleEndian.Uint32(b[16:])), int32(binary.LittleEndian.Uint32(b[20:]))
	c.endX, c.endY = int32(binary.LittleEndian.Uint32(b[24:])), int32(binary.LittleEndian.Uint32(b[28:]))
	c.points, c.first = int(n&^firstChunk), n&firstChunk != 0
	c.deltas = b[chunkHeader : chunkHeader+size]
	return b[chunkHeader+size:], true
}
