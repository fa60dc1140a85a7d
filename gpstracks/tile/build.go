package tile

import (
	"context"
	"log/slog"
	"slices"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/internal/run"
)

// What a block that a store keeps holds at most: a read of one feature reads the others
// too. With its words it fits in a page of 8 kB of a database.
const (
	blockFeatures = 64
	blockBytes    = 7600 // but for a single feature
)

// Block is one that a store keeps: features of one level that are near each other.
type Block struct {
	Level, Tier int
	Features    int    // in it
	Place       uint32 // of the first of them
	Window      Window // of all of them
	Data        []byte
}

// Blocks makes the blocks of features of one level of a store, in any order, for a tier. The
// same features give the same blocks.
func Blocks(level, tier int, features []Feature) []Block {
	refs := make([]*Feature, len(features)) // sorting moves them, not what they refer to
	for i := range features {
		refs[i] = &features[i]
	}
	return blocksOf(level, tier, refs)
}

func blocksOf(level, tier int, features []*Feature) (out []Block) {
	slices.SortFunc(features, along)
	if isGrid(level) {
		features = sum(features)
	}
	for len(features) > 0 {
		n, size := 1, features[0].Size()
		for n < min(len(features), blockFeatures) && size+features[n].Size() <= blockBytes {
			size, n = size+features[n].Size(), n+1
		}
		data := appendBlock(nil, features[:n])
		out = append(out, Block{level, tier, n, features[0].Place, window(data[headerWindow:]), data})
		features = features[n:]
	}
	return out
}

// packAtOnce bounds the tracks that one processor packs at a time.
const packAtOnce = 32

// Build makes the blocks of tracks at all levels, for tier 0, on all processors. Tracks that are gone are
// counted no more; their lines are in blocks that were built before.
func Build(ctx context.Context, log *slog.Logger, tracks, gone []gpstracks.Track) ([]Block, error) {
	parts := slices.Collect(slices.Chunk(tracks, packAtOnce))
	packed := make([][]Feature, len(parts)+1)
	err := run.Start(ctx, log, "pack tracks", len(packed), func(i int) {
		if i < len(parts) {
			var p Packer
			for j := range parts[i] {
				packed[i] = append(packed[i], p.Pack(&parts[i][j])...)
			}
			return
		}
		var c counter
		for j := range gone {
			c.add(&gone[j], -1)
		}
		for j := range tracks {
			c.add(&tracks[j], 1)
		}
		packed[i] = c.features()
	})()
	if err != nil {
		return nil, err
	}
	var byLevel [Levels][]*Feature
	for _, part := range packed {
		for i := range part {
			f := &part[i]
			byLevel[f.Shelf()] = append(byLevel[f.Shelf()], f)
		}
	}
	var out [Levels][]Block
	err = run.Start(ctx, log, "make blocks of tracks", len(out), func(level int) { out[level] = blocksOf(level, 0, byLevel[level]) })()
	return slices.Concat(out[:]...), err
}

// TierMax bounds the features of a level that a store keeps in blocks of a tier before it
// puts them together anew as blocks of a tier above it: 4,096 in tier 0, four times more in
// each next one; of counts, which become fewer by it, a sixteenth. So a feature is written again a few times only,
// however many there are, and a look at a place reads a few blocks of each tier.
func TierMax(level, tier int) int {
	if isGrid(level) {
		return 256 << (2 * tier)
	}
	return 4096 << (2 * tier)
}

// TierAbove is the tier where the features of a full one go, of which there are n: the first
// above it that holds them. Those of a large import come far at once.
func TierAbove(level, tier int, n int64) int {
	for tier++; n > int64(TierMax(level, tier)); tier++ {
	}
	return tier
}
