package gpstracks

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/paulmach/orb"
)

// How the cells of a line are taken. On real files and copies of them (five decimals, simplified to
// 10 m, 3 m of noise, ends cut off) at least 97 in 100 copies of more than 1.5 km share nine cells in ten at this
// zoom; wider cells tell short tracks apart worse, narrower ones do not bring more together.
const (
	cellZoom    = 18      // of the Mercator square: 106 m at 46 degrees
	cellsKept   = 256     // hashes of a sketch: a share of 0.9 is estimated to 0.02
	cellsMost   = 1 << 22 // that are looked at: of a longer line its beginning
	markCount   = 6       // of a sketch: of two that are just alike one mark is the same in 98 of 100 cases
	alikeFrom   = 0.9     // share of cells from which two lines take the same way
	trimmedFrom = 0.82    // share from which a part of a line is all of it but for its ends
	fewCells    = 3       // below which cells alone say too little
	longer      = 1.15    // lengths of the same way: rounds and ways back are other tracks
)

// Cells is a sketch of the cells along a line: how many there are, and the least of their
// hashes, ascending. It says which lines take the same way, either way round, and not where that is.
type Cells struct {
	N   int
	Low []uint32
}

// errCells is the error of every damaged sketch.
var errCells = errors.New("gps track: stored cells are damaged: collect the track again")

// CellsOf sketches lines.
func CellsOf(lines orb.MultiLineString) Cells {
	var all []uint32
	Walk(lines, cellZoom, func(x, y int64) { all = append(all, hashCell(x, y)) })
	slices.Sort(all)
	all = slices.Compact(all)
	return Cells{len(all), slices.Clone(all[:min(len(all), cellsKept)])}
}

// Walk visits the cells that lines cross, of a Mercator square of 2^zoom cells each way, from the north-west.
// Those that follow each other differ; at most 4 million are visited.
func Walk(lines orb.MultiLineString, zoom int, visit func(x, y int64)) {
	w := walker{size: math.Exp2(float64(zoom)), x: -1, left: cellsMost, visit: visit}
	for _, line := range lines {
		var fromX, fromY float64
		for i, p := range line {
			x, y := w.at(p)
			if i == 0 {
				fromX, fromY = x, y
			}
			w.cross(fromX, fromY, x, y)
			fromX, fromY = x, y
		}
	}
}

// walker is on its way along lines.
type walker struct {
	size  float64 // cells in a row
	x, y  int64   // where it is
	left  int     // cells that it visits yet
	visit func(x, y int64)
}

func (w *walker) at(p orb.Point) (x, y float64) {
	lat := max(-maxLatitude, min(maxLatitude, p[1])) * math.Pi / 180
	last := math.Nextafter(w.size, 0)
	return min(last, (p[0]/360+0.5)*w.size), max(0, min(last, (0.5-math.Asinh(math.Tan(lat))/(2*math.Pi))*w.size))
}

// maxLatitude is where the Mercator square ends.
const maxLatitude = 85.05112877980659

// cross visits the cells that a segment crosses.
func (w *walker) cross(x0, y0, x1, y1 float64) {
	x, y, toX, toY := int64(math.Floor(x0)), int64(math.Floor(y0)), int64(math.Floor(x1)), int64(math.Floor(y1))
	stepX, nextX, everyX := crossings(x0, x1)
	stepY, nextY, everyY := crossings(y0, y1)
	for left := abs(toX-x) + abs(toY-y); ; left-- {
		if (x != w.x || y != w.y) && w.left > 0 {
			w.x, w.y, w.left = x, y, w.left-1
			w.visit(x, y)
		}
		switch {
		case left <= 0 || w.left == 0:
			return
		case x != toX && (nextX < nextY || y == toY):
			x, nextX = x+stepX, nextX+everyX
		default:
			y, nextY = y+stepY, nextY+everyY
		}
	}
}

// crossings is the direction of a segment in one dimension, and at which shares of it it crosses cells.
func crossings(from, to float64) (step int64, first, every float64) {
	switch d := to - from; {
	case d > 0:
		return 1, (math.Floor(from) + 1 - from) / d, 1 / d
	case d < 0:
		return -1, (math.Floor(from) - from) / d, -1 / d
	}
	return 0, math.Inf(1), 0
}

func abs(n int64) int64 { return max(n, -n) }

func hashCell(x, y int64) uint32 { return uint32(mix(uint64(x)<<32|uint64(uint32(y))) >> 32) }

// mix is the finalizer of SplitMix64.
func mix(h uint64) uint64 {
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// Marks find sketches that may be alike: such have one in common. Each is of two neighbours among
// the least hashes, so that it is rare where many tracks share a cell.
func (c Cells) Marks() []int64 {
	var marks []int64
	for i := 0; i < len(c.Low) && len(marks) < markCount; i++ {
		if i > 0 || len(c.Low) == 1 {
			marks = append(marks, int64(mix(uint64(c.Low[max(i-1, 0)])<<32|uint64(c.Low[i]))))
		}
	}
	return marks
}

// Shared is the share of the cells of the longer of two lines that is the other one's too: an
// estimate where there are more than 256.
func (c Cells) Shared(o Cells) float64 {
	both, all := c.common(o)
	if all == 0 {
		return 0
	}
	return min(1, float64(both)/float64(all+both)*float64(c.N+o.N)/float64(max(c.N, o.N)))
}

// common counts the least hashes of the union, and how many of them both have.
func (c Cells) common(o Cells) (both, all int) {
	for i, j := 0, 0; (i < len(c.Low) || j < len(o.Low)) && all < cellsKept; all++ {
		switch {
		case j == len(o.Low) || i < len(c.Low) && c.Low[i] < o.Low[j]:
			i++
		case i == len(c.Low) || o.Low[j] < c.Low[i]:
			j++
		default:
			i, j, both = i+1, j+1, both+1
		}
	}
	return both, all
}

// isTrimmed reports that one of two lines of at most 256 cells has all cells of the other and few more: where ends were
// cut off, a short line loses more than a tenth.
func (c Cells) isTrimmed(o Cells) bool {
	both, _ := c.common(o)
	return both == min(c.N, o.N) && (max(c.N, o.N)-both <= 2 || c.Shared(o) >= trimmedFrom)
}

// AppendCells writes a sketch as stores keep it.
func AppendCells(dst []byte, c Cells) []byte {
	dst = binary.AppendUvarint(dst, uint64(c.N))
	for _, h := range c.Low {
		dst = binary.LittleEndian.AppendUint32(dst, h)
	}
	return dst
}

// ParseCells reads what AppendCells wrote; nothing is a sketch of nothing.
func ParseCells(b []byte) (c Cells, err error) {
	if len(b) == 0 {
		return c, nil
	}
	n, used := binary.Uvarint(b)
	if used <= 0 || n > cellsMost || len(b)-used != 4*int(min(n, cellsKept)) {
		return c, errCells
	}
	c.N = int(n)
	for b = b[used:]; len(b) > 0; b = b[4:] {
		c.Low = append(c.Low, binary.LittleEndian.Uint32(b))
	}
	return c, nil
}

// isSame reports whether two tracks are one: nine of ten cells are the same, or one is the other without its ends, the lengths differ by
// less than 15 in 100, the days are equal or unknown, and the times, if known, are not one after the other.
func isSame(a, b *Track) bool {
	timed := !a.StartedAt.IsZero() && !b.StartedAt.IsZero()
	return (a.RecordedOn.IsZero() || b.RecordedOn.IsZero() || a.RecordedOn.Equal(b.RecordedOn)) &&
		!(timed && (a.EndedAt.Before(b.StartedAt) || b.EndedAt.Before(a.StartedAt))) &&
		(isNear(a, b) || min(a.Cells.N, b.Cells.N) >= fewCells &&
			max(a.Bounds.Max[1], -a.Bounds.Min[1], b.Bounds.Max[1], -b.Bounds.Min[1]) <= maxLatitude) &&
		max(a.LengthM, b.LengthM) <= longer*min(a.LengthM, b.LengthM) &&
		(a.Cells.Shared(b.Cells) >= alikeFrom || a.Cells.isTrimmed(b.Cells))
}

// isNear reports two tracks that end within some ten metres of each other: short ones in the same few cells, or ones near a
// pole, where all cells are of one row. A removal, which has no bounds, is near everything.
func isNear(a, b *Track) bool {
	const most = 0.0001 // degrees
	none, x, y := orb.Bound{}, a.Bounds, b.Bounds
	return x == none || y == none || math.Abs(x.Min[0]-y.Min[0])+math.Abs(x.Max[0]-y.Max[0]) < 2*most &&
		math.Abs(x.Min[1]-y.Min[1])+math.Abs(x.Max[1]-y.Max[1]) < 2*most
}

// Index finds the same track among many. The zero value is empty.
type Index struct {
	tracks []*Track
	byKey  map[string]int
	byMark map[int64][]int
}

// Add adds a track, which must not move, and may take what it lacks.
func (x *Index) Add(t *Track) {
	if x.byKey == nil {
		x.byKey, x.byMark = map[string]int{}, map[int64][]int{}
	}
	i := len(x.tracks)
	if x.tracks = append(x.tracks, t); t.Key != "" {
		x.byKey[t.Key] = i
	}
	for _, m := range t.Cells.Marks() {
		x.byMark[m] = append(x.byMark[m], i)
	}
}

// Find returns the place of the first track, in the order of Add, that is the same; -1 if there is none.
func (x *Index) Find(t *Track) int {
	if i, ok := x.byKey[t.Key]; ok {
		return i
	}
	first := -1
	for _, m := range t.Cells.Marks() {
		for _, i := range x.byMark[m] {
			if first >= 0 && i >= first {
				break
			}
			if isSame(x.tracks[i], t) {
				first = i
			}
		}
	}
	return first
}
