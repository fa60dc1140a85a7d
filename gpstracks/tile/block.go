package tile

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
)

// A block is, in little-endian order:
//
//	header    version, level, 0, 0; number of features; bounds; number and bytes of words; bytes of values; bytes of all
//	words     activities, sources and attributions, each as an MVT value with its tag
//	bounds    of each feature
//	heads     of each feature its place, where its values and its geometry begin, its words and what there is of it;
//	          and behind the last where they end
//	values    of each feature its own: MVT values with their tags, the id first
//	geometry  of each feature; see geometry.go
//
// What decides whether something is in a tile lies side by side, so that a look at it
// reads little memory; and so do values, which a tile takes many at a time.
const (
	Version   = 3  // of the layout: a store builds blocks of another one again from the tracks
	BlockSize = 64 // features that AppendBlock is best given at a time

	blockHeader = 40
	windowSize  = 16
	headSize    = 20
	lastHead    = 12 // bytes of the one that only tells ends

	headPlace, headValues, headGeometry = 0, 4, 8
	headWords, headFlags                = 12, 18

	noWord = 0xffff

	// flags
	hasName, hasDay, hasURL = 1, 2, 4
	isPiece                 = 8  // of a track that has others at the level
	isChunked               = 16 // there is a table of chunks
	isWide                  = 32 // numbers from the corner of the bounds are of 32 bits
	ownFlags                = hasName | hasDay | hasURL
)

// errBlock is what every damaged block is.
var errBlock = errors.New("gps tile: a block of features is damaged: build the blocks again from the tracks")

// Sort puts features in the order in which they are cut into blocks: along the
// Hilbert curve, then by id. So a set of tracks has one set of blocks.
func Sort(features []Feature) {
	slices.SortFunc(features, func(a, b Feature) int { return along(&a, &b) })
}

// along compares features along the curve.
func along(a, b *Feature) int {
	if a.Place != b.Place {
		return cmp.Compare(a.Place, b.Place)
	}
	return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Piece, b.Piece))
}

// AppendBlock writes features of one level, at most 20,000, as a block.
func AppendBlock(dst []byte, level int, features []Feature) []byte {
	return appendBlock(dst, level, refs(features))
}

// refs are where features lie.
func refs(features []Feature) []*Feature {
	out := make([]*Feature, len(features))
	for i := range features {
		out[i] = &features[i]
	}
	return out
}

func appendBlock(dst []byte, level int, features []*Feature) []byte {
	var list wordList
	var last [3]string // words of the feature before, which are mostly those of this one
	numbers := [3]uint16{noWord, noWord, noWord}
	all := make([][3]uint16, len(features))
	words, values, size := 0, 0, 0
	for i, f := range features {
		for k, word := range f.words() {
			if word != last[k] {
				var isNew bool
				if numbers[k], isNew = list.number(word); isNew {
					words += stringValueSize(word)
				}
				last[k] = word
			}
		}
		all[i] = numbers
		values, size = values+len(f.values), size+f.Size()
	}
	size += blockHeader + words + lastHead
	start, bounds := len(dst), nowhere()
	dst = slices.Grow(dst, size)[:start+blockHeader]
	for _, word := range list.words {
		dst = appendStringValue(dst, word)
	}
	dst = dst[:start+size]
	h := dst[start:]
	at := blockHeader + words
	heads := at + windowSize*len(features)
	own := heads + headSize*len(features) + lastHead
	geometry := own + values
	begun, shapes := own, geometry
	for i, f := range features {
		b, head := &f.Bounds, h[heads+i*headSize:][:headSize]
		putWindow(h[at+i*windowSize:], *b)
		bounds.grow(b.MinX, b.MinY)
		bounds.grow(b.MaxX, b.MaxY)
		putHead(head, f.place, own-begun, geometry-shapes)
		for k, number := range all[i] {
			binary.LittleEndian.PutUint16(head[headWords+2*k:], number)
		}
		binary.LittleEndian.PutUint16(head[headFlags:], f.flags)
		own += copy(h[own:], f.values)
		geometry += copy(h[geometry:], f.geometry)
	}
	putHead(h[heads+headSize*len(features):], 0, own-begun, geometry-shapes)
	clear(h[:blockHeader])
	h[0], h[1] = Version, byte(level)
	binary.LittleEndian.PutUint32(h[4:], uint32(len(features)))
	putWindow(h[8:], bounds)
	binary.LittleEndian.PutUint32(h[24:], uint32(len(list.words)))
	binary.LittleEndian.PutUint32(h[28:], uint32(words))
	binary.LittleEndian.PutUint32(h[32:], uint32(values))
	binary.LittleEndian.PutUint32(h[36:], uint32(len(h)))
	return dst
}

func putHead(b []byte, place uint32, values, geometry int) {
	binary.LittleEndian.PutUint32(b[headPlace:], place)
	binary.LittleEndian.PutUint32(b[headValues:], uint32(values))
	binary.LittleEndian.PutUint32(b[headGeometry:], uint32(geometry))
}

// wordList numbers words as they come. A block has a few of them as a rule.
type wordList struct {
	words []string
	known map[string]uint16 // once there are many
}

const manyWords = 16

// number is that of a word, which is new if it was not asked for before.
func (l *wordList) number(word string) (n uint16, isNew bool) {
	if word == "" {
		return noWord, false
	}
	if l.known != nil {
		if n, ok := l.known[word]; ok {
			return n, false
		}
	} else if i := slices.Index(l.words, word); i >= 0 {
		return uint16(i), false
	}
	n = uint16(len(l.words))
	l.words = append(l.words, word)
	if len(l.words) == manyWords {
		l.known = map[string]uint16{}
		for i, w := range l.words {
			l.known[w] = uint16(i)
		}
	} else if l.known != nil {
		l.known[word] = n
	}
	return n, true
}

// block is one that is read.
type block struct {
	words, bounds, heads, values, geometry []byte
	nWords                                 int
	level                                  int
}

// openBlock finds the parts of a block. What is in them is not looked at.
func openBlock(b []byte) (block, bool) {
	if len(b) < blockHeader || b[0] != Version || uint64(binary.LittleEndian.Uint32(b[36:])) != uint64(len(b)) {
		return block{}, false
	}
	n, nWords := uint64(binary.LittleEndian.Uint32(b[4:])), binary.LittleEndian.Uint32(b[24:])
	words, values := uint64(binary.LittleEndian.Uint32(b[28:])), uint64(binary.LittleEndian.Uint32(b[32:]))
	at := [...]uint64{blockHeader, words, n * windowSize, n*headSize + lastHead, values}
	for i := 1; i < len(at); i++ {
		at[i] += at[i-1]
	}
	if at[4] > uint64(len(b)) {
		return block{}, false
	}
	return block{
		words: b[at[0]:at[1]:at[1]], bounds: b[at[1]:at[2]:at[2]], heads: b[at[2]:at[3]:at[3]], values: b[at[3]:at[4]:at[4]], geometry: b[at[4]:],
		nWords: int(nWords), level: int(b[1]),
	}, true
}

// count is the number of features.
func (b *block) count() int { return len(b.bounds) / windowSize }

func (b *block) head(i int) []byte { return b.heads[i*headSize : (i+1)*headSize] }

func (b *block) flags(i int) uint16 { return binary.LittleEndian.Uint16(b.head(i)[headFlags:]) }

func (b *block) window(i int) Window { return window(b.bounds[i*windowSize:]) }

// span is where a feature's values or its geometry lie among size bytes: those of the
// next feature follow.
func (b *block) span(i, field, size int) (from, to int, ok bool) {
	h := b.heads[i*headSize+field:]
	begin, end := binary.LittleEndian.Uint32(h), binary.LittleEndian.Uint32(h[headSize:])
	return int(begin), int(end), begin <= end && uint64(end) <= uint64(size)
}

// shape takes the geometry of a feature apart.
func (b *block) shape(i int, flags uint16) (shape, bool) {
	from, to, ok := b.span(i, headGeometry, len(b.geometry))
	if !ok {
		return shape{}, false
	}
	return openShape(b.geometry[from:to], flags, b.window(i))
}

// whole is the start of a feature that is drawn as a whole, and its commands: none if
// the block is damaged. Most have no table.
func (b *block) whole(i int) (x, y int32, commands []byte) {
	from, to, ok := b.span(i, headGeometry, len(b.geometry))
	if !ok {
		return 0, 0, nil
	}
	flags, bounds, geometry := b.flags(i), b.bounds[i*windowSize:], b.geometry[from:to]
	if flags&(isChunked|isWide) == 0 && len(geometry) > 4 {
		v := binary.LittleEndian.Uint32(geometry)
		return int32(binary.LittleEndian.Uint32(bounds) + v&0xffff), int32(binary.LittleEndian.Uint32(bounds[4:]) + v>>16), geometry[4:]
	}
	s, ok := openShape(geometry, flags, window(bounds))
	if !ok {
		return 0, 0, nil
	}
	return s.startX, s.startY, s.commands
}

// BlockWindow is the bounds of a block, for a store's index.
func BlockWindow(block []byte) (Window, error) {
	if len(block) < blockHeader || block[0] != Version {
		return Window{}, errBlock
	}
	return window(block[8:]), nil
}

func window(b []byte) Window {
	_ = b[15]
	return Window{
		int32(binary.LittleEndian.Uint32(b)), int32(binary.LittleEndian.Uint32(b[4:])),
		int32(binary.LittleEndian.Uint32(b[8:])), int32(binary.LittleEndian.Uint32(b[12:])),
	}
}

func putWindow(b []byte, w Window) {
	for i, v := range [...]int32{w.MinX, w.MinY, w.MaxX, w.MaxY} {
		binary.LittleEndian.PutUint32(b[4*i:], uint32(v))
	}
}
