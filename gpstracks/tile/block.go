package tile

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
)

// A block is a header, words, and a record for each feature of one level. Numbers are little-endian.
//
//	header  version, level, number of words; number of features; bounds; bytes of words; bytes of all
//	words   activities, sources and attributions, each as an MVT value with its tag
//	record  bytes of it; bounds; place; what there is of it, and its three words; bytes of its values;
//	        values, which it shares with no other: MVT values with their tags, the id and the length first;
//	        geometry, see Packer
const (
	Version = 6 // of the layout: a store builds blocks of another one again from the tracks

	headerSize   = 32
	headerWindow = 8

	recordSize                            = 36
	recordWindow, recordPlace             = 4, 20
	recordFlags, recordWords, recordValue = 24, 26, 32

	noWord = 0xffff

	// flags
	hasName, hasDay, hasURL = 1, 2, 4
	isPiece                 = 8  // of a track that has others at the level
	goesOn                  = 16 // a piece that begins in a line of the one before it
)

// errBlock is the error of every damaged block.
var errBlock = errors.New("gps tile: a block of features is damaged: build the blocks again from the tracks")

// Feature is a track made ready for one level, or a piece of one that is long there.
type Feature struct {
	Level  int
	ID     int64
	Piece  int    // its number, 0 for the first or only one
	Place  uint32 // along a Hilbert curve: features near each other belong in one block
	Bounds Window

	place            uint32    // of the whole track: the order in a tile
	words            [3]string // activity, source and attribution, which it shares with others
	flags            uint16
	values, geometry []byte
}

// Size returns the bytes of the feature in a block, without its words.
func (f *Feature) Size() int { return recordSize + len(f.values) + len(f.geometry) }

// along compares features along the curve.
func along(a, b *Feature) int {
	return cmp.Or(cmp.Compare(a.Place, b.Place), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Piece, b.Piece),
		slices.Compare(a.words[:], b.words[:]))
}

func appendBlock(dst []byte, features []*Feature) []byte {
	var words []string
	var numbers [][3]uint16
	size, bounds := headerSize, nowhere()
	for _, f := range features {
		n := [3]uint16{noWord, noWord, noWord}
		for k, word := range f.words {
			if word == "" {
				continue
			}
			at := slices.Index(words, word)
			if at < 0 {
				at, words, size = len(words), append(words, word), size+len(word)+16
			}
			n[k] = uint16(at)
		}
		numbers, size = append(numbers, n), size+f.Size()
		bounds.grow(f.Bounds.MinX, f.Bounds.MinY)
		bounds.grow(f.Bounds.MaxX, f.Bounds.MaxY)
	}
	start, order := len(dst), binary.LittleEndian
	dst = append(slices.Grow(dst, size), Version, byte(features[0].Level))
	dst = order.AppendUint16(dst, uint16(len(words)))
	dst = appendWindow(order.AppendUint32(dst, uint32(len(features))), bounds)
	dst = append(dst, 0, 0, 0, 0, 0, 0, 0, 0)
	for _, word := range words {
		dst = appendStringValue(dst, word)
	}
	order.PutUint32(dst[start+headerSize-8:], uint32(len(dst)-start-headerSize))
	for i, f := range features {
		dst = appendWindow(order.AppendUint32(dst, uint32(f.Size())), f.Bounds)
		dst = order.AppendUint16(order.AppendUint32(dst, f.place), f.flags)
		for _, n := range numbers[i] {
			dst = order.AppendUint16(dst, n)
		}
		dst = append(append(order.AppendUint32(dst, uint32(len(f.values))), f.values...), f.geometry...)
	}
	order.PutUint32(dst[start+headerSize-4:], uint32(len(dst)-start))
	return dst
}

// block is one that is read.
type block struct {
	level, nWords, features int
	words                   []byte
	records                 []byte // those that were not read yet
}

// openBlock finds the parts of a block. What is in them is not looked at.
func openBlock(b []byte) (block, bool) {
	if len(b) < headerSize || b[0] != Version || uint64(binary.LittleEndian.Uint32(b[28:])) != uint64(len(b)) {
		return block{}, false
	}
	words := uint64(binary.LittleEndian.Uint32(b[24:]))
	if words > uint64(len(b)-headerSize) {
		return block{}, false
	}
	end := headerSize + int(words)
	return block{int(b[1]), int(binary.LittleEndian.Uint16(b[2:])), int(binary.LittleEndian.Uint32(b[4:])), b[headerSize:end], b[end:]},
		true
}

// next is the next record of at least its fixed part; nil if the block is damaged.
func (b *block) next() []byte {
	if len(b.records) < recordSize {
		return nil
	}
	size := uint64(binary.LittleEndian.Uint32(b.records))
	if size < recordSize || size > uint64(len(b.records)) {
		return nil
	}
	r := b.records[:size:size]
	b.records = b.records[size:]
	return r
}

// parts are the values and the geometry of a record.
func parts(record []byte) (values, geometry []byte, ok bool) {
	size, rest := uint64(binary.LittleEndian.Uint32(record[recordValue:])), record[recordSize:]
	if size > uint64(len(rest)) {
		return nil, nil, false
	}
	return rest[:size:size], rest[size:], true
}

// word cuts the first of words off; nil if they are damaged.
func word(words []byte) (first, rest []byte) {
	n := valueSize(words)
	if n == 0 {
		return nil, nil
	}
	return words[:n:n], words[n:]
}

// BlockFeatures reads the features of a block, so that a store can put those of several blocks
// together anew. They share the block's memory. The error reports that the block is damaged.
func BlockFeatures(data []byte) ([]Feature, error) {
	b, ok := openBlock(data)
	if !ok {
		return nil, errBlock
	}
	var words []string
	for rest := b.words; len(words) < b.nWords; {
		var first []byte
		if first, rest = word(rest); first == nil {
			return nil, errBlock
		}
		words = append(words, string(valueString(first)))
	}
	var out []Feature
	for range b.features {
		record := b.next()
		if record == nil {
			return nil, errBlock
		}
		f, ok := readFeature(b.level, record, words)
		if !ok {
			return nil, errBlock
		}
		out = append(out, f)
	}
	return out, nil
}

func readFeature(level int, record []byte, words []string) (f Feature, ok bool) {
	f = Feature{Level: level, Bounds: window(record[recordWindow:]), place: binary.LittleEndian.Uint32(record[recordPlace:]),
		flags: binary.LittleEndian.Uint16(record[recordFlags:])}
	if f.values, f.geometry, ok = parts(record); !ok {
		return f, false
	}
	id, _, ok := ownNumbers(f.values)
	if f.ID, f.Place = int64(id), f.place; f.flags&isPiece != 0 {
		piece, n := varint(f.geometry, 0)
		f.Piece, f.Place, ok = int(piece), f.Bounds.place(level), ok && n <= len(f.geometry)
	}
	for k := range f.words {
		if n := int(binary.LittleEndian.Uint16(record[recordWords+2*k:])); n < len(words) {
			f.words[k] = words[n]
		} else if n != noWord {
			return f, false
		}
	}
	return f, ok
}

func window(b []byte) Window {
	_ = b[15]
	return Window{
		int32(binary.LittleEndian.Uint32(b)), int32(binary.LittleEndian.Uint32(b[4:])),
		int32(binary.LittleEndian.Uint32(b[8:])), int32(binary.LittleEndian.Uint32(b[12:])),
	}
}

func appendWindow(b []byte, w Window) []byte {
	for _, v := range [...]int32{w.MinX, w.MinY, w.MaxX, w.MaxY} {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	return b
}
