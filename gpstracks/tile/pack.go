package tile

import (
	"math"
	"time"

	"github.com/paulmach/orb"

	"github.com/signalbox-dev/signalbox/gpstracks"
)

// A track of more than wholePoints points that is larger than a tile is cut into pieces of about
// piecePoints, each a feature of its own, so that a tile that shows a small part of it reads
// little of the rest.
const wholePoints, piecePoints = 192, 128

// Packer makes features of tracks. It keeps its memory from track to track; the
// zero value is ready, and is not safe for concurrent use.
//
// The geometry of a feature is its number, if it is a piece; its start from the corner of its
// bounds, x and y; and the commands of all lines as a tile has them, but for the first MoveTo.
// So what lies in a tile as a whole is copied behind a MoveTo.
type Packer struct {
	simplifier gpstracks.Simplifier
	plane      []gpstracks.XY
	points     []weighed
	steps      []step
}

// weighed is a point in units of MaxLevel.
type weighed struct {
	x, y, weight float64
	first        bool // of a line
}

// step is a point in units of a level.
type step struct {
	x, y  int32
	first bool // of a line
}

// Pack returns the features of a track that passed gpstracks.Prepare: those of its lines, from
// MaxLevel to the coarsest level at which it is Visible.
func (p *Packer) Pack(t *gpstracks.Track) (out []Feature) {
	p.weigh(t.Lines)
	f := Feature{ID: t.ID, place: hilbert(project(t.Bounds.Center())), words: [...]string{string(t.Activity), t.Source, t.Attribution}}
	f.values, f.flags = ownValues(t)
	for f.Level = MaxLevel; f.Level >= 0; f.Level-- {
		bounds, shows := p.quantise(f.Level)
		if !shows {
			break
		}
		if len(p.steps) > wholePoints && (bounds.MaxX-bounds.MinX > Extent || bounds.MaxY-bounds.MinY > Extent) {
			out = p.pieces(out, f)
			continue
		}
		f.Place, f.Bounds = f.place, bounds
		f.geometry = geometry(nil, p.steps, bounds)
		out = append(out, f)
	}
	return out
}

// pieces cuts the steps of a level.
func (p *Packer) pieces(out []Feature, f Feature) []Feature {
	n := (len(p.steps) + piecePoints - 1) / piecePoints
	from, flags := 0, f.flags|isPiece
	for i := range n {
		to := (i + 1) * len(p.steps) / n
		if to < len(p.steps) && p.steps[to-1].first { // a line begins with its second point
			to--
		}
		f.Piece, f.flags = i, flags
		if !p.steps[from].first {
			from, f.flags = from-1, flags|goesOn
		}
		own := p.steps[from:to]
		f.Bounds = boundsOf(own)
		f.Place = f.Bounds.place(f.Level)
		f.geometry = geometry(appendVarint(nil, uint64(i)), own, f.Bounds)
		out, from = append(out, f), to
	}
	return out
}

func boundsOf(steps []step) Window {
	w := nowhere()
	for _, s := range steps {
		w.grow(s.x, s.y)
	}
	return w
}

// geometry writes lines; the first step begins one in any case.
func geometry(dst []byte, steps []step, bounds Window) []byte {
	last := steps[0]
	dst = appendVarint(dst, uint64(last.x-bounds.MinX))
	dst = appendVarint(dst, uint64(last.y-bounds.MinY))
	for i := 0; i < len(steps); {
		if i > 0 {
			dst = appendDelta(append(dst, moveTo), last, steps[i])
		}
		end := i + 1
		for end < len(steps) && !steps[end].first {
			end++
		}
		dst = appendVarint(dst, uint64(end-i-1)<<3|lineTo)
		for last = steps[i]; i+1 < end; i++ {
			dst = appendDelta(dst, last, steps[i+1])
			last = steps[i+1]
		}
		i = end
	}
	return dst
}

func appendDelta(dst []byte, from, to step) []byte {
	return appendPair(dst, to.x-from.x, to.y-from.y)
}

// place is that of a window's middle.
func (w Window) place(level int) uint32 {
	unit := math.Exp2(-float64(level)) / Extent
	return hilbert((float64(w.MinX)+float64(w.MaxX))/2*unit, (float64(w.MinY)+float64(w.MaxY))/2*unit)
}

// weigh projects the lines and weighs their points.
func (p *Packer) weigh(lines orb.MultiLineString) {
	const grid = Extent << MaxLevel
	p.points = p.points[:0]
	for _, line := range lines {
		p.plane = p.plane[:0]
		for _, at := range line {
			x, y := project(at)
			p.plane = append(p.plane, gpstracks.XY{X: x * grid, Y: y * grid})
		}
		for i, w := range p.simplifier.Weights(p.plane) {
			p.points = append(p.points, weighed{p.plane[i].X, p.plane[i].Y, w, i == 0})
		}
	}
}

// quantise leaves out the points that the level, and so every coarser one, does not need, and
// puts the others on its grid. A line of a single unit is none there. It reports the bounds, and whether they are Visible.
func (p *Packer) quantise(level int) (bounds Window, shows bool) {
	tolerance, scale := simplifyTo*math.Exp2(float64(MaxLevel-level)), math.Exp2(float64(level-MaxLevel))
	points := p.points
	p.points, p.steps = p.points[:0], p.steps[:0]
	for _, q := range points {
		if q.weight <= tolerance {
			continue
		}
		p.points = append(p.points, q)
		s := step{int32(math.Round(q.x * scale)), int32(math.Round(q.y * scale)), q.first}
		n := len(p.steps)
		switch {
		case n > 0 && p.steps[n-1].first && q.first: // the line before had one step
			p.steps[n-1] = s
		case n == 0 || q.first || s.x != p.steps[n-1].x || s.y != p.steps[n-1].y:
			p.steps = append(p.steps, s)
		}
	}
	if n := len(p.steps); n > 0 && p.steps[n-1].first {
		p.steps = p.steps[:n-1]
	}
	bounds = boundsOf(p.steps)
	return bounds, len(p.steps) > 0 && (bounds.MaxX-bounds.MinX >= Visible || bounds.MaxY-bounds.MinY >= Visible)
}

// ownValues are the values that a track shares with no other, in the order of trackKeys, and
// which of them there are.
func ownValues(t *gpstracks.Track) (b []byte, flags uint16) {
	b = make([]byte, 0, 64+len(t.Name)+len(t.URL))
	b = appendUintValue(appendUintValue(b, uint64(t.ID)), uint64(t.LengthM+0.5))
	if t.Name != "" {
		b, flags = appendStringValue(b, t.Name), flags|hasName
	}
	if !t.RecordedOn.IsZero() {
		b, flags = appendStringValue(b, t.RecordedOn.UTC().Format(time.DateOnly)), flags|hasDay
	}
	if t.URL != "" {
		b, flags = appendStringValue(b, t.URL), flags|hasURL
	}
	return b, flags
}

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
