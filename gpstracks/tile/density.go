package tile

import (
	"cmp"
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
	cell         int
	place        int    // of the larger cell that it is drawn in
	kind         string // activity/source
	tracks, x, y uint64
}

func before(a, b counted) int {
	return cmp.Or(cmp.Compare(a.place, b.place), strings.Compare(a.kind, b.kind))
}

// density counts tracks while a tile is made. It keeps its memory from tile to tile.
type density struct {
	kinds   map[uint64]int // by the numbers of their words: where they are among names
	names   []string
	spots   map[uint64]int // by cell and kind: where they are counted
	counted []counted
	keys    []string
	numbers map[uint64]int // values that are in the layer: where
	words   map[string]int
}

// appendDensity appends the layer of a tile that has one: nothing if no track is counted in it.
func (e *Encoder) appendDensity(ctx context.Context, dst []byte, src Source) ([]byte, error) {
	side := int32(Extent) << (DensityZoom - e.tile.Z)
	x, y := int32(e.tile.X)*side, int32(e.tile.Y)*side
	e.level, e.window = Dots, Window{x, y, x + side - 1, y + side - 1}
	e.numbers = e.numbers[:0]
	d := &e.density
	clear(d.spots)
	d.counted = d.counted[:0]
	if err := src.Blocks(ctx, Dots, e.window, e.add); err != nil || len(d.counted) == 0 {
		return dst, err
	}
	for side := cellUnits; ; side *= 2 {
		e.cells(side)
		if side == Extent || e.size() <= densityBytes {
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
	pair := uint64(e.word(&c, 0)+1)<<32 | uint64(e.word(&c, 1)+1)
	kind, known := d.kinds[pair]
	if !known {
		kind = len(d.names)
		d.kinds[pair] = kind
		d.names = append(d.names, e.text(e.word(&c, 0))+"/"+e.text(e.word(&c, 1)))
	}
	cell := int(y)/cellUnits<<16 | int(x)/cellUnits
	spot := uint64(cell)<<32 | uint64(kind)
	at, known := d.spots[spot]
	if !known {
		at = len(d.counted)
		d.spots[spot] = at
		d.counted = append(d.counted, counted{cell: cell, kind: d.names[kind]})
	}
	one := &d.counted[at]
	one.tracks, one.x, one.y = one.tracks+1, one.x+uint64(x), one.y+uint64(y)
	return ok
}

// cells writes the layer with cells of a side.
func (e *Encoder) cells(side int) {
	d := &e.density
	for i := range d.counted {
		c := &d.counted[i]
		c.place = c.cell>>16*cellUnits/side<<16 | c.cell&0xffff*cellUnits/side
	}
	slices.SortFunc(d.counted, before)
	e.layer.reset()
	d.keys = append(d.keys[:0], cellKeys[:]...)
	clear(d.numbers)
	clear(d.words)
	for at := 0; at < len(d.counted); {
		end := at + 1
		for end < len(d.counted) && d.counted[end].place == d.counted[at].place {
			end++
		}
		e.cell(d.counted[at:end])
		at = end
	}
}

// cell writes the point of a cell. Those of a kind follow each other.
func (e *Encoder) cell(all []counted) {
	d := &e.density
	var total counted
	own, most, last, strongest := uint64(0), uint64(0), "", ""
	tags := e.tags[:0]
	for i := 0; i < len(all); {
		kind, n := all[i].kind, uint64(0)
		for ; i < len(all) && all[i].kind == kind; i++ {
			one := &all[i]
			n, total.tracks, total.x, total.y = n+one.tracks, total.tracks+one.tracks, total.x+one.x, total.y+one.y
		}
		activity, _, _ := strings.Cut(kind, "/")
		if activity != last {
			own, last = 0, activity
		}
		if own += n; own > most {
			most, strongest = own, activity
		}
		tags = appendVarint(appendVarint(tags, d.key(kind)), e.numberValue(n))
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

// key is the number of a key.
func (d *density) key(name string) uint64 {
	at := slices.Index(d.keys, name)
	if at < 0 {
		at, d.keys = len(d.keys), append(d.keys, name)
	}
	return uint64(at)
}

// numberValue is where the value n is in the layer.
func (e *Encoder) numberValue(n uint64) uint64 {
	at, ok := e.density.numbers[n]
	if !ok {
		at = e.count
		e.density.numbers[n] = at
		e.values, e.count = appendUintValue(e.values, n), at+1
	}
	return uint64(at)
}

// wordValue is where the value word is.
func (e *Encoder) wordValue(word string) uint64 {
	at, ok := e.density.words[word]
	if !ok {
		at = e.count
		e.density.words[word] = at
		e.values, e.count = appendStringValue(e.values, word), at+1
	}
	return uint64(at)
}
