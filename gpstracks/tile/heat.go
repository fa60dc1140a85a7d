package tile

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/signalbox-dev/signalbox/gpstracks"
)

// The index of cells: for each zoom up to DensityZoom a grid over the world, and how many tracks pass through
// each of its cells, by activity and source. What a commit changes is written as a difference, which is negative
// for tracks that go, and differences are summed when blocks are put together. So to count many tracks
// costs no more than to count few.
const (
	cellBits   = 6 // a tile has 2^cellBits cells in a row, each of 8 pixels of 512
	cellsInRow = 1 << cellBits

	finestGrid   = DensityZoom + cellBits // grid n has 2^n cells in a row
	coarsestGrid = 4

	// Totals is the level of a single cell with all tracks, by attribution too.
	Totals    = MaxLevel + 1
	firstGrid = Totals + 1
)

// gridLevel is the level of the features of a grid.
func gridLevel(grid int) int { return firstGrid + grid - coarsestGrid }

// isGrid reports a level whose features count tracks.
func isGrid(level int) bool { return level >= Totals && level < firstBand }

// passages count tracks in a cell: how many there are, and how many start in it.
type passages struct {
	key            uint64 // grid, chunk, kind and cell
	tracks, starts int32
}

// The bits of a key. A chunk is the part of a grid that a tile shows, where the grid has so many.
const (
	keyCell  = 2 * cellBits
	keyKind  = 24
	keyChunk = finestGrid - cellBits // in one direction
)

// counter counts tracks. The zero value is ready.
type counter struct {
	words [][3]string
	kinds map[[3]string]uint64
	all   []passages
	cells []uint64
}

// kind is the number of a kind.
func (c *counter) kind(words [3]string) uint64 {
	n, ok := c.kinds[words]
	if !ok {
		if c.kinds == nil {
			c.kinds = map[[3]string]uint64{}
		}
		n = uint64(len(c.words))
		c.kinds[words], c.words = n, append(c.words, words)
	}
	return n
}

// add counts a track n times.
func (c *counter) add(t *gpstracks.Track, n int32) {
	full := [3]string{string(t.Activity), t.Source, t.Attribution}
	c.all = append(c.all, passages{c.kind(full) << keyCell, n, n})
	kind := c.kind([3]string{full[0], full[1]})
	c.cells = c.cells[:0]
	gpstracks.Walk(t.Lines, finestGrid, func(x, y int64) { c.cells = append(c.cells, uint64(y)<<32|uint64(x)) })
	start := c.cells[0]
	for grid := uint64(finestGrid); grid >= coarsestGrid; grid-- {
		slices.Sort(c.cells)
		c.cells = slices.Compact(c.cells)
		for i, at := range c.cells {
			x, y := at&(1<<32-1), at>>32
			key := (grid<<keyChunk|y>>cellBits)<<keyChunk | x>>cellBits
			p := passages{(key<<keyKind|kind)<<keyCell | y%cellsInRow<<cellBits | x%cellsInRow, n, 0}
			if at == start {
				p.starts = n
			}
			c.all = append(c.all, p)
			c.cells[i] = at >> 1 & 0x7fffffff_7fffffff
		}
		start = start >> 1 & 0x7fffffff_7fffffff
	}
}

// features returns the counts by chunk and kind.
func (c *counter) features() (out []Feature) {
	slices.SortFunc(c.all, func(a, b passages) int { return cmp.Compare(a.key, b.key) })
	for from := 0; from < len(c.all); {
		to, key := from, c.all[from].key>>keyCell
		cells := map[int][2]int32{}
		for ; to < len(c.all) && c.all[to].key>>keyCell == key; to++ {
			p := &c.all[to]
			count(cells, int(p.key&(1<<keyCell-1)), p.tracks, p.starts)
		}
		from = to
		chunk := int64(key >> keyKind)
		x, y, grid := int32(chunk&(1<<keyChunk-1)), int32(chunk>>keyChunk&(1<<keyChunk-1)), int(chunk>>(2*keyChunk))
		f := Feature{Level: Totals, ID: chunk, words: c.words[key&(1<<keyKind-1)]}
		if grid > 0 {
			f.Level = gridLevel(grid)
		}
		f.Bounds = Window{x << cellBits, y << cellBits, (x+1)<<cellBits - 1, (y+1)<<cellBits - 1}
		f.place = f.Bounds.place(grid - extentBits)
		f.Place, f.values = f.place, appendUintValue(appendUintValue(nil, uint64(chunk)), 0)
		if f.geometry = appendCells(cells); len(f.geometry) > 0 {
			out = append(out, f)
		}
	}
	return out
}

func count(cells map[int][2]int32, cell int, tracks, starts int32) {
	n := cells[cell]
	cells[cell] = [2]int32{n[0] + tracks, n[1] + starts}
}

// appendCells writes counts: the distance from the cell before, whether tracks start in it, and the numbers.
func appendCells(cells map[int][2]int32) (b []byte) {
	last := 0
	for _, cell := range slices.Sorted(maps.Keys(cells)) {
		n := cells[cell]
		head := uint64(cell-last) << 1
		switch {
		case n[1] != 0:
			b = appendVarint(appendVarint(appendVarint(b, head|1), zigzag(n[0])), zigzag(n[1]))
		case n[0] != 0:
			b = appendVarint(appendVarint(b, head), zigzag(n[0]))
		default:
			continue
		}
		last = cell
	}
	return b
}

// cellReader reads what appendCells wrote.
type cellReader struct {
	rest           []byte
	cell           int
	tracks, starts int32
	damaged        bool
}

// next reads the next cell, if there is one.
func (r *cellReader) next() bool {
	if len(r.rest) == 0 || r.damaged {
		return false
	}
	head, i := varint(r.rest, 0)
	tracks, i := varint(r.rest, i)
	starts := uint64(0)
	if head&1 != 0 {
		starts, i = varint(r.rest, i)
	}
	r.cell += int(head >> 1)
	if r.damaged = i > len(r.rest) || r.cell >= 1<<keyCell; r.damaged {
		return false
	}
	r.rest, r.tracks, r.starts = r.rest[i:], unzigzag(tracks), unzigzag(starts)
	return true
}

// sum puts the counts of a chunk and a kind together, which follow each other. What is damaged stays as it is.
func sum(features []*Feature) (out []*Feature) {
	for len(features) > 0 {
		n, whole, cells := 0, true, map[int][2]int32{}
		for ; n < len(features) && features[n].ID == features[0].ID && features[n].words == features[0].words; n++ {
			r := cellReader{rest: features[n].geometry}
			for r.next() {
				count(cells, r.cell, r.tracks, r.starts)
			}
			whole = whole && !r.damaged
		}
		if one := *features[0]; n > 1 && whole {
			if one.geometry = appendCells(cells); len(one.geometry) > 0 {
				out = append(out, &one)
			}
		} else {
			out = append(out, features[:n]...)
		}
		features = features[n:]
	}
	return out
}

// The bands of a level that has the density: its tracks by length, so that a tile of a place with very many need
// not look at those that it has no room for. The levels of the others follow that of the shortest.
var bandsFrom = [...]uint64{ // metres: most tracks are of 8 to 40 km
	4000, 5657, 8000, 9514, 11314, 13454, 16000, 19027, 22627, 26909, 32000, 38055, 45255, 64000, 90510, 128000, 181019,
}

const (
	bands     = len(bandsFrom) + 1
	firstBand = firstGrid + finestGrid - coarsestGrid + 1

	// Levels is the number of levels of features that a store keeps.
	Levels = firstBand + (DensityZoom+1)*(bands-1)
)

// bandLevel is the level of a band of those of the lines.
func bandLevel(level, band int) int {
	if band == 0 {
		return level
	}
	return firstBand + level*(bands-1) + band - 1
}

// Shelf is the level that a store keeps the feature in: for lines of a zoom with density one for each band of lengths.
func (f *Feature) Shelf() int {
	if f.Level > DensityZoom {
		return f.Level
	}
	_, metres, _ := ownNumbers(f.values)
	band, found := slices.BinarySearch(bandsFrom[:], metres)
	if found {
		band++
	}
	return bandLevel(f.Level, band)
}

// heat counts the tracks of a record of a grid.
func (e *Encoder) heat(b *block, record []byte, words int) bool {
	c := candidate{record: record, words: words}
	if !valid(b, record) {
		return false
	}
	if !e.passes(&c) {
		return true
	}
	_, geometry, ok := parts(record)
	if !ok {
		return false
	}
	d, kind := &e.density, e.kindOf(e.word(&c, 0), e.word(&c, 1))
	x, y := int32(binary.LittleEndian.Uint32(record[recordWindow:])), int32(binary.LittleEndian.Uint32(record[recordWindow+4:]))
	r := cellReader{rest: geometry}
	for r.next() {
		column, row := x+int32(r.cell%cellsInRow)-e.window.MinX, y+int32(r.cell/cellsInRow)-e.window.MinY
		if column < 0 || row < 0 || column > e.window.MaxX-e.window.MinX || row > e.window.MaxY-e.window.MinY {
			continue
		}
		at := &d.table[(kind*cellsInRow+uint32(row))*cellsInRow+uint32(column)]
		if *at == 0 {
			d.counted = append(d.counted, counted{row: uint32(row), column: uint32(column), kind: kind})
			*at = uint32(len(d.counted))
		}
		d.counted[*at-1].tracks += int64(r.tracks)
		d.counted[*at-1].starts += int64(r.starts)
	}
	return !r.damaged
}
