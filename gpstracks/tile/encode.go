package tile

import (
	"cmp"
	"context"
	"encoding/binary"
	"hash/maphash"
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

// Stats says what is in a tile.
type Stats struct {
	Features int // tracks in the tile
	Dropped  int // tracks that may be in it too, and were left out because of a limit
}

// Encoder makes tiles. It keeps its memory from tile to tile, so that a warm one
// allocates nothing. It is not safe for concurrent use; NewEncoder makes one.
type Encoder struct {
	limits     Limits
	add        func([]byte) error
	tile       ID
	window     Window
	activities []gpstracks.Activity
	sources    []string

	blocks     []blockPart
	words      []word
	candidates []candidate

	features, values, tags []byte
	count                  int      // of values
	slots                  []uint32 // hash table of the words in the tile: index into words + 1
	seed                   maphash.Seed
	path                   path
}

// blockPart is a block that touches the tile.
type blockPart struct {
	data  []byte
	words int // where its words begin in Encoder.words
	n     int
}

// word is a value that tracks share.
type word struct {
	value  []byte
	passes bool   // as an activity or as a source, the filter
	source bool   // the same for its use as a source
	index  uint32 // in the tile's values + 1; 0 = not there yet
}

// candidate is a feature whose bounds touch the tile.
type candidate struct {
	id     uint64
	metres uint32
	place  uint32
	block  int32
	offset int
	size   int
}

// NewEncoder makes an encoder.
func NewEncoder(l Limits) *Encoder {
	if l.Features <= 0 {
		l.Features = DefaultLimits().Features
	}
	if l.Bytes <= 0 {
		l.Bytes = DefaultLimits().Bytes
	}
	e := &Encoder{limits: l, seed: maphash.MakeSeed(), slots: make([]uint32, 64)}
	e.add = e.Add
	return e
}

// Encode appends the tile to dst: nothing at all if no track touches it. Of the
// filter it reads Activities and Sources. Its error is the store's.
func (e *Encoder) Encode(ctx context.Context, dst []byte, src Source, t ID, f gpstracks.Filter) ([]byte, Stats, error) {
	e.Begin(t, f)
	if err := src.Blocks(ctx, t.Level(), e.window, e.add); err != nil {
		return dst, Stats{}, err
	}
	return e.Append(dst)
}

// Begin starts a tile, which must be Valid.
func (e *Encoder) Begin(t ID, f gpstracks.Filter) {
	e.tile, e.window = t, t.Window()
	e.activities, e.sources = f.Activities, f.Sources
	clear(e.blocks) // let go of the blocks of the last tile
	clear(e.words)
	e.blocks, e.words, e.candidates = e.blocks[:0], e.words[:0], e.candidates[:0]
}

// Add takes a block. It must not change until Append has returned. The error
// says that the block is damaged.
func (e *Encoder) Add(block []byte) error {
	if len(block) < blockHeader || block[0] != Version || int(block[1]) != e.tile.Level() {
		return errBlock
	}
	if !e.window.Touches(window(block[8:])) {
		return nil
	}
	words, size := binary.LittleEndian.Uint32(block[24:]), binary.LittleEndian.Uint32(block[28:])
	if uint64(size) > uint64(len(block)-blockHeader) {
		return errBlock
	}
	part := blockPart{data: block, words: len(e.words), n: int(words)}
	if !e.readWords(block[blockHeader:blockHeader+int(size)], int(words)) {
		return errBlock
	}
	e.blocks = append(e.blocks, part)
	return e.collect(part, blockHeader+int(size), int(binary.LittleEndian.Uint32(block[4:])))
}

func (e *Encoder) readWords(b []byte, n int) bool {
	for range n {
		size := valueSize(b)
		if size == 0 {
			return false
		}
		text := valueString(b[:size])
		e.words = append(e.words, word{value: b[:size], passes: e.activityPasses(text), source: e.sourcePasses(text)})
		b = b[size:]
	}
	return len(b) == 0
}

func (e *Encoder) activityPasses(text []byte) bool {
	for _, a := range e.activities {
		if string(a) == string(text) {
			return true
		}
	}
	return len(e.activities) == 0
}

func (e *Encoder) sourcePasses(text []byte) bool {
	for _, s := range e.sources {
		if s == string(text) {
			return true
		}
	}
	return len(e.sources) == 0
}

// collect notes the features of a block that touch the tile and pass the filter.
func (e *Encoder) collect(part blockPart, at, n int) error {
	all := part.data
	if n < 0 || n > (len(all)-at)/indexEntry {
		return errBlock
	}
	index, records := all[at:at+n*indexEntry], at+n*indexEntry
	for ; len(index) > 0; index = index[indexEntry:] {
		if !e.window.Touches(window(index)) {
			continue
		}
		from, size := uint64(binary.LittleEndian.Uint32(index[16:])), uint64(binary.LittleEndian.Uint32(index[20:]))
		if size < recordHeader || from+size > uint64(len(all)-records) {
			return errBlock
		}
		offset := records + int(from)
		if r := all[offset : offset+int(size)]; e.passes(part, r) {
			e.candidates = append(e.candidates, candidate{
				id: binary.LittleEndian.Uint64(r[recordID:]), metres: binary.LittleEndian.Uint32(r[recordMetres:]),
				place: binary.LittleEndian.Uint32(r[recordPlace:]),
				block: int32(len(e.blocks) - 1), offset: offset, size: int(size),
			})
		}
	}
	return nil
}

func (e *Encoder) passes(part blockPart, r []byte) bool {
	if len(e.activities) > 0 {
		if n := int(binary.LittleEndian.Uint16(r[recordWords:])); n >= part.n || !e.words[part.words+n].passes {
			return false
		}
	}
	if len(e.sources) > 0 {
		if n := int(binary.LittleEndian.Uint16(r[recordWords+2:])); n >= part.n || !e.words[part.words+n].source {
			return false
		}
	}
	return true
}

// important orders the longest track first, then the oldest.
func important(a, b candidate) int {
	return cmp.Or(cmp.Compare(b.metres, a.metres), cmp.Compare(a.id, b.id))
}

// placed is the order of features in a tile, however they are spread over blocks.
func placed(a, b candidate) int {
	return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.id, b.id))
}

// Append appends the tile to dst, and nothing if no track is in it. The error
// says that a block is damaged.
func (e *Encoder) Append(dst []byte) ([]byte, Stats, error) {
	var s Stats
	capped := len(e.candidates) > e.limits.Features
	if !capped && !slices.IsSortedFunc(e.candidates, placed) {
		slices.SortFunc(e.candidates, placed)
	}
	err := e.draw(&s, capped)
	if err == nil && !capped && e.size() > e.limits.Bytes {
		s = Stats{}
		err = e.draw(&s, true)
	}
	if err != nil {
		return dst, Stats{}, err
	}
	if s.Features == 0 {
		return dst, s, nil
	}
	return e.layer(dst), s, nil
}

// draw writes the candidates' features. If capped, it takes the important ones
// first, leaves out a track that has no room even alone, and ends at the first
// other one that has none left.
func (e *Encoder) draw(s *Stats, capped bool) error {
	e.reset()
	if capped {
		slices.SortFunc(e.candidates, important)
	}
	for i := range e.candidates {
		if s.Features == e.limits.Features {
			s.Dropped += len(e.candidates) - i
			return nil
		}
		features, values, count := len(e.features), len(e.values), e.count
		drawn, err := e.feature(&e.candidates[i])
		switch {
		case err != nil:
			return err
		case !drawn:
			continue
		case capped && e.size() > e.limits.Bytes:
			alone := len(e.features) - features + len(e.values) - values
			e.features, e.values, e.count = e.features[:features], e.values[:values], count
			e.forget(uint32(count))
			if alone+layerOverhead <= e.limits.Bytes {
				s.Dropped += len(e.candidates) - i
				return nil
			}
			s.Dropped++
			continue
		}
		s.Features++
	}
	return nil
}

func (e *Encoder) reset() {
	e.features, e.values, e.count = e.features[:0], e.values[:0], 0
	clear(e.slots)
	for i := range e.words {
		e.words[i].index = 0
	}
}

// layerOverhead is what a layer takes besides features and values, at most.
const layerOverhead = 128

func (e *Encoder) size() int { return len(e.features) + len(e.values) + layerOverhead }

// ownKeys and sharedKeys are the names of the properties, in the order of the
// layer's keys.
var (
	ownKeys    = [...]string{"id", "length_m", "name", "recorded_on", "url"}
	sharedKeys = [...]string{"activity", "source", "attribution"}
)

// layer puts the parts together.
func (e *Encoder) layer(dst []byte) []byte {
	var keyBytes int
	for _, k := range ownKeys {
		keyBytes += 2 + len(k)
	}
	for _, k := range sharedKeys {
		keyBytes += 2 + len(k)
	}
	size := 2 + 2 + len(Layer) + len(e.features) + keyBytes + len(e.values) + 1 + varintSize(Extent)
	dst = appendVarint(append(dst, tagLayer), uint64(size))
	dst = append(dst, tagVersion, 2, tagName, byte(len(Layer)))
	dst = append(append(dst, Layer...), e.features...)
	for _, k := range ownKeys {
		dst = append(append(dst, tagKey, byte(len(k))), k...)
	}
	for _, k := range sharedKeys {
		dst = append(append(dst, tagKey, byte(len(k))), k...)
	}
	dst = append(dst, e.values...)
	return appendVarint(append(dst, tagExtent), Extent)
}
