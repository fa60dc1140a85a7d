package tile

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"log/slog"
	"runtime"
	"slices"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/internal/run"
)

// Block is one that a store keeps: features of one level that are near each other.
type Block struct {
	Level, Tier int
	Features    int    // in it
	Place       uint32 // of the first of them
	Window      Window // of all of them
	Data        []byte
}

// Blocks makes the blocks of features of one level, in any order, for a tier. The
// same features give the same blocks.
func Blocks(level, tier int, features []Feature) []Block {
	return blocksOf(level, tier, refs(features))
}

func blocksOf(level, tier int, features []*Feature) (out []Block) {
	slices.SortFunc(features, along)
	for len(features) > 0 {
		n := fitting(len(features), func(i int) int { return features[i].Size() })
		data := appendBlock(nil, level, features[:n])
		out = append(out, Block{Level: level, Tier: tier, Features: n, Place: features[0].Place, Window: window(data[8:]), Data: data})
		features = features[n:]
	}
	return out
}

// Build makes the blocks of tracks at all levels, each for the tier where that many
// features come in, on all processors. The tracks come in sets: while one is packed,
// the next is asked for. What is kept of them until the end are their features.
func Build(ctx context.Context, log *slog.Logger, sets iter.Seq2[[]gpstracks.Track, error]) ([]Block, error) {
	var parts []*levels
	packed := func() error { return nil }
	for tracks, err := range sets {
		if err = errors.Join(packed(), err); err != nil {
			return nil, err
		}
		own := divide(tracks)
		parts = append(parts, own...)
		packed = run.Start(ctx, log, "pack tracks", len(own), func(i int) { own[i].pack(tracks) })
	}
	if err := packed(); err != nil {
		return nil, err
	}
	var out [MaxLevel + 1][]Block
	err := run.Start(ctx, log, "make blocks of tracks", len(out), func(level int) {
		n := 0
		for _, part := range parts {
			n += len(part.features[level])
		}
		features := make([]*Feature, 0, n)
		for _, part := range parts {
			features = append(features, refs(part.features[level])...)
		}
		out[level] = blocksOf(level, TierFor(n), features)
	})()
	return slices.Concat(out[:]...), err
}

// levels are the features of some tracks by level.
type levels struct {
	tracks   []spot
	features [MaxLevel + 1][]Feature
}

// spot is where a track lies along the curve.
type spot struct {
	place  uint32
	number int32 // of the track
	id     int64
}

// divide divides tracks along the curve among the processors.
func divide(tracks []gpstracks.Track) (parts []*levels) {
	order := byPlace(tracks)
	for part := range slices.Chunk(order, max(len(order)/(8*runtime.GOMAXPROCS(0)), 16)) {
		parts = append(parts, &levels{tracks: part})
	}
	return parts
}

func (l *levels) pack(tracks []gpstracks.Track) {
	var p Packer
	for _, s := range l.tracks {
		t := &tracks[s.number]
		p.begin(t)
		for level := MaxLevel; level >= 0; level-- {
			own := &l.features[level]
			if *own == nil {
				*own = make([]Feature, 0, len(l.tracks))
			}
			n := len(*own)
			if *own = p.features(*own, t, level); len(*own) == n {
				break
			}
		}
	}
}

// byPlace orders tracks along the curve: their features are in order then, but for
// pieces.
func byPlace(tracks []gpstracks.Track) []spot {
	order := make([]spot, len(tracks))
	for i := range tracks {
		order[i] = spot{placeOf(&tracks[i]), int32(i), tracks[i].ID}
	}
	slices.SortFunc(order, func(a, b spot) int { return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.id, b.id)) })
	return order
}
