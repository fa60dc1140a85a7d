package tile

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"slices"
	"sync/atomic"

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

// errUnfinished is that of a Build of which a part has ended too early.
var errUnfinished = errors.New("gps tile: blocks of some tracks could not be made: the log says why")

// Build makes the blocks of tracks at all levels, each for the tier where that many
// features come in, on all processors.
func Build(ctx context.Context, log *slog.Logger, tracks []gpstracks.Track) ([]Block, error) {
	order := byPlace(tracks)
	size := max(len(order)/(4*runtime.GOMAXPROCS(0)), 64)
	parts := make([]levels, 0, len(order)/size+1)
	for part := range slices.Chunk(order, size) {
		parts = append(parts, levels{tracks: part})
	}
	err := onAll(ctx, log, "pack tracks", len(parts), func(i int) { parts[i].pack(tracks) })
	if err != nil {
		return nil, err
	}
	var out [MaxLevel + 1][]Block
	err = onAll(ctx, log, "make blocks of tracks", len(out), func(level int) {
		var features []*Feature
		for i := range parts {
			features = append(features, refs(parts[i].features[level])...)
		}
		out[level] = blocksOf(level, TierFor(len(features)), features)
	})
	return slices.Concat(out[:]...), err
}

// onAll calls f n times, on all processors. Its error says that not all of it was done.
func onAll(ctx context.Context, log *slog.Logger, name string, n int, f func(i int)) error {
	g := run.New(ctx, log)
	defer g.Stop()
	var done atomic.Int64
	for i := range n {
		g.Go(name, func(ctx context.Context) {
			if ctx.Err() == nil {
				f(i)
				done.Add(1)
			}
		})
	}
	g.Wait()
	switch err := ctx.Err(); {
	case err != nil:
		return err
	case done.Load() < int64(n): // a panic: who goes on would lose tracks
		return errUnfinished
	}
	return nil
}

// levels are the features of some tracks by level.
type levels struct {
	tracks   []spot
	features [MaxLevel + 1][]Feature
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

// spot is where a track lies along the curve.
type spot struct {
	place  uint32
	number int32 // of the track
	id     int64
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
