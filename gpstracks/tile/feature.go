package tile

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"slices"
)

// feature writes one feature, if any of it is in the tile. It is given all pieces of
// it that may be.
func (e *Encoder) feature(track []candidate) (bool, error) {
	c := &track[0]
	if c.whole && !c.piece && e.tile.Z == e.level {
		x, y, commands := e.blocks[c.block].whole(int(c.number))
		if commands == nil {
			return false, errBlock
		}
		return true, e.write(c, true, zigzag(x-e.originX), zigzag(y-e.originY), commands)
	}
	e.path.reset()
	for i := range track {
		if !e.geometry(&e.blocks[track[i].block], int(track[i].number)) {
			return false, errBlock
		}
	}
	drawn := e.path.finish()
	if len(drawn) == 0 {
		return false, nil
	}
	return true, e.write(c, false, 0, 0, drawn)
}

// few bytes of commands are copied at once.
const few = 64

// write writes a feature with its commands, and if it moves a MoveTo before them.
func (e *Encoder) write(c *candidate, moves bool, x, y uint64, commands []byte) error {
	part, number := &e.blocks[c.block], int(c.number)
	head := part.head(number)
	from, to, ok := part.span(number, headValues, len(part.values))
	if !ok {
		return errBlock
	}
	id, _ := uintValue(part.values[from:to])
	flags := head[headFlags] & ownFlags
	first, own := e.count, 2+bits.OnesCount8(flags)
	if id == nil || !e.own(c.block, from, to, own) {
		return errBlock
	}
	tags := ownSize(first, own)
	var shared [len(sharedKeys)]int
	for i := range shared {
		n := int(binary.LittleEndian.Uint16(head[headWords+2*i:]))
		if n == noWord {
			shared[i] = -1
			continue
		}
		if n >= part.nWords {
			return errBlock
		}
		v := int(e.words[part.from+n].index) - 1
		if v < 0 {
			v = e.shared(part.from + n)
		}
		shared[i] = v
		tags += 1 + varintSize(uint64(v))
	}
	geometry := len(commands)
	if moves {
		geometry += 1 + varintSize(x) + varintSize(y)
	}
	size := 1 + len(id) + 2 + tags + 3 + varintSize(uint64(geometry)) + geometry
	at := len(e.out)
	e.out = slices.Grow(e.out, size+8+few)
	b := e.out[at : at+size+8+few]
	b[0] = tagFeature
	i := putVarint(b, 1, uint64(size))
	b[i] = tagFeatureID
	i++
	for _, v := range id {
		b[i] = v
		i++
	}
	b[i], b[i+1] = tagTags, byte(tags)
	i = putOwn(b, i+2, flags, first)
	for k, v := range shared {
		if v >= 0 {
			b[i] = byte(len(ownKeys) + k)
			i = putVarint(b, i+1, uint64(v))
		}
	}
	b[i], b[i+1], b[i+2] = tagType, lineString, tagGeometry
	i = putVarint(b, i+3, uint64(geometry))
	if moves {
		b[i] = moveTo
		i = putVarint(b, putVarint(b, i+1, x), y)
	}
	if len(commands) <= few && cap(commands) >= few { // with what follows: a copy of a fixed size is fast
		copy(b[i:i+few], commands[:few])
		i += len(commands)
	} else {
		i += copy(b[i:], commands)
	}
	e.out = e.out[:at+i]
	return nil
}

// putOwn writes the tags of a track's own values at i, which are numbered from first
// on, and returns where they end.
func putOwn(b []byte, i int, flags byte, first int) int {
	if flags == ownFlags && first >= 1<<7 && first+len(ownKeys) <= 1<<14 { // most: all of them, by numbers of two bytes
		t := b[i : i+3*len(ownKeys)]
		for key := range ownKeys {
			v := first + key
			t[3*key], t[3*key+1], t[3*key+2] = byte(key), byte(v)|0x80, byte(v>>7)
		}
		return i + 3*len(ownKeys)
	}
	there := flags<<2 | 3 // id and length are always there
	for key, v := byte(0), uint64(first); there != 0; key, there = key+1, there>>1 {
		if there&1 != 0 {
			b[i] = key
			i, v = putVarint(b, i+1, v), v+1
		}
	}
	return i
}

// ownSize is the length of the tags of n values from one on.
func ownSize(first, n int) (size int) {
	if first >= 1<<7 && first+n <= 1<<14 {
		return 3 * n
	}
	for v := first; v < first+n; v++ {
		size += 1 + varintSize(uint64(v))
	}
	return size
}

// own takes a track's own values into the tile's. Those of tracks that lie side by
// side are one part.
func (e *Encoder) own(block int32, from, to, n int) bool {
	if from == to {
		return false
	}
	values := e.blocks[block].values
	if e.open == block && e.end == from {
		last := &e.values[len(e.values)-1]
		*last = values[from-len(*last) : to]
	} else {
		e.values = append(e.values, values[from:to])
	}
	e.open, e.end = block, to
	e.bytes += to - from
	e.count += n
	return true
}

// shared is the index of a word among the tile's values: each is there once.
func (e *Encoder) shared(i int) int {
	w := &e.words[i]
	if len(e.words) > len(e.slots)/2 {
		e.rehash()
	}
	slot := e.slot(w.value)
	if at := e.slots[slot]; at != 0 && e.words[at-1].index != 0 {
		w.index = e.words[at-1].index
		return int(w.index - 1)
	}
	e.slots[slot] = uint32(i + 1)
	e.values, e.open = append(e.values, w.value), -1
	e.bytes += len(w.value)
	e.count++
	w.index = uint32(e.count)
	return e.count - 1
}

// slot finds a word's place in the hash table: its own or a free one.
func (e *Encoder) slot(value []byte) int {
	mask := len(e.slots) - 1
	for at := int(maphash.Bytes(e.seed, value)) & mask; ; at = (at + 1) & mask {
		if i := e.slots[at]; i == 0 || bytes.Equal(e.words[i-1].value, value) {
			return at
		}
	}
}

// rehash makes room for twice the tile's words.
func (e *Encoder) rehash() {
	old, size := e.slots, len(e.slots)
	for size < 4*len(e.words) {
		size *= 2
	}
	e.slots = make([]uint32, size)
	for _, i := range old {
		if i != 0 {
			e.slots[e.slot(e.words[i-1].value)] = i
		}
	}
}

// forget takes back the words that were given an index from n on.
func (e *Encoder) forget(n uint32) {
	for i := range e.words {
		if e.words[i].index > n {
			e.words[i].index = 0
		}
	}
}
