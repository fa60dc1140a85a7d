package tile

import (
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
	level      int
	window     Window
	originX    int32 // the tile's corner in its level's grid
	originY    int32
	activities []gpstracks.Activity
	sources    []string

	blocks     []blockPart
	words      []word
	candidates []candidate
	sorted     bool // the candidates are in the order of the tile
	pieces     bool // there are pieces of tracks among them

	out    []byte   // the tile
	begun  int      // where it begins in out
	values [][]byte // of the tile: parts of blocks
	bytes  int      // of values
	count  int      // of values
	open   int32    // block whose values the last part of values are, -1 if none
	end    int      // where that part ends in them
	slots  []uint32 // hash table of the words in the tile: index into words + 1
	seed   maphash.Seed
	path   path
}

// blockPart is a block that touches the tile.
type blockPart struct {
	block
	from int // where its words begin in Encoder.words
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
	place  uint32
	block  int32
	number int32  // in the block
	whole  bool   // it lies in the tile
	piece  bool   // of a track
	order  uint32 // of pieces; this and what follows only when it is asked for
	metres uint32
	id     uint64
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
	e.tile, e.level, e.window = t, t.Level(), t.Window()
	e.originX, e.originY = t.origin()
	e.activities, e.sources = f.Activities, f.Sources
	clear(e.blocks) // let go of the blocks of the last tile
	clear(e.words)
	clear(e.values)
	e.blocks, e.words, e.values, e.candidates = e.blocks[:0], e.words[:0], e.values[:0], e.candidates[:0]
	e.sorted, e.pieces = true, false
}

// Add takes a block. It must not change until Append has returned. The error
// says that the block is damaged.
func (e *Encoder) Add(data []byte) error {
	b, ok := openBlock(data)
	if !ok || b.level != e.level {
		return errBlock
	}
	if !e.window.Touches(window(data[8:])) {
		return nil
	}
	e.blocks = append(e.blocks, blockPart{block: b, from: -1})
	if !e.collect(int32(len(e.blocks) - 1)) {
		return errBlock
	}
	return nil
}

// collect notes the features of a block that touch the tile and pass the filter.
func (e *Encoder) collect(number int32) bool {
	part, w := &e.blocks[number], e.window
	at := part.bounds
	for i := 0; len(at) >= windowSize; i, at = i+1, at[windowSize:] {
		minX, minY := int32(binary.LittleEndian.Uint32(at)), int32(binary.LittleEndian.Uint32(at[4:]))
		maxX, maxY := int32(binary.LittleEndian.Uint32(at[8:])), int32(binary.LittleEndian.Uint32(at[12:]))
		if w.MinX > maxX || minX > w.MaxX || w.MinY > maxY || minY > w.MaxY {
			continue
		}
		if part.from < 0 && !e.readWords(part) {
			return false
		}
		head := part.head(i)
		if !e.passes(part, head) {
			continue
		}
		n := len(e.candidates)
		e.candidates = slices.Grow(e.candidates, 1)[:n+1]
		c := &e.candidates[n]
		c.place, c.block, c.number = binary.LittleEndian.Uint32(head[headPlace:]), number, int32(i)
		c.whole = w.MinX <= minX && maxX <= w.MaxX && w.MinY <= minY && maxY <= w.MaxY
		if c.piece = head[headFlags]&isPiece != 0; c.piece {
			e.pieces = true
		}
		if n > 0 && c.place <= e.candidates[n-1].place && e.sorted {
			e.sorted = c.place == e.candidates[n-1].place && e.before(&e.candidates[n-1], c)
		}
	}
	return true
}

// before reports whether two candidates of one place are in the order of the tile.
func (e *Encoder) before(a, b *candidate) bool { return e.identify(a) && e.identify(b) && a.id < b.id }

func (e *Encoder) readWords(part *blockPart) bool {
	part.from = len(e.words)
	b := part.block.words
	for range part.nWords {
		size := valueSize(b)
		if size == 0 {
			return false
		}
		w := word{value: b[:size:size], passes: true, source: true}
		if len(e.activities)+len(e.sources) > 0 {
			text := valueString(w.value)
			w.passes, w.source = e.activityPasses(text), e.sourcePasses(text)
		}
		e.words = append(e.words, w)
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

func (e *Encoder) passes(part *blockPart, head []byte) bool {
	if len(e.activities) > 0 {
		if n := int(binary.LittleEndian.Uint16(head[headWords:])); n >= part.nWords || !e.words[part.from+n].passes {
			return false
		}
	}
	if len(e.sources) > 0 {
		if n := int(binary.LittleEndian.Uint16(head[headWords+2:])); n >= part.nWords || !e.words[part.from+n].source {
			return false
		}
	}
	return true
}
