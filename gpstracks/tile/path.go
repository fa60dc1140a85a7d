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
	p.run = appendPair(p.run, x-p.x, y-p.y)
	p.x, p.y = x, y
	p.points++
}

// end finishes the line under way; one of a single point is no line.
func (p *path) end() {
	if !p.active {
		return
	}
	if p.points > 0 {
		b := appendPair(append(p.geometry, moveTo), p.startX-p.cursorX, p.startY-p.cursorY)
		b = appendVarint(b, uint64(p.points)<<3|lineTo)
		p.geometry = append(b, p.run...)
		p.cursorX, p.cursorY = p.x, p.y
	}
	p.run, p.points, p.active = p.run[:0], 0, false
}

// start reads where a feature starts in its level's grid.
func start(geometry []byte, corner Window) (x, y int32, commands []byte, ok bool) {
	dx, i := varint(geometry, 0)
	dy, i := varint(geometry, i)
	if i > len(geometry) {
		return 0, 0, nil, false
	}
	return corner.MinX + int32(uint32(dx)), corner.MinY + int32(uint32(dy)), geometry[i:], true
}

// draw draws what is in the tile of the commands of a feature that starts at a point of the
// tile; its steps are enlarged by 2^k.
func (p *path) draw(x, y int64, commands []byte, k uint) bool {
	for i := 0; i < len(commands); {
		var command, dx, dy uint64
		command, i = varint(commands, i)
		points := 1
		if draws := command&7 == lineTo; draws {
			points = int(command >> 3)
		} else if p.end(); command != moveTo {
			return false
		}
		at := side(x, y)
		for ; points > 0; points-- {
			before := i
			if i+1 < len(commands) && commands[i]|commands[i+1] < 0x80 { // most
				dx, dy, i = uint64(commands[i]), uint64(commands[i+1]), i+2
			} else {
				dx, i = varint(commands, i)
				if dy, i = varint(commands, i); i > len(commands) {
					return false
				}
			}
			nextX, nextY := x+int64(unzigzag(dx))<<k, y+int64(unzigzag(dy))<<k
			next := side(nextX, nextY)
			switch {
			case command == moveTo:
			case at|next == 0 && k == 0: // its bytes are those of the tile
				p.begin(int32(x), int32(y))
				p.run, p.points = append(p.run, commands[before:i]...), p.points+1
				p.x, p.y = int32(nextX), int32(nextY)
			case at&next == 0:
				p.segment(x, y, nextX, nextY)
			default:
				p.end()
			}
			x, y, at = nextX, nextY, next
		}
	}
	return true
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

// side returns beyond which edges a point is, as bits: 1 left, 2 right, 4 above, 8 below.
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

// cut returns the point of a segment on the first of the edges of s.
func cut(s uint, ax, ay, bx, by int64) (x, y int64) {
	switch {
	case s&1 != 0:
		return near, ay + ratio(near-ax, by-ay, bx-ax)
	case s&2 != 0:
		return far, ay + ratio(far-ax, by-ay, bx-ax)
	case s&4 != 0:
		return ax + ratio(near-ay, bx-ax, by-ay), near
	}
	return ax + ratio(far-ay, bx-ax, by-ay), far
}

// ratio is a×b/c, rounded.
func ratio(a, b, c int64) int64 {
	return int64(math.Round(float64(a) * float64(b) / float64(c)))
}
