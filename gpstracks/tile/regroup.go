package tile

import (
	"encoding/binary"
	"iter"
)

// maxBlockBytes is the size from which a stored block is cut although it has
// fewer than BlockSize features: who reads it for one of them reads the others
// too.
const maxBlockBytes = 16 << 10

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

// Cut divides sorted features of one level into those of each block that a
// store should keep: at most BlockSize, and no more than fit in 16 kB unless a
// single one is larger.
func Cut(features []Feature) iter.Seq[[]Feature] {
	return func(yield func([]Feature) bool) {
		from, size := 0, 0
		for i, f := range features {
			if i > from && (i-from == BlockSize || size+len(f.Record) > maxBlockBytes) {
				if !yield(features[from:i]) {
					return
				}
				from, size = i, 0
			}
			size += len(f.Record) + indexEntry
		}
		if from < len(features) {
			yield(features[from:])
		}
	}
}

// BlockFeatures reads a block back into the features that AppendBlock was given,
// so that a store can put features of several blocks together anew. Their records
// are parts of the block. The error says that the block is damaged.
func BlockFeatures(block []byte) ([]Feature, error) {
	if len(block) < blockHeader || block[0] != Version {
		return nil, errBlock
	}
	size, n := uint64(binary.LittleEndian.Uint32(block[28:])), uint64(binary.LittleEndian.Uint32(block[4:]))
	if size+n*indexEntry > uint64(len(block)-blockHeader) {
		return nil, errBlock
	}
	words, ok := blockWords(block[blockHeader : blockHeader+size])
	if !ok {
		return nil, errBlock
	}
	index := block[blockHeader+size:]
	records := index[n*indexEntry:]
	out := make([]Feature, n)
	for i := range out {
		f, entry := &out[i], index[i*indexEntry:]
		from, size := uint64(binary.LittleEndian.Uint32(entry[16:])), uint64(binary.LittleEndian.Uint32(entry[20:]))
		if size < recordHeader || from+size > uint64(len(records)) {
			return nil, errBlock
		}
		r := records[from : from+size : from+size]
		*f = Feature{
			Level: int(block[1]), ID: int64(binary.LittleEndian.Uint64(r[recordID:])), Place: binary.LittleEndian.Uint32(r[recordPlace:]),
			Bounds: window(entry), Record: r,
		}
		for i, to := range [...]*string{&f.Activity, &f.Source, &f.Attribution} {
			number := int(binary.LittleEndian.Uint16(r[recordWords+2*i:]))
			switch {
			case number < len(words):
				*to = words[number]
			case number != noWord:
				return nil, errBlock
			}
		}
	}
	return out, nil
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
