package tile

import (
	"math"
	"slices"
)

// identify fills in what a candidate is ordered by, besides its place.
func (e *Encoder) identify(c *candidate) bool {
	part, n := &e.blocks[c.block], int(c.number)
	from, to, ok := part.span(n, headValues, len(part.values))
	if !ok {
		return false
	}
	id, metres, ok := ownNumbers(part.values[from:to])
	c.id, c.metres, c.order = id, uint32(min(metres, math.MaxUint32)), 0
	if c.piece && ok {
		var s shape
		s, ok = part.shape(n, part.flags(n))
		c.order = uint32(s.piece)
	}
	return ok
}

func (e *Encoder) identifyAll() bool {
	for i := range e.candidates {
		if !e.identify(&e.candidates[i]) {
			return false
		}
	}
	return true
}

// tracks is how many the candidates are of, which are in the order of the tile.
func (e *Encoder) tracks() (n int) {
	for at := 0; at < len(e.candidates); n++ {
		at += len(e.track(at))
	}
	return n
}

// track is the candidates from one on that are of the same track.
func (e *Encoder) track(at int) []candidate {
	end := at + 1
	if e.candidates[at].piece {
		for end < len(e.candidates) && e.candidates[end].piece && e.candidates[end].id == e.candidates[at].id {
			end++
		}
	}
	return e.candidates[at:end]
}

// Append appends the tile to dst, and nothing if no track is in it. The error
// says that a block is damaged.
func (e *Encoder) Append(dst []byte) ([]byte, Stats, error) {
	if len(e.candidates) == 0 {
		return dst, Stats{}, nil
	}
	capped := len(e.candidates) > e.limits.Features
	if e.pieces || !capped && !e.sorted {
		if !e.identifyAll() {
			return dst, Stats{}, errBlock
		}
		slices.SortFunc(e.candidates, placed)
		capped = capped && e.tracks() > e.limits.Features
	}
	var s Stats
	e.out, e.begun = dst, len(dst)
	err := e.draw(&s, capped)
	if err == nil && !capped && e.size() > e.limits.Bytes {
		s = Stats{}
		err = e.draw(&s, true)
	}
	if err == nil && s.Features > 0 {
		dst = e.layer()
	}
	e.out = nil
	if err != nil {
		return dst, Stats{}, err
	}
	return dst, s, nil
}

// draw writes the candidates' features. If capped, it takes the important ones
// first, leaves out a track that has no room even alone, and ends at the first
// other one that has none left.
func (e *Encoder) draw(s *Stats, capped bool) error {
	e.reset()
	left := 0 // tracks, if capped
	inOrder := len(e.candidates)
	if capped {
		if !e.identifyAll() {
			return errBlock
		}
		left, inOrder = e.tracks(), 0
	}
	for at := 0; at < len(e.candidates); {
		if s.Features == e.limits.Features {
			s.Dropped += left
			return nil
		}
		if at == inOrder {
			inOrder = arrange(e.candidates, inOrder)
		}
		track := e.track(at)
		for at+len(track) == inOrder && inOrder < len(e.candidates) { // there may be more of it
			inOrder = arrange(e.candidates, inOrder)
			track = e.track(at)
		}
		at, left = at+len(track), left-1
		if capped {
			e.open = -1 // so that values can be taken back
		}
		out, values, size, count := len(e.out), len(e.values), e.bytes, e.count
		drawn, err := e.feature(track)
		switch {
		case err != nil:
			return err
		case !drawn:
			continue
		case capped && e.size() > e.limits.Bytes:
			alone := len(e.out) - out + e.bytes - size
			e.out, e.values, e.bytes, e.count = e.out[:out], e.values[:values], size, count
			e.forget(uint32(count))
			s.Dropped++
			if alone+layerOverhead <= e.limits.Bytes {
				s.Dropped += left
				return nil
			}
			continue
		}
		s.Features++
	}
	return nil
}

func (e *Encoder) reset() {
	e.out = append(e.out[:e.begun], layerHead...)
	e.values, e.bytes, e.count, e.open = e.values[:0], 0, 0, -1
	clear(e.slots)
	for i := range e.words {
		e.words[i].index = 0
	}
}

// layerHead is the beginning of a layer, with room for a size of sizeRoom bytes.
const (
	layerHead = string(rune(tagLayer)) + "\x00\x00\x00" + string(rune(tagVersion)) + "\x02" + string(rune(tagName)) + string(rune(len(Layer))) + Layer
	sizeRoom  = 3
)

// layerOverhead is what a layer takes besides features and values, at most.
const layerOverhead = 128

func (e *Encoder) size() int { return len(e.out) - e.begun - len(layerHead) + e.bytes + layerOverhead }

// ownKeys and sharedKeys are the names of the properties, in the order of the
// layer's keys.
var (
	ownKeys    = [...]string{"id", "length_m", "name", "recorded_on", "url"}
	sharedKeys = [...]string{"activity", "source", "attribution"}
)

// layer puts what comes behind the features, and the layer's size before them.
func (e *Encoder) layer() []byte {
	b := slices.Grow(e.out, e.bytes+layerOverhead)
	for _, k := range ownKeys {
		b = append(append(b, tagKey, byte(len(k))), k...)
	}
	for _, k := range sharedKeys {
		b = append(append(b, tagKey, byte(len(k))), k...)
	}
	for _, v := range e.values {
		b = append(b, v...)
	}
	b = appendVarint(append(b, tagExtent), Extent)
	size := uint64(len(b) - e.begun - 1 - sizeRoom)
	head, room := e.begun+1, varintSize(size)
	if room != sizeRoom {
		b = slices.Grow(b, room)
		end := len(b) + room - sizeRoom
		copy(b[:cap(b)][head+room:], b[head+sizeRoom:])
		b = b[:end]
	}
	appendVarint(b[:head], size)
	return b
}
