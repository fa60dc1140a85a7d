package tile

import (
	"encoding/binary"
	"iter"
)

// maxBlockBytes is the size from which a stored block is cut although it has
// fewer than BlockSize features: who reads it for one of them reads the others
// too. With its words it fits in a page of 8 kB of a database.
const maxBlockBytes = 7600

// firstTier and tierGrowth say how many features a tier may hold.
const (
	firstTier  = 4096
	tierGrowth = 4 // how many times more each next one holds
)

// TierMax is how many features of a level a store should keep in blocks of a tier
// before it puts them together anew as blocks of the next tier: 4,096 in tier 0,
// four times more in each next one. So a feature is written again a few times
// only, however many there are, and a look at a place reads a few blocks of each
// tier.
func TierMax(tier int) int {
	n := firstTier
	for range tier {
		n *= tierGrowth
	}
	return n
}

// TierFor is the tier where n features come in that are sorted among themselves.
func TierFor(n int) int {
	tier := 0
	for n >= TierMax(tier)/2 {
		tier++
	}
	return tier
}

// TierAbove is the tier where the features of a full one go, of which there are n: the
// first above it that holds them. Those of a large import come far at once, and are not
// written again in each tier between.
func TierAbove(tier int, n int64) int {
	tier++
	for n > int64(TierMax(tier)) {
		tier++
	}
	return tier
}

// Cut divides sorted features of one level into those of each block that a
// store should keep: at most BlockSize, and no more than fit in a page of 8 kB
// unless a single one is larger.
func Cut(features []Feature) iter.Seq[[]Feature] {
	return func(yield func([]Feature) bool) {
		for len(features) > 0 {
			n := fitting(len(features), func(i int) int { return features[i].Size() })
			if !yield(features[:n:n]) {
				return
			}
			features = features[n:]
		}
	}
}

// fitting is how many of n features, whose sizes are given, are one block.
func fitting(n int, size func(i int) int) int {
	n = min(n, BlockSize)
	sum := size(0)
	for i := 1; i < n; i++ {
		if sum += size(i); sum > maxBlockBytes {
			return i
		}
	}
	return n
}

// BlockFeatures reads a block back into the features that AppendBlock was given,
// so that a store can put features of several blocks together anew. They share the
// block's memory. The error says that the block is damaged.
func BlockFeatures(data []byte) ([]Feature, error) {
	b, ok := openBlock(data)
	if !ok {
		return nil, errBlock
	}
	words, ok := blockWords(b.words)
	if !ok {
		return nil, errBlock
	}
	out := make([]Feature, b.count())
	for i := range out {
		if !b.feature(&out[i], i, words) {
			return nil, errBlock
		}
	}
	return out, nil
}

// feature reads one.
func (b *block) feature(f *Feature, i int, words []string) bool {
	head := b.head(i)
	v0, v1, ok := b.span(i, headValues, len(b.values))
	g0, g1, good := b.span(i, headGeometry, len(b.geometry))
	if !ok || !good {
		return false
	}
	f.values, f.geometry = b.values[v0:v1:v1], b.geometry[g0:g1:g1]
	id, _, ok := ownNumbers(f.values)
	if !ok {
		return false
	}
	f.Level, f.ID, f.Bounds = b.level, int64(id), b.window(i)
	f.place, f.flags = binary.LittleEndian.Uint32(head[headPlace:]), binary.LittleEndian.Uint16(head[headFlags:])
	if f.Place = f.place; f.flags&isPiece != 0 {
		shape, ok := openShape(f.geometry, f.flags, f.Bounds)
		if !ok {
			return false
		}
		f.Piece, f.Place = int(shape.piece), f.Bounds.place(f.Level)
	}
	for i, to := range [...]*string{&f.Activity, &f.Source, &f.Attribution} {
		number := int(binary.LittleEndian.Uint16(head[headWords+2*i:]))
		switch {
		case number < len(words):
			*to = words[number]
		case number != noWord:
			return false
		}
	}
	return true
}

func blockWords(b []byte) (words []string, ok bool) {
	for len(b) > 0 {
		size := valueSize(b)
		if size == 0 {
			return nil, false
		}
		words = append(words, string(valueString(b[:size])))
		b = b[size:]
	}
	return words, true
}
