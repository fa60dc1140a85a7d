package tile

import "math"

// path builds the geometry of one feature in units of the tile.
type path struct {
	geometry []byte // finished lines
	run      []byte // deltas of the line under way
	points   int    // in run
	next     uint64 // number of the piece that may follow
	active   bool
	x, y     int32 // where the line under way is
	startX   int32 // where it began
	startY   int32
	cursorX  int32 // where the last finished line ended
	cursorY  int32
}

func (p *path) reset() {
	*p = path{geometry: p.geometry[:0], run: p.run[:0]}
}

// finish gives the geometry, which is valid until the path is used again.
func (p *path) finish() []byte {
	p.end()
	return p.geometry
}

// begin starts a line, unless one is under way that is already there.
func (p *path) begin(x, y int32) {
	if p.active && p.x == x && p.y == y {
		return
	}
	p.end()
	p.active, p.startX, p.startY, p.x, p.y = true, x, y, x, y
}

// to draws to a point.
func (p *path) to(x, y int32) {
	if x == p.x && y == p.y {
		return
	}
	p.run = appendVarint(p.run, zigzag(x-p.x))
	p.run = appendVarint(p.run, zigzag(y-p.y))
	p.x, p.y = x, y
	p.points++
}

// end finishes the line under way; one of a single point is no line.
func (p *path) end() {
	if !p.active {
		return
	}
	if p.points > 0 {
		b := append(p.geometry, moveTo)
		b = appendVarint(b, zigzag(p.startX-p.cursorX))
		b = appendVarint(b, zigzag(p.startY-p.cursorY))
		b = appendVarint(b, uint64(p.points)<<3|lineTo)
		p.geometry = append(b, p.run...)
		p.cursorX, p.cursorY = p.x, p.y
	}
	p.run, p.points, p.active = p.run[:0], 0, false
}

// segment draws the part of a segment that is in the tile or its buffer.
func (p *path) segment(ax, ay, bx, by int64) {
	cx, cy, dx, dy, ok := clip(ax, ay, bx, by)
	if !ok {
		p.end()
		return
	}
	p.begin(int32(cx), int32(cy))
	p.to(int32(dx), int32(dy))
	if dx != bx || dy != by {
		p.end()
	}
}

// The edges of what is drawn, in units of the tile.
const (
	near = -Buffer
	far  = Extent + Buffer
)

// side tells beyond which edges a point is.
func side(x, y int64) (s uint) {
	if uint64(x-near) <= far-near && uint64(y-near) <= far-near {
		return 0
	}
	if x < near {
		s |= 1
	} else if x > far {
		s |= 2
	}
	if y < near {
		s |= 4
	} else if y > far {
		s |= 8
	}
	return s
}

// clip cuts a segment to the edges. It rounds to the nearest unit, and computes
// without an operation that some machines would fuse.
func clip(ax, ay, bx, by int64) (cx, cy, dx, dy int64, ok bool) {
	cx, cy, dx, dy = ax, ay, bx, by
	for range 8 { // an end is moved twice at most
		a, b := side(cx, cy), side(dx, dy)
		switch {
		case a|b == 0:
			return cx, cy, dx, dy, true
		case a&b != 0:
			return 0, 0, 0, 0, false
		case a != 0:
			cx, cy = cut(a, ax, ay, bx, by)
		default:
			dx, dy = cut(b, ax, ay, bx, by)
		}
	}
	return 0, 0, 0, 0, false
}

// cut is where a segment crosses the first of the edges of s.
func cut(s uint, ax, ay, bx, by int64) (x, y int64) {
	switch {
	case s&1 != 0:
		return near, ay + ratio(near-ax, by-ay, bx-ax)
	case s&2 != 0:
		return far, ay + ratio(far-ax, by-ay, bx-ax)
	case s&4 != 0:
		return ax + ratio(near-ay, bx-ax, by-ay), near
	default:
		return ax + ratio(far-ay, bx-ax, by-ay), far
	}
}

// ratio is a×b/c, rounded.
func ratio(a, b, c int64) int64 {
	return int64(math.Round(float64(a) * float64(b) / float64(c)))
}

// geometry draws what is in the tile of a feature's chunks.
func (e *Encoder) geometry(part *blockPart, number int) bool {
	p, flags, corner := &e.path, part.flags(number), part.window(number)
	s, ok := part.shape(number, flags)
	if !ok {
		return false
	}
	if flags&isPiece != 0 && s.piece != p.next {
		p.end()
	}
	p.next = s.piece + 1
	ox, oy := e.originX, e.originY
	k := uint(e.tile.enlarged())
	draw := func(x, y int32, points int, deltas []byte) bool {
		if k > 0 {
			return p.enlarged(x-ox, y-oy, points, deltas, k)
		}
		return p.partial(x-ox, y-oy, points, deltas)
	}
	if s.table == nil {
		p.end()
		points, i := varint(s.commands, 0)
		return i <= len(s.commands) && draw(s.startX, s.startY, int(points>>3), s.commands[i:])
	}
	rest := s.commands
	var c chunk
	for ; len(s.table) > 0; s.table = s.table[s.entry:] {
		c.read(s.table, corner.MinX, corner.MinY, flags&isWide != 0)
		if c.gap+c.size > len(rest) {
			return false
		}
		own := rest[c.gap : c.gap+c.size]
		rest = rest[c.gap+c.size:]
		if c.first {
			p.end()
		}
		switch {
		case !e.window.Touches(c.bounds):
			p.end()
		case k == 0 && e.window.holds(c.bounds):
			p.begin(c.startX-ox, c.startY-oy)
			p.copy(own, c.endX-ox, c.endY-oy)
			p.points += c.points
		case !draw(c.startX, c.startY, c.points, own):
			return false
		}
	}
	return true
}

// partial draws the points of a chunk. Those that follow each other in the tile are
// copied.
func (p *path) partial(x, y int32, points int, deltas []byte) bool {
	at, copied, i := side(int64(x), int64(y)), -1, 0
	for ; points > 0; points-- {
		before := i
		var dx, dy uint32
		if i+1 < len(deltas) && deltas[i]|deltas[i+1] < 0x80 {
			dx, dy, i = uint32(deltas[i]), uint32(deltas[i+1]), i+2
		} else {
			vx, j := varint(deltas, i)
			vy, j := varint(deltas, j)
			if j > len(deltas) {
				return false
			}
			dx, dy, i = uint32(vx), uint32(vy), j
		}
		nx, ny := x+(int32(dx>>1)^-int32(dx&1)), y+(int32(dy>>1)^-int32(dy&1))
		if at == 0 && uint32(nx-near) <= far-near && uint32(ny-near) <= far-near {
			if copied < 0 {
				p.begin(x, y)
				copied = before
			}
			p.points++
			x, y = nx, ny
			continue
		}
		if copied >= 0 {
			p.copy(deltas[copied:before], x, y)
			copied = -1
		}
		next := side(int64(nx), int64(ny))
		if at&next == 0 {
			p.segment(int64(x), int64(y), int64(nx), int64(ny))
		} else {
			p.end()
		}
		x, y, at = nx, ny, next
	}
	if copied >= 0 {
		p.copy(deltas[copied:i], x, y)
	}
	return true
}

// copy takes deltas that end at a point; their points are counted by the caller.
func (p *path) copy(deltas []byte, x, y int32) {
	p.run = append(p.run, deltas...)
	p.x, p.y = x, y
}

// enlarged draws the points of a chunk, enlarged to a deeper zoom.
func (p *path) enlarged(startX, startY int32, points int, deltas []byte, k uint) bool {
	x, y := int64(startX)<<k, int64(startY)<<k
	for i := 0; points > 0; points-- {
		var dx, dy uint64
		dx, i = varint(deltas, i)
		if dy, i = varint(deltas, i); i > len(deltas) {
			return false
		}
		nx, ny := x+int64(unzigzag(dx))<<k, y+int64(unzigzag(dy))<<k
		p.segment(x, y, nx, ny)
		x, y = nx, ny
	}
	return true
}
