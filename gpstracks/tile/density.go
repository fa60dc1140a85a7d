package tile

import (
	"context"
	"slices"
	"strings"
)

// The density: a second layer of points, in the middle of each cell that tracks pass through, so that no
// overview is empty and ways that many take are seen.
const (
	DensityLayer = "gps_density"
	DensityZoom  = 9 // deepest zoom whose tiles have it

	densityBytes = 1 << 17 // above it, cells are those of the grid before
)

// The properties of a cell's point: besides these, for each of its kinds of tracks a number, named
// activity/source, and the number of those that start in it, named activity/source/starts. So each track
// counts in every cell that it passes, and starts in one of each zoom.
var cellKeys = [...]string{"count", "activity"} // activity: the most frequent one, of equal ones the first by name

// counted are the tracks of a cell and a kind.
type counted struct {
	row, column    uint32 // of the cell
	kind           uint32
	tracks, starts int64
}

// kind is an activity and a source that tracks share.
type kind struct {
	name, activity string
	startsName     string
	rank           uint32 // among all kinds by name
	key, starts    int    // in the layer, + 1; 0 = not there yet
}

// density counts tracks while a tile is made. It keeps its memory from tile to tile: kinds have numbers, and a table
// says where one of a cell is counted.
type density struct {
	kinds   []kind
	pairs   map[uint64]uint32 // kinds by the numbers of their words
	table   []uint32          // by kind and cell: where it is counted, + 1
	counted []counted
	order   []uint64 // of what is counted: place, rank and index
	keys    []string
	numbers map[uint64]int // values that are in the layer: where
	words   map[string]int
	body    []byte // the layer, until the tracks stand before it
}

// forget drops the kinds, when the words get other numbers.
func (d *density) forget() {
	d.reset()
	clear(d.pairs)
	d.kinds, d.table = d.kinds[:0], d.table[:0]
}

// reset begins a tile.
func (d *density) reset() {
	for i := range d.counted {
		c := &d.counted[i]
		d.table[(c.kind*cellsInRow+c.row)*cellsInRow+c.column] = 0
	}
	d.counted = d.counted[:0]
}

// kindOf is the number of the kind of two words.
func (e *Encoder) kindOf(activity, source int) uint32 {
	d := &e.density
	pair := uint64(activity+1)<<32 | uint64(source+1)
	n, known := d.pairs[pair]
	if !known {
		n = uint32(len(d.kinds))
		d.pairs[pair] = n
		text := e.text(activity)
		name := text + "/" + e.text(source)
		d.kinds = append(d.kinds, kind{name: name, activity: text, startsName: name + "/starts"})
		d.table = append(d.table, make([]uint32, cellsInRow*cellsInRow)...)
		ranks := make([]uint32, len(d.kinds))
		for i := range ranks {
			ranks[i] = uint32(i)
		}
		slices.SortFunc(ranks, func(a, b uint32) int { return strings.Compare(d.kinds[a].name, d.kinds[b].name) })
		for rank, i := range ranks {
			d.kinds[i].rank = uint32(rank)
		}
	}
	return n
}

// appendDensity appends the layer of a tile that has one: nothing if no track passes through it. It sets some if there
// are cells in it or around it; without any, nothing is drawn in the tile's buffer either.
func (e *Encoder) appendDensity(ctx context.Context, dst []byte, src Source) ([]byte, error) {
	e.some = false
	for grid := e.tile.Z + cellBits; ; grid-- {
		size := int32(1) << (grid - e.tile.Z)
		x, y := int32(e.tile.X)*size, int32(e.tile.Y)*size
		e.level, e.window = gridLevel(grid), Window{x, y, x + size - 1, y + size - 1}
		e.numbers = e.numbers[:0]
		d := &e.density
		d.reset()
		if err := src.Blocks(ctx, e.level, Window{x - 1, y - 1, x + size, y + size}, e.add); err != nil {
			return dst, err
		}
		e.cells(Extent / size)
		if e.count == 0 {
			return dst, nil
		}
		if grid == coarsestGrid || e.size() <= densityBytes {
			return e.layer.append(dst, DensityLayer, d.keys...), nil
		}
	}
}

// cells writes the layer, with cells of so many units: in rows, and the kinds of one by name.
func (e *Encoder) cells(side int32) {
	d := &e.density
	d.order = d.order[:0]
	for i := range d.counted {
		c := &d.counted[i]
		if c.tracks <= 0 { // all of them have gone
			continue
		}
		place := uint64(c.row*cellsInRow + c.column)
		d.order = append(d.order, place<<placeBits|uint64(d.kinds[c.kind].rank)<<indexBits|uint64(i))
	}
	slices.Sort(d.order)
	e.layer.reset()
	d.keys = append(d.keys[:0], cellKeys[:]...)
	for i := range d.kinds {
		d.kinds[i].key, d.kinds[i].starts = 0, 0
	}
	clear(d.numbers)
	clear(d.words)
	for at := 0; at < len(d.order); {
		end := at + 1
		for end < len(d.order) && d.order[end]>>placeBits == d.order[at]>>placeBits {
			end++
		}
		e.cell(d.order[at:end], side)
		at = end
	}
}

// An order has 28 bits of index, 24 of rank and 12 of place.
const indexBits, placeBits = 28, 52

// cell writes the point of a cell. Those of an activity follow each other.
func (e *Encoder) cell(all []uint64, side int32) {
	d := &e.density
	var total, own, most int64
	last, strongest := "", ""
	tags := e.tags[:0]
	for _, at := range all {
		one := &d.counted[at&(1<<indexBits-1)]
		kind := &d.kinds[one.kind]
		total += one.tracks
		if kind.activity != last {
			own, last = 0, kind.activity
		}
		if own += one.tracks; own > most {
			most, strongest = own, kind.activity
		}
		tags = e.tag(tags, &kind.key, kind.name, one.tracks)
		if one.starts > 0 {
			tags = e.tag(tags, &kind.starts, kind.startsName, one.starts)
		}
	}
	tags = appendVarint(append(tags, 1), valueOf(&e.layer, d.words, strongest, appendStringValue))
	tags = appendVarint(append(tags, 0), valueOf(&e.layer, d.numbers, uint64(total), appendUintValue))
	first := &d.counted[all[0]&(1<<indexBits-1)]
	at := append(e.path.geometry[:0], moveTo)
	at = appendPair(at, int32(first.column)*side+side/2, int32(first.row)*side+side/2)
	b := append(appendVarint(append(e.scratch[:0], tagTags), uint64(len(tags))), tags...)
	b = append(append(b, tagType, point, tagGeometry, byte(len(at))), at...)
	e.features = append(appendVarint(append(e.features, tagFeature), uint64(len(b))), b...)
	e.scratch, e.tags, e.path.geometry = b, tags, at
}

// tag appends a number of a kind, whose key is there from its first use on.
func (e *Encoder) tag(tags []byte, key *int, name string, n int64) []byte {
	d := &e.density
	if *key == 0 {
		d.keys = append(d.keys, name)
		*key = len(d.keys)
	}
	return appendVarint(appendVarint(tags, uint64(*key-1)), valueOf(&e.layer, d.numbers, uint64(n), appendUintValue))
}

// valueOf returns the place of a value in the layer, which is written where it is not known.
func valueOf[T comparable](l *layer, known map[T]int, v T, write func([]byte, T) []byte) uint64 {
	at, ok := known[v]
	if !ok {
		at = l.count
		known[v] = at
		l.values, l.count = write(l.values, v), at+1
	}
	return uint64(at)
}
