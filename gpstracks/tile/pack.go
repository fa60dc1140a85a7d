package tile

import (
	"encoding/binary"
	"math"

	"github.com/paulmach/orb"

	"github.com/signalbox-dev/signalbox/gpstracks"
)

// Feature is a track made ready for one level.
type Feature struct {
	Level       int
	ID          int64
	Place       uint32 // along a Hilbert curve: features near each other belong in one block
	Activity    string
	Source      string
	Attribution string
	Bounds      Window
	Record      []byte // as a block holds it, but for the numbers of the words above
}

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
	chunks     []byte // their headers
	deltas     []byte
}

// weighed is a point in units of MaxLevel.
type weighed struct{ x, y, weight float64 }

// Pack returns the features of a track that passed gpstracks.Prepare, from
// MaxLevel to the coarsest level at which it is Visible.
func (p *Packer) Pack(t *gpstracks.Track) []Feature {
	p.begin(t)
	var out []Feature
	for level := MaxLevel; level >= 0; level-- {
		f, visible := p.feature(t, level)
		if !visible {
			break
		}
		out = append(out, f)
	}
	return out
}

// PackLevel returns one of the features that Pack returns, at the level, if there
// is one: for whoever shows a track that is in no block yet.
func (p *Packer) PackLevel(t *gpstracks.Track, level int) (f Feature, visible bool) {
	p.begin(t)
	return p.feature(t, level)
}

func (p *Packer) begin(t *gpstracks.Track) {
	p.weigh(t.Lines)
	p.ownValues(t)
	p.place = hilbert(t.Bounds.Center())
}

// feature makes that of a level. Levels are asked for from the finest on.
func (p *Packer) feature(t *gpstracks.Track, level int) (f Feature, visible bool) {
	p.thin(level)
	bounds, chunks := p.level(level)
	if chunks == 0 || bounds.MaxX-bounds.MinX < Visible && bounds.MaxY-bounds.MinY < Visible {
		return f, false
	}
	r := make([]byte, recordHeader, recordHeader+len(p.own)+len(p.chunks)+len(p.deltas))
	binary.LittleEndian.PutUint64(r[recordID:], uint64(t.ID))
	binary.LittleEndian.PutUint32(r[recordMetres:], uint32(min(t.LengthM+0.5, math.MaxUint32)))
	binary.LittleEndian.PutUint16(r[recordFlags:], p.flags)
	binary.LittleEndian.PutUint32(r[recordOwn:], uint32(len(p.own)))
	binary.LittleEndian.PutUint32(r[recordChunks:], uint32(chunks))
	binary.LittleEndian.PutUint32(r[recordPlace:], p.place)
	return Feature{
		Level: level, ID: t.ID, Place: p.place, Activity: string(t.Activity), Source: t.Source, Attribution: t.Attribution,
		Bounds: bounds, Record: append(append(append(r, p.own...), p.chunks...), p.deltas...),
	}, true
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

// level writes the chunks of all lines in the level's grid.
func (p *Packer) level(level int) (bounds Window, chunks int) {
	p.chunks, p.deltas, bounds = p.chunks[:0], p.deltas[:0], nowhere()
	scale := math.Exp2(float64(level - MaxLevel))
	for i, start := range p.starts {
		end := len(p.points)
		if i+1 < len(p.starts) {
			end = p.starts[i+1]
		}
		n, b := p.line(p.points[start:end], scale)
		if chunks += n; n > 0 {
			bounds.grow(b.MinX, b.MinY)
			bounds.grow(b.MaxX, b.MaxY)
		}
	}
	return bounds, chunks
}

// line writes the chunks of one line, none if it is a single unit.
func (p *Packer) line(line []weighed, scale float64) (chunks int, bounds Window) {
	bounds = nowhere()
	var c chunk
	for i, q := range line {
		x, y := int32(math.Round(q.x*scale)), int32(math.Round(q.y*scale))
		switch {
		case i == 0:
			c = chunk{bounds: nowhere(), startX: x, startY: y, endX: x, endY: y, first: true}
			c.bounds.grow(x, y)
			continue
		case x == c.endX && y == c.endY:
			continue
		case c.points == chunkPoints:
			p.endChunk(&c, &bounds)
			chunks++
		}
		before := len(p.deltas)
		p.deltas = appendVarint(p.deltas, zigzag(x-c.endX))
		p.deltas = appendVarint(p.deltas, zigzag(y-c.endY))
		c.size += len(p.deltas) - before
		c.endX, c.endY = x, y
		c.bounds.grow(x, y)
		c.points++
	}
	if c.points == 0 {
		return chunks, bounds
	}
	p.endChunk(&c, &bounds)
	return chunks + 1, bounds
}

// endChunk writes a chunk and begins the next where it ended.
func (p *Packer) endChunk(c *chunk, bounds *Window) {
	bounds.grow(c.bounds.MinX, c.bounds.MinY)
	bounds.grow(c.bounds.MaxX, c.bounds.MaxY)
	p.chunks = c.append(p.chunks)
	*c = chunk{bounds: nowhere(), startX: c.endX, startY: c.endY, endX: c.endX, endY: c.endY}
	c.bounds.grow(c.startX, c.startY)
}

// ownValues writes the values that a track shares with no other, in the order of
// ownKeys.
func (p *Packer) ownValues(t *gpstracks.Track) {
	p.flags = 0
	b := appendUintValue(p.own[:0], uint64(t.ID))
	b = appendUintValue(b, uint64(t.LengthM+0.5))
	if t.Name != "" {
		b, p.flags = appendStringValue(b, t.Name), p.flags|hasName
	}
	if !t.RecordedOn.IsZero() {
		b, p.flags = appendStringValue(b, t.RecordedOn.UTC().Format("2006-01-02")), p.flags|hasDay
	}
	if t.URL != "" {
		b, p.flags = appendStringValue(b, t.URL), p.flags|hasURL
	}
	p.own = b
}

// hilbert is the place of a point on a Hilbert curve through 65536 × 65536 cells.
func hilbert(p orb.Point) uint32 {
	fx, fy := project(p)
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
