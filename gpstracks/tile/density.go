package tile

import (
	"context"
	"math"
	"slices"
	"strings"
)

// The density: a second layer of points, so that no overview is empty. Each track is counted
// once in a zoom, whatever its size and however many lines it has: in the cell that holds its
// dot, the middle one of its points. A point lies at the mean of its cell's dots.
const (
	DensityLayer = "gps_density"
	DensityZoom  = 9            // deepest zoom whose tiles have it
	Dots         = MaxLevel + 1 // the level of the dots, one for each track, on the grid of DensityZoom
	Levels       = Dots + 1     // of features that a store keeps

	cellUnits    = 64      // side of a cell in units of the tile: 8 pixels of 512
	densityBytes = 1 << 17 // above it, cells are put together by four
)

// The properties of a cell's point: besides these, a number for each of its kinds
// of tracks, named activity/source.
var cellKeys = [...]string{"count", "activity"} // activity: the most frequent one, of equal ones the first by name

// dot is the feature by which a track is counted. The points must be weighed, and not quantised yet.
func (p *Packer) dot(f Feature) Feature {
	const scale, last = 1 << (MaxLevel - DensityZoom), Extent<<DensityZoom - 1
	unit := func(v float64) int32 { return int32(max(0, min(last, math.Floor(v/scale)))) }
	f.Level, f.Bounds = Dots, nowhere()
	for _, q := range p.points {
		f.Bounds.grow(unit(q.x), unit(q.y))
	}
	middle := p.points[len(p.points)/2]
	f.Place, f.flags = f.place, 0
	f.geometry = appendVarint(nil, uint64(unit(middle.x)-f.Bounds.MinX))
	f.geometry = appendVarint(f.geometry, uint64(unit(middle.y)-f.Bounds.MinY))
	return f
}

// counted are the tracks of a cell and a kind: their number, and the sums of their places in
// the tile.
type counted struct {
	row, column  uint32 // of the cell
	kind         uint32
	tracks, x, y uint64
}

// kind is an activity and a source that tracks share.
type kind struct {
	name, activity string
	rank           uint32 // among all kinds by name
	key            int    // in the layer, + 1; 0 = not there yet
}

// cellsInRow is the number of cells in a row of a tile.
const cellsInRow = Extent / cellUnits

// density counts tracks while a tile is made. It keeps its memory from tile to tile. Nothing is
// hashed and no text compared for a track: kinds have numbers, and a table says where one of a
// cell is counted.
type density struct {
	kinds   []kind
	pairs   map[uint64]uint32 // kinds by the numbers of their words
	recent  [64]struct{ pair, kind uint64 }
	table   []uint32 // by kind and cell: where it is counted, + 1
	counted []counted
	order   []uint64 // of what is counted: place, rank and index
	keys    []string
	numbers map[uint64]int // values that are in the layer: where
	words   map[string]int
}

// forget drops the kinds, when the words get other numbers.
func (d *density) forget() {
	d.reset()
	clear(d.pairs)
	d.kinds, d.table, d.recent = d.kinds[:0], d.table[:0], [64]struct{ pair, kind uint64 }{}
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
	slot := &d.recent[(pair>>32*7+pair)%uint64(len(d.recent))]
	if slot.pair == pair && pair != 0 {
		return uint32(slot.kind)
	}
	n, known := d.pairs[pair]
	if !known {
		n = uint32(len(d.kinds))
		d.pairs[pair] = n
		text := e.text(activity)
		d.kinds = append(d.kinds, kind{name: text + "/" + e.text(source), activity: text})
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
	slot.pair, slot.kind = pair, uint64(n)
	return n
}

// appendDensity appends the layer of a tile that has one: nothing if no track is counted in it.
func (e *Encoder) appendDensity(ctx context.Context, dst []byte, src Source) ([]byte, error) {
	size := int32(Extent) << (DensityZoom - e.tile.Z)
	x, y := int32(e.tile.X)*size, int32(e.tile.Y)*size
	e.level, e.window = Dots, Window{x, y, x + size - 1, y + size - 1}
	e.numbers = e.numbers[:0]
	d := &e.density
	d.reset()
	if err := src.Blocks(ctx, Dots, e.window, e.add); err != nil || len(d.counted) == 0 {
		return dst, err
	}
	for larger := uint32(0); ; larger++ {
		e.cells(larger)
		if cellsInRow>>larger == 1 || e.size() <= densityBytes {
			return e.layer.append(dst, DensityLayer, d.keys...), nil
		}
	}
}

// dot counts the track of a record.
func (e *Encoder) dot(b *block, record []byte, words int) bool {
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
	x, y, _, ok := start(geometry, window(record[recordWindow:]))
	if !e.window.holds(Window{x, y, x, y}) {
		return ok
	}
	k := DensityZoom - e.tile.Z
	x, y = (x-e.window.MinX)>>k, (y-e.window.MinY)>>k
	d := &e.density
	spot := counted{row: uint32(y) / cellUnits, column: uint32(x) / cellUnits, kind: e.kindOf(e.word(&c, 0), e.word(&c, 1))}
	at := &d.table[(spot.kind*cellsInRow+spot.row)*cellsInRow+spot.column]
	if *at == 0 {
		d.counted = append(d.counted, spot)
		*at = uint32(len(d.counted))
	}
	one := &d.counted[*at-1]
	one.tracks, one.x, one.y = one.tracks+1, one.x+uint64(x), one.y+uint64(y)
	return ok
}

// cells writes the layer with cells that are 2^larger times larger: in rows, and the kinds of one by
// name.
func (e *Encoder) cells(larger uint32) {
	d := &e.density
	d.order = d.order[:0]
	for i := range d.counted {
		c := &d.counted[i]
		place := uint64(c.row>>larger*cellsInRow + c.column>>larger)
		d.order = append(d.order, place<<placeBits|uint64(d.kinds[c.kind].rank)<<indexBits|uint64(i))
	}
	slices.Sort(d.order)
	e.layer.reset()
	d.keys = append(d.keys[:0], cellKeys[:]...)
	for i := range d.kinds {
		d.kinds[i].key = 0
	}
	clear(d.numbers)
	clear(d.words)
	for at := 0; at < len(d.order); {
		end := at + 1
		for end < len(d.order) && d.order[end]>>placeBits == d.order[at]>>placeBits {
			end++
		}
		e.cell(d.order[at:end])
		at = end
	}
}

// An order has 28 bits of index, 24 of rank and 12 of place.
const indexBits, placeBits = 28, 52

// cell writes the point of a cell. Those of a kind follow each other.
func (e *Encoder) cell(all []uint64) {
	d := &e.density
	var total counted
	own, most, last, strongest := uint64(0), uint64(0), "", ""
	tags := e.tags[:0]
	for i := 0; i < len(all); {
		number, n := d.counted[all[i]&(1<<indexBits-1)].kind, uint64(0)
		for ; i < len(all); i++ {
			one := &d.counted[all[i]&(1<<indexBits-1)]
			if one.kind != number {
				break
			}
			n, total.tracks, total.x, total.y = n+one.tracks, total.tracks+one.tracks, total.x+one.x, total.y+one.y
		}
		kind := &d.kinds[number]
		if kind.activity != last {
			own, last = 0, kind.activity
		}
		if own += n; own > most {
			most, strongest = own, kind.activity
		}
		if kind.key == 0 {
			d.keys = append(d.keys, kind.name)
			kind.key = len(d.keys)
		}
		tags = appendVarint(appendVarint(tags, uint64(kind.key-1)), e.numberValue(n))
	}
	tags = appendVarint(append(tags, 1), e.wordValue(strongest))
	tags = appendVarint(append(tags, 0), e.numberValue(total.tracks))
	at := append(e.path.geometry[:0], moveTo)
	at = appendVarint(appendVarint(at, zigzag(int32(total.x/total.tracks))), zigzag(int32(total.y/total.tracks)))
	b := append(appendVarint(append(e.scratch[:0], tagTags), uint64(len(tags))), tags...)
	b = append(append(b, tagType, point, tagGeometry, byte(len(at))), at...)
	e.features = append(appendVarint(append(e.features, tagFeature), uint64(len(b))), b...)
	e.scratch, e.tags, e.path.geometry = b, tags, at
}

// numberValue returns the place of the value n in the layer.
func (e *Encoder) numberValue(n uint64) uint64 {
	at, ok := e.density.numbers[n]
	if !ok {
		at = e.count
		e.density.numbers[n] = at
		e.values, e.count = appendUintValue(e.values, n), at+1
	}
	return uint64(at)
}

// wordValue returns the place of the value word.
func (e *Encoder) wordValue(word string) uint64 {
	at, ok := e.density.words[word]
	if !ok {
		at = e.count
		e.density.words[word] = at
		e.values, e.count = appendStringValue(e.values, word), at+1
	}
	return uint64(at)
}
