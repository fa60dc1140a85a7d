package tile

import (
	"encoding/binary"
	"math"
)

// The geometry of a feature is
//
//	piece     its number, if the track has several
//	start     of the first line, from the corner of the bounds: two numbers of 16 bits, or of 32 if it is wide
//	table     of chunks, if there are several: their number and their entries
//	commands  of all lines as a tile has them, but for the first MoveTo
//
// with other numbers as a tile has them. So what lies in a tile as a whole is copied behind
// a MoveTo. What does not is drawn by chunks: at most chunkPoints points each. A
// chunk begins where the one before it ended, unless it is the first of its line.
// A track of many chunks that is larger than a tile is cut into pieces, each a feature
// of its own, so that a tile that shows a small part of it reads little of the rest.
const (
	chunkPoints = 32
	pieceChunks = 4 // of a piece, at most
	wholeChunks = 6 // of a track that is not cut

	narrowEntry, wideEntry = 20, 36
	firstChunk             = 0x80
)

// chunk is a part of a line. Its points follow each other as zigzag deltas.
type chunk struct {
	bounds         Window // of all its points, the start included
	startX, startY int32
	endX, endY     int32
	points         int // after the start
	first          bool
	size           int // bytes of its deltas
	gap            int // bytes of commands before them
	from           int // where they are, for a Packer
}

// appendGeometry writes the chunks of a feature, with their deltas. piece is its
// number, or -1. flags tell what there is.
func appendGeometry(dst []byte, list []chunk, deltas []byte, piece int) (out []byte, bounds Window, flags uint16) {
	bounds = nowhere()
	for i := range list {
		bounds.grow(list[i].bounds.MinX, list[i].bounds.MinY)
		bounds.grow(list[i].bounds.MaxX, list[i].bounds.MaxY)
	}
	if piece >= 0 {
		dst, flags = appendVarint(dst, uint64(piece)), flags|isPiece
	}
	x, y := uint32(list[0].startX-bounds.MinX), uint32(list[0].startY-bounds.MinY)
	if bounds.MaxX-bounds.MinX > math.MaxUint16 || bounds.MaxY-bounds.MinY > math.MaxUint16 {
		flags |= isWide
		dst = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(dst, x), y)
	} else {
		dst = binary.LittleEndian.AppendUint32(dst, x|y<<16)
	}
	var commands [64]byte // of one line
	if len(list) > 1 || piece >= 0 {
		flags |= isChunked
		dst = appendVarint(dst, uint64(len(list)))
		for i := range list {
			list[i].gap = len(lineCommands(commands[:0], list, i))
			dst = list[i].appendEntry(dst, bounds, flags&isWide != 0)
		}
	}
	for i := range list {
		dst = append(dst, lineCommands(commands[:0], list, i)...)
		dst = append(dst, deltas[list[i].from:list[i].from+list[i].size]...)
	}
	return dst, bounds, flags
}

// lineCommands writes what comes before the deltas of a chunk: nothing, unless a line
// begins.
func lineCommands(dst []byte, list []chunk, i int) []byte {
	c := &list[i]
	if i > 0 {
		if !c.first {
			return dst
		}
		dst = append(dst, moveTo)
		dst = appendVarint(dst, zigzag(c.startX-list[i-1].endX))
		dst = appendVarint(dst, zigzag(c.startY-list[i-1].endY))
	}
	points := c.points
	for i++; i < len(list) && !list[i].first; i++ {
		points += list[i].points
	}
	return appendVarint(dst, uint64(points)<<3|lineTo)
}

func (c *chunk) appendEntry(dst []byte, base Window, wide bool) []byte {
	for i, v := range [...]int32{c.bounds.MinX, c.bounds.MinY, c.bounds.MaxX, c.bounds.MaxY, c.startX, c.startY, c.endX, c.endY} {
		if v -= base.MinX; i%2 == 1 {
			v += base.MinX - base.MinY
		}
		if wide {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(v))
		} else {
			dst = binary.LittleEndian.AppendUint16(dst, uint16(v))
		}
	}
	points := byte(c.points)
	if c.first {
		points |= firstChunk
	}
	return append(binary.LittleEndian.AppendUint16(dst, uint16(c.size)), points, byte(c.gap))
}

// read takes an entry of a table, from a corner of the bounds.
func (c *chunk) read(b []byte, x, y int32, wide bool) {
	if wide {
		_ = b[wideEntry-1]
		at := func(i int) int32 { return int32(binary.LittleEndian.Uint32(b[4*i:])) }
		c.bounds = Window{x + at(0), y + at(1), x + at(2), y + at(3)}
		c.startX, c.startY, c.endX, c.endY = x+at(4), y+at(5), x+at(6), y+at(7)
		b = b[wideEntry-4:]
	} else {
		_ = b[narrowEntry-1]
		v, w := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
		c.bounds = Window{x + int32(v&0xffff), y + int32(v>>16&0xffff), x + int32(v>>32&0xffff), y + int32(v>>48)}
		c.startX, c.startY, c.endX, c.endY = x+int32(w&0xffff), y+int32(w>>16&0xffff), x+int32(w>>32&0xffff), y+int32(w>>48)
		b = b[narrowEntry-4:]
	}
	c.size = int(binary.LittleEndian.Uint16(b))
	c.points, c.first, c.gap = int(b[2]&^firstChunk), b[2]&firstChunk != 0, int(b[3])
}

// shape is the geometry of a feature, taken apart.
type shape struct {
	piece          uint64
	startX, startY int32
	table          []byte
	entry          int // bytes of one in the table
	commands       []byte
}

// openShape takes the geometry of a feature apart.
func openShape(b []byte, flags uint16, corner Window) (s shape, ok bool) {
	i := 0
	if flags&isPiece != 0 {
		s.piece, i = varint(b, i)
	}
	switch rest := b[min(i, len(b)):]; {
	case flags&isWide == 0 && len(rest) >= 4:
		v := binary.LittleEndian.Uint32(rest)
		s.startX, s.startY, i = corner.MinX+int32(v&0xffff), corner.MinY+int32(v>>16), i+4
	case len(rest) >= 8:
		v := binary.LittleEndian.Uint64(rest)
		s.startX, s.startY, i = corner.MinX+int32(uint32(v)), corner.MinY+int32(uint32(v>>32)), i+8
	default:
		return s, false
	}
	if flags&isChunked != 0 {
		var n uint64
		n, i = varint(b, i)
		if s.entry = narrowEntry; flags&isWide != 0 {
			s.entry = wideEntry
		}
		if i > len(b) || n > uint64(len(b)-i)/uint64(s.entry) {
			return s, false
		}
		s.table, i = b[i:i+int(n)*s.entry], i+int(n)*s.entry
	}
	if i >= len(b) {
		return s, false
	}
	s.commands = b[i:]
	return s, true
}
