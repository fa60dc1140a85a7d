package tile

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
)

// feature writes one feature, if any of it is in the tile.
func (e *Encoder) feature(c *candidate) (bool, error) {
	part := e.blocks[c.block]
	r := part.data[c.offset : c.offset+c.size]
	own := uint64(binary.LittleEndian.Uint32(r[recordOwn:]))
	if own > uint64(len(r)-recordHeader) {
		return false, errBlock
	}
	body := r[recordHeader:]
	drawn, err := e.geometry(body[own:], binary.LittleEndian.Uint32(r[recordChunks:]))
	if err != nil || !drawn {
		return false, err
	}
	if !e.properties(part, r, body[:own]) {
		return false, errBlock
	}
	geometry := e.path.geometry
	id := binary.LittleEndian.Uint64(r[recordID:])
	size := 1 + varintSize(id) + 1 + varintSize(uint64(len(e.tags))) + len(e.tags) +
		2 + 1 + varintSize(uint64(len(geometry))) + len(geometry)
	b := appendVarint(append(e.features, tagFeature), uint64(size))
	b = appendVarint(append(b, tagFeatureID), id)
	b = appendVarint(append(b, tagTags), uint64(len(e.tags)))
	b = append(append(b, e.tags...), tagType, lineString, tagGeometry)
	b = appendVarint(b, uint64(len(geometry)))
	e.features = append(b, geometry...)
	return true, nil
}

// properties appends the track's own values to the tile's and writes the tags.
func (e *Encoder) properties(part blockPart, r, own []byte) bool {
	flags := binary.LittleEndian.Uint16(r[recordFlags:])
	e.tags = e.tags[:0]
	rest := own
	for key := range ownKeys {
		if key >= 2 && flags&(1<<(key-2)) == 0 { // id and length are always there
			continue
		}
		size := valueSize(rest)
		if size == 0 {
			return false
		}
		rest = rest[size:]
		e.tag(key, e.count)
		e.count++
	}
	e.values = append(e.values, own...)
	for i := range sharedKeys {
		n := int(binary.LittleEndian.Uint16(r[recordWords+2*i:]))
		if n == noWord {
			continue
		}
		if n >= part.n {
			return false
		}
		e.tag(len(ownKeys)+i, e.shared(part.words+n))
	}
	return len(rest) == 0
}

func (e *Encoder) tag(key, value int) {
	e.tags = appendVarint(append(e.tags, byte(key)), uint64(value))
}

// shared is the index of a word among the tile's values: each is there once.
func (e *Encoder) shared(i int) int {
	w := &e.words[i]
	if w.index != 0 {
		return int(w.index - 1)
	}
	if len(e.words) > len(e.slots)/2 {
		e.rehash()
	}
	slot := e.slot(w.value)
	if at := e.slots[slot]; at != 0 && e.words[at-1].index != 0 {
		w.index = e.words[at-1].index
		return int(w.index - 1)
	}
	e.slots[slot] = uint32(i + 1)
	e.values = append(e.values, w.value...)
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
