package tile

import (
	"cmp"
	"context"
	"encoding/binary"
	"math"
	"slices"

	"github.com/signalbox-dev/signalbox/gpstracks"
)

// Limits cap one tile. What is over a cap is left out, the shortest tracks
// first. Zero values take the defaults of DefaultLimits.
type Limits struct {
	Features int // tracks
	Bytes    int // of the tile, before compression
}

// DefaultLimits are 10,000 tracks and 500,000 bytes.
func DefaultLimits() Limits { return Limits{Features: 10_000, Bytes: 500_000} }

// Stats counts what is in a tile.
type Stats struct {
	Features int // tracks in the tile
	Dropped  int // tracks that may be in it too, and were left out because of a limit: up to zoom DensityZoom at least so many
}

// Encoder makes tiles. It keeps its memory from tile to tile, so that a warm one
// allocates nothing. It is not safe for concurrent use; NewEncoder makes one.
type Encoder struct {
	limits           Limits
	add              func([]byte) error
	tile             ID
	level            int
	window           Window
	originX, originY int32 // the tile's corner in its level's grid
	filter           gpstracks.Filter

	known      map[string]int // words, which are MVT values, of this tile and of those before: their numbers
	words      []sharedWord   // by number
	numbers    []int          // of the words of each block, one after the other
	candidates []candidate
	bytes      int  // of the candidates
	some       bool // there are blocks of cells
	full       bool // a track was left out, and so are all that are shorter
	layer
	path    path
	density density
}

// sharedWord is a value that tracks share.
type sharedWord struct {
	value string
	text  string
	index int // in the tile's values + 1; 0 = not there yet
}

// manyWords bounds the words in the cache; beyond it the cache is emptied.
const manyWords = 10_000

// candidate is a feature whose bounds touch the tile.
type candidate struct {
	record        []byte
	words         int // where those of its block are among the numbers
	place, metres uint32
	order         uint32 // of pieces
	id            uint64
}

func (c *candidate) flags() uint16 { return binary.LittleEndian.Uint16(c.record[recordFlags:]) }

// word is the number of one of its words, -1 if it has none.
func (e *Encoder) word(c *candidate, k int) int {
	n := int(binary.LittleEndian.Uint16(c.record[recordWords+2*k:]))
	if n == noWord {
		return -1
	}
	return e.numbers[c.words+n]
}

// important orders the longest track first, then the oldest.
func important(a, b candidate) int {
	return cmp.Or(cmp.Compare(b.metres, a.metres), cmp.Compare(a.id, b.id), cmp.Compare(a.order, b.order))
}

// placed is the order of features in a tile, however they are spread over blocks.
func placed(a, b candidate) int {
	return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.id, b.id), cmp.Compare(a.order, b.order))
}

// NewEncoder makes an encoder.
func NewEncoder(l Limits) *Encoder {
	e := &Encoder{limits: Limits{cmp.Or(max(l.Features, 0), DefaultLimits().Features), cmp.Or(max(l.Bytes, 0), DefaultLimits().Bytes)},
		known: map[string]int{}}
	e.density = density{pairs: map[uint64]uint32{}, numbers: map[uint64]int{}, words: map[string]int{}}
	e.add = e.Add
	return e
}

// Encode appends the tile to dst, up to DensityZoom with the density behind the tracks:
// nothing at all if there is neither. Of the filter it reads Activities, Sources and Without. Its
// error is the store's.
func (e *Encoder) Encode(ctx context.Context, dst []byte, src Source, t ID, f gpstracks.Filter) ([]byte, Stats, error) {
	e.Begin(t, f)
	if t.Z > DensityZoom {
		if err := src.Blocks(ctx, t.Level(), e.window, e.add); err != nil {
			return dst, Stats{}, err
		}
		return e.Append(dst)
	}
	heat, err := e.appendDensity(ctx, e.density.body[:0], src)
	if e.density.body = heat; err != nil || !e.some {
		return dst, Stats{}, err
	}
	e.Begin(t, f)
	body, stats := dst, Stats{}
	room := e.limits                                      // what is to be read before it is worth the drawing
	for band := bands - 1; band >= 0 && !e.full; band-- { // the longest tracks first
		err := src.Blocks(ctx, bandLevel(t.Z, band), e.window, e.add)
		if err == nil && (band == 0 || len(e.candidates) > room.Features || e.bytes > room.Bytes) {
			body, stats, err = e.Append(dst)
			room = Limits{2 * len(e.candidates), 2 * e.bytes}
		}
		if err != nil {
			return dst, Stats{}, err
		}
	}
	return append(body, heat...), stats, nil
}

// Begin starts a tile of tracks alone, which must be Valid.
func (e *Encoder) Begin(t ID, f gpstracks.Filter) {
	e.tile, e.level, e.window, e.filter = t, t.Level(), t.Window(), f
	e.originX, e.originY = t.origin()
	clear(e.candidates) // let go of the blocks of the last tile
	e.candidates, e.numbers, e.bytes, e.full = e.candidates[:0], e.numbers[:0], 0, false
	if len(e.words) > manyWords {
		clear(e.known)
		e.density.forget()
		e.words = e.words[:0]
	}
}

// Add takes a block. It must not change until Append has returned. It is an error
// when the block is damaged.
func (e *Encoder) Add(data []byte) error {
	b, ok := openBlock(data)
	if e.some = true; !ok || b.level != e.level {
		return errBlock
	}
	if !e.window.Touches(window(data[headerWindow:])) {
		return nil
	}
	words := -1 // where those of the block are among the numbers
	for range b.features {
		record := b.next()
		if record == nil {
			return errBlock
		}
		if !e.window.Touches(window(record[recordWindow:])) {
			continue
		}
		if words < 0 {
			if words = len(e.numbers); !e.number(&b) {
				return errBlock
			}
		}
		if isGrid(e.level) {
			ok = e.heat(&b, record, words)
		} else {
			ok = e.collect(&b, record, words)
		}
		if !ok {
			return errBlock
		}
	}
	return nil
}

// number numbers the words of a block.
func (e *Encoder) number(b *block) bool {
	rest := b.words
	for range b.nWords {
		var first []byte
		if first, rest = word(rest); first == nil {
			return false
		}
		n, ok := e.known[string(first)]
		if !ok {
			n = len(e.words)
			e.words = append(e.words, sharedWord{value: string(first), text: string(valueString(first))})
			e.known[e.words[n].value] = n
		}
		e.numbers = append(e.numbers, n)
	}
	return true
}

// valid reports whether the words of a record are in its block.
func valid(b *block, record []byte) bool {
	for k := range sharedKeys {
		if n := binary.LittleEndian.Uint16(record[recordWords+2*k:]); n != noWord && int(n) >= b.nWords {
			return false
		}
	}
	return true
}

// collect notes a feature that touches the tile if it passes the filter.
func (e *Encoder) collect(b *block, record []byte, words int) bool {
	if !valid(b, record) {
		return false
	}
	c := candidate{record: record, words: words, place: binary.LittleEndian.Uint32(record[recordPlace:])}
	if !e.passes(&c) {
		return true
	}
	values, geometry, ok := parts(record)
	if !ok {
		return false
	}
	id, metres, ok := ownNumbers(values)
	c.id, c.metres = id, uint32(min(metres, math.MaxUint32))
	if c.flags()&isPiece != 0 {
		order, n := varint(geometry, 0)
		c.order, ok = uint32(order), ok && n <= len(geometry)
	}
	e.candidates, e.bytes = append(e.candidates, c), e.bytes+len(record)
	return ok
}

// passes reports whether a feature passes the filter.
func (e *Encoder) passes(c *candidate) bool {
	return (len(e.filter.Activities) == 0 || slices.Contains(e.filter.Activities, gpstracks.Activity(e.text(e.word(c, 0))))) &&
		(len(e.filter.Sources)+len(e.filter.Without) == 0 || e.filter.HasSource(e.text(e.word(c, 1))))
}

// text is a word by its number, empty for none.
func (e *Encoder) text(word int) string {
	if word < 0 {
		return ""
	}
	return e.words[word].text
}

// track is the candidates from one on that are of the same track.
func (e *Encoder) track(at int) []candidate {
	end := at + 1
	for end < len(e.candidates) && e.candidates[end].id == e.candidates[at].id &&
		e.candidates[end].flags()&e.candidates[at].flags()&isPiece != 0 {
		end++
	}
	return e.candidates[at:end]
}

// tracks counts the tracks of the candidates, which are in order.
func (e *Encoder) tracks() (n int) {
	for at := 0; at < len(e.candidates); n++ {
		at += len(e.track(at))
	}
	return n
}

// Append appends the tile to dst, and nothing if no track is in it. It is an error
// when a block is damaged.
func (e *Encoder) Append(dst []byte) ([]byte, Stats, error) {
	slices.SortFunc(e.candidates, placed)
	tracks := e.tracks()
	capped := tracks > e.limits.Features
	s, err := e.draw(capped, tracks)
	if err == nil && !capped && e.size() > e.limits.Bytes {
		s, err = e.draw(true, tracks)
	}
	if err != nil || s.Features == 0 {
		if err != nil {
			s = Stats{}
		}
		return dst, s, err
	}
	return e.layer.append(dst, Layer, trackKeys[:]...), s, nil
}

// draw writes the candidates' features. If capped, it takes the important ones
// first, leaves out a track that has no room even alone, and ends at the first
// other one that has none left.
func (e *Encoder) draw(capped bool, left int) (s Stats, err error) {
	if capped {
		slices.SortFunc(e.candidates, important)
	}
	e.layer.reset()
	for i := range e.words {
		e.words[i].index = 0
	}
	for at := 0; at < len(e.candidates); {
		if s.Features == e.limits.Features {
			s.Dropped += left
			e.full = true
			return s, nil
		}
		track := e.track(at)
		at, left = at+len(track), left-1
		features, values, count := len(e.features), len(e.values), e.count
		drawn, err := e.feature(track)
		switch {
		case err != nil:
			return s, err
		case !drawn:
			continue
		case capped && e.size() > e.limits.Bytes:
			alone := len(e.features) - features + len(e.values) - values
			e.features, e.values, e.count = e.features[:features], e.values[:values], count
			for i := range e.words { // those that came with it
				if e.words[i].index > count {
					e.words[i].index = 0
				}
			}
			s.Dropped++
			if alone+layerOverhead <= e.limits.Bytes {
				s.Dropped += left
				e.full = true
				return s, nil
			}
			continue
		}
		s.Features++
	}
	return s, nil
}

// feature writes one feature, if any of it is in the tile. It is given all pieces of
// it that may be.
func (e *Encoder) feature(track []candidate) (drawn bool, err error) {
	e.path.reset()
	whole := len(track) == 1 && track[0].flags()&isPiece == 0 && e.tile.Z == e.level
	for i := range track {
		c := &track[i]
		_, geometry, ok := parts(c.record)
		bounds := window(c.record[recordWindow:])
		if c.flags()&isPiece != 0 {
			if c.flags()&goesOn == 0 || uint64(c.order) != e.path.next {
				e.path.end()
			}
			_, n := varint(geometry, 0)
			e.path.next, geometry = uint64(c.order)+1, geometry[min(n, len(geometry)):]
		}
		x, y, commands, good := start(geometry, bounds)
		if !ok || !good || len(commands) == 0 {
			return false, errBlock
		}
		x, y = x-e.originX, y-e.originY
		if whole && e.window.holds(bounds) {
			b := append(e.path.geometry, moveTo)
			e.path.geometry = append(appendPair(b, x, y), commands...)
			break
		}
		k := uint(e.tile.enlarged())
		if !e.path.draw(int64(x)<<k, int64(y)<<k, commands, k) {
			return false, errBlock
		}
	}
	if e.path.end(); len(e.path.geometry) == 0 {
		return false, nil
	}
	e.write(&track[0])
	return true, nil
}

// write writes a feature with the commands of the path.
func (e *Encoder) write(c *candidate) {
	values, _, _ := parts(c.record)
	id, _ := uintValue(values)
	b := append(e.scratch[:0], tagFeatureID)
	b = append(b, id...)
	tags := e.tags[:0]
	own := e.count
	// id and length are always there
	for key, there := 0, c.flags()&(hasName|hasDay|hasURL)<<2|3; there != 0; key, there = key+1, there>>1 {
		if there&1 != 0 {
			tags, own = appendVarint(append(tags, byte(key)), uint64(own)), own+1
		}
	}
	e.values, e.count = append(e.values, values...), own
	for k := range sharedKeys {
		n := e.word(c, k)
		if n < 0 {
			continue
		}
		w := &e.words[n]
		if w.index == 0 {
			e.values, e.count = append(e.values, w.value...), e.count+1
			w.index = e.count
		}
		tags = appendVarint(append(tags, byte(ownKeys+k)), uint64(w.index-1))
	}
	b = append(appendVarint(append(b, tagTags), uint64(len(tags))), tags...)
	b = append(appendVarint(append(b, tagType, lineString, tagGeometry), uint64(len(e.path.geometry))), e.path.geometry...)
	e.features = append(appendVarint(append(e.features, tagFeature), uint64(len(b))), b...)
	e.scratch, e.tags = b, tags
}
