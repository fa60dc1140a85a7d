package tile

import (
	"math"
	"time"

	"github.com/paulmach/orb"

	"github.com/signalbox-dev/signalbox/gpstracks"
)

// Feature is a track made ready for one level, or a piece of one that is long there.
type Feature struct {
	Level       int
	ID          int64
	Piece       int    // its number, 0 for the first or only one
	Place       uint32 // along a Hilbert curve: features near each other belong in one block
	Activity    string
	Source      string
	Attribution string
	Bounds      Window
	place       uint32 // of the whole track: the order in a tile
	flags       uint16
	values      []byte // that the track shares with no other, as MVT values with their tags
	geometry    []byte // see chunk.go
}

// Size is how many bytes the feature takes in a block, without the words that it
// shares with others.
func (f *Feature) Size() int { return windowSize + headSize + len(f.values) + len(f.geometry) }

// words are those that features share, in the order of sharedKeys.
func (f *Feature) words() [3]string { return [...]string{f.Activity, f.Source, f.Attribution} }

// Packer makes features of tracks. It keeps its memory from track to track; the
// zero value is ready, and is not safe for concurrent use.
type Packer struct {
	simplifier gpstracks.Simplifier
	plane      []gpstracks.XY
	points     []weighed
	starts     []int // of lines in points
	place      uint32
	own        []byte // the values that the track shares with no other
	flags      uint16 // which of them there are
	chunks     []chunk
	deltas     []byte
	room       []byte // of what features keep: they share it, many each
}

// weighed is a point in units of MaxLevel.
type weighed struct{ x, y, weight float64 }

// Pack returns the features of a track that passed gpstracks.Prepare, from
// MaxLevel to the coarsest level at which it is Visible.
func (p *Packer) Pack(t *gpstracks.Track) (out []Feature) {
	p.begin(t)
	for level := MaxLevel; level >= 0; level-- {
		n := len(out)
		if out = p.features(out, t, level); len(out) == n {
			break
		}
	}
	return out
}

// PackLevel returns those of the features that Pack returns that are of the level:
// for whoever shows a track that is in no block yet.
func (p *Packer) PackLevel(t *gpstracks.Track, level int) []Feature {
	p.begin(t)
	return p.features(nil, t, level)
}

// roomSize is how much room for features is made at a time.
const roomSize = 8 << 10

// space is room for n more bytes that features keep, behind what they have.
func (p *Packer) space(n int) []byte {
	if cap(p.room)-len(p.room) < n {
		p.room = make([]byte, 0, max(roomSize, n))
	}
	return p.room[len(p.room):]
}

// keep takes what was written to the room.
func (p *Packer) keep(b []byte) []byte {
	if len(b) <= cap(p.room)-len(p.room) {
		p.room = p.room[:len(p.room)+len(b)]
	}
	return b[:len(b):len(b)]
}

func (p *Packer) begin(t *gpstracks.Track) {
	p.weigh(t.Lines)
	p.ownValues(t)
	p.place = placeOf(t)
}

// features appends those of a level: none if the track is too small there. Levels
// are asked for from the finest on.
func (p *Packer) features(out []Feature, t *gpstracks.Track, level int) []Feature {
	p.thin(level)
	bounds := p.level(level)
	if len(p.chunks) == 0 || bounds.MaxX-bounds.MinX < Visible && bounds.MaxY-bounds.MinY < Visible {
		return out
	}
	f := Feature{
		Level: level, ID: t.ID, Place: p.place, Activity: string(t.Activity), Source: t.Source, Attribution: t.Attribution,
		place: p.place, flags: p.flags, values: p.own,
	}
	pieces := 1
	if len(p.chunks) > wholeChunks && (bounds.MaxX-bounds.MinX > Extent || bounds.MaxY-bounds.MinY > Extent) {
		pieces = (len(p.chunks) + pieceChunks - 1) / pieceChunks
	}
	for i := range pieces {
		list, number := p.chunks[i*len(p.chunks)/pieces:(i+1)*len(p.chunks)/pieces], i
		if pieces == 1 {
			number = -1
		}
		var flags uint16
		size := 16 + len(list)*(wideEntry+16)
		for _, c := range list {
			size += c.size
		}
		f.geometry, f.Bounds, flags = appendGeometry(p.space(size), list, p.deltas, number)
		f.geometry, f.flags = p.keep(f.geometry), p.flags|flags
		if f.Piece = i; pieces > 1 {
			f.Place = f.Bounds.place(level)
		}
		out = append(out, f)
	}
	return out
}

// place is that of a window's middle.
func (w Window) place(level int) uint32 {
	unit := math.Exp2(-float64(level)) / Extent
	return hilbert((float64(w.MinX)+float64(w.MaxX))/2*unit, (float64(w.MinY)+float64(w.MaxY))/2*unit)
}

// weigh projects the lines and weighs their points.
func (p *Packer) weigh(lines orb.MultiLineString) {
	const grid = Extent << MaxLevel
	p.points, p.starts = p.points[:0], p.starts[:0]
	for _, line := range lines {
		p.plane = p.plane[:0]
		for _, at := range line {
			x, y := project(at)
			p.plane = append(p.plane, gpstracks.XY{X: x * grid, Y: y * grid})
		}
		p.starts = append(p.starts, len(p.points))
		for i, w := range p.simplifier.Weights(p.plane) {
			p.points = append(p.points, weighed{p.plane[i].X, p.plane[i].Y, w})
		}
	}
}

// thin leaves out the points that the level, and so every coarser one, does not
// need.
func (p *Packer) thin(level int) {
	tolerance := simplifyTo * math.Exp2(float64(MaxLevel-level))
	kept := 0
	for i, start := range p.starts {
		end := len(p.points)
		if i+1 < len(p.starts) {
			end = p.starts[i+1]
		}
		p.starts[i] = kept
		for _, q := range p.points[start:end] {
			if q.weight > tolerance {
				p.points[kept] = q
				kept++
			}
		}
	}
	p.points = p.points[:kept]
}

// level makes the chunks of all lines in the level's grid.
func (p *Packer) level(level int) (bounds Window) {
	p.chunks, p.deltas, bounds = p.chunks[:0], p.deltas[:0], nowhere()
	scale := math.Exp2(float64(level - MaxLevel))
	for i, start := range p.starts {
		end := len(p.points)
		if i+1 < len(p.starts) {
			end = p.starts[i+1]
		}
		p.line(p.points[start:end], scale)
	}
	for i := range p.chunks {
		b := &p.chunks[i].bounds
		bounds.grow(b.MinX, b.MinY)
		bounds.grow(b.MaxX, b.MaxY)
	}
	return bounds
}

// line makes the chunks of one line, none if it is a single unit.
func (p *Packer) line(line []weighed, scale float64) {
	var c chunk
	for i, q := range line {
		x, y := int32(math.Round(q.x*scale)), int32(math.Round(q.y*scale))
		switch {
		case i == 0:
			c = chunk{bounds: Window{x, y, x, y}, startX: x, startY: y, endX: x, endY: y, first: true, from: len(p.deltas)}
			continue
		case x == c.endX && y == c.endY:
			continue
		case c.points == chunkPoints:
			p.chunks = append(p.chunks, c)
			c = chunk{bounds: Window{c.endX, c.endY, c.endX, c.endY}, startX: c.endX, startY: c.endY, from: len(p.deltas)}
			c.endX, c.endY = c.startX, c.startY
		}
		p.deltas = appendVarint(p.deltas, zigzag(x-c.endX))
		p.deltas = appendVarint(p.deltas, zigzag(y-c.endY))
		c.size = len(p.deltas) - c.from
		c.endX, c.endY = x, y
		c.bounds.grow(x, y)
		c.points++
	}
	if c.points > 0 {
		p.chunks = append(p.chunks, c)
	}
}

// ownValues writes the values that a track shares with no other, in the order of
// ownKeys.
func (p *Packer) ownValues(t *gpstracks.Track) {
	p.flags = 0
	b := p.space(64 + len(t.Name) + len(t.URL))
	b = appendUintValue(b, uint64(t.ID))
	b = appendUintValue(b, uint64(t.LengthM+0.5))
	if t.Name != "" {
		b, p.flags = appendStringValue(b, t.Name), p.flags|hasName
	}
	if !t.RecordedOn.IsZero() {
		var day [len(time.DateOnly)]byte
		b, p.flags = appendStringValue(b, string(t.RecordedOn.UTC().AppendFormat(day[:0], time.DateOnly))), p.flags|hasDay
	}
	if t.URL != "" {
		b, p.flags = appendStringValue(b, t.URL), p.flags|hasURL
	}
	p.own = p.keep(b)
}

// placeOf is the place of a track's middle.
func placeOf(t *gpstracks.Track) uint32 { return hilbert(project(t.Bounds.Center())) }

// hilbert is the place of a point of the Mercator square on a Hilbert curve through
// 65536 × 65536 cells.
func hilbert(fx, fy float64) uint32 {
	x, y := cell(fx), cell(fy)
	var d uint32
	for s := uint32(1 << 15); s > 0; s >>= 1 {
		var rx, ry uint32
		if x&s != 0 {
			rx = 1
		}
		if y&s != 0 {
			ry = 1
		}
		d += s * s * ((3 * rx) ^ ry)
		if ry == 0 {
			if rx == 1 {
				x, y = ^x, ^y
			}
			x, y = y, x
		}
	}
	return d
}

func cell(f float64) uint32 { return uint32(max(0, min(65535, f*65536))) }
