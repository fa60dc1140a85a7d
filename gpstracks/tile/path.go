package tile

import "math"

// path builds the geometry of one feature in units of the tile.
type path struct {
	geometry []byte // finished lines
	run      []byte // deltas of the line under way
	points   int    // in run
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
	if side(ax, ay)|side(bx, by) == 0 {
		p.begin(int32(ax), int32(ay))
		p.to(int32(bx), int32(by))
		return
	}
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

// geometry writes the chunks of a feature that are in the tile.
func (e *Encoder) geometry(b []byte, chunks uint32) (drawn bool, err error) {
	p := &e.path
	p.reset()
	ox, oy := e.tile.origin()
	k := uint(e.tile.enlarged())
	if uint64(chunks)*chunkHeader > uint64(len(b)) {
		return false, errBlock
	}
	heads, deltas := b[:chunks*chunkHeader], b[chunks*chunkHeader:]
	var c chunk
	for ; len(heads) > 0; heads = heads[chunkHeader:] {
		c.read(heads)
		if c.size > len(deltas) {
			return false, errBlock
		}
		own := deltas[:c.size]
		deltas = deltas[c.size:]
		if c.first {
			p.end()
		}
		switch {
		case !e.window.Touches(c.bounds):
			p.end()
		case k == 0 && e.window.holds(c.bounds):
			p.begin(c.startX-ox, c.startY-oy)
			p.run = append(p.run, own...)
			p.points += c.points
			p.x, p.y = c.endX-ox, c.endY-oy
		case !p.partial(&c, own, ox, oy, k):
			return false, errBlock
		}
	}
	p.end()
	return len(p.geometry) > 0, nil
}

// partial draws the points of a chunk one by one.
func (p *path) partial(c *chunk, deltas []byte, ox, oy int32, k uint) bool {
	x, y := int64(c.startX-ox)<<k, int64(c.startY-oy)<<k
	i := 0
	for range c.points {
		var dx, dy uint64
		if i+1 < len(deltas) && deltas[i]|deltas[i+1] < 0x80 {
			dx, dy = uint64(deltas[i]), uint64(deltas[i+1])
			i += 2
		} else {
			dx, i = varint(deltas, i)
			if dy, i = varint(deltas, i); i > len(deltas) {
				return false
			}
		}
		nx, ny := x+int64(unzigzag(dx))<<k, y+int64(unzigzag(dy))<<k
		p.segment(x, y, nx, ny)
		x, y = nx, ny
	}
	return true
}
