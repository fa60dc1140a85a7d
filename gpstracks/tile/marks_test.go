package tile_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/memtracks"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
)

// Marks hold exactly the ids of their tracks, in ranges that are not too large.
func TestMarks(t *testing.T) {
	require.Empty(t, tile.MarksOf(nil))
	_, ok := tile.Marked(nil, 1)
	require.False(t, ok)
	rng := rand.New(rand.NewPCG(1, 1))
	for range 50 {
		var tracks []gpstracks.Track
		ids, points := map[int64]bool{}, int64(0)
		for range rng.IntN(9000) {
			id := 1 + rng.Int64N(10_000)
			if rng.IntN(100) == 0 {
				id += 50_000
			}
			if !ids[id] {
				k := gpstracks.Track{ID: id, Points: 2 + rng.IntN(200)}
				ids[id], points, tracks = true, points+int64(k.Points), append(tracks, k)
			}
		}
		marks := tile.MarksOf(tracks)
		for i, m := range marks {
			require.LessOrEqual(t, m.Last-m.First, int64(2047))
			require.LessOrEqual(t, m.Points, int64(128<<10))
			require.True(t, i == 0 || marks[i-1].Last < m.First, "in order, and apart")
			points -= m.Points
		}
		require.Zero(t, points)
		for id := range int64(10_100) {
			m, ok := tile.Marked(marks, id)
			require.Equal(t, ids[id], ok, id)
			require.True(t, !ok || m.First <= id && id <= m.Last)
		}
	}
	huge := tile.MarksOf([]gpstracks.Track{{ID: 1, Points: 900_000}, {ID: 2, Points: 900_000}, {ID: 3, Points: 3}})
	require.Len(t, huge, 3)
	require.Len(t, tile.NextMarks(huge, tile.Backlog{Tracks: 9, Points: 1000}), 1, "one at least")
	require.Len(t, tile.NextMarks(huge[1:], tile.Backlog{Tracks: 9, Points: 1_000_000}), 2)
	require.Len(t, tile.NextMarks(huge[1:], tile.Backlog{Tracks: 1, Points: 1_000_000}), 1)
	require.Empty(t, tile.NextMarks(nil, tile.Backlog{}))
	require.False(t, tile.Backlog{Tracks: 65_536, Points: 4 << 20}.Much())
	require.True(t, tile.Backlog{Tracks: 100_000}.Much())
	require.True(t, tile.Backlog{Points: 5 << 20}.Much())
}

// rest is a source of tracks that are in no block.
type rest []gpstracks.Track

func (s rest) blocks(level int, yield func([]byte) error) error {
	var r tile.Rest
	for i := range s {
		r.Add(&s[i], level)
	}
	return r.Blocks(level, yield)
}

// A track that is in no block is drawn as one that is in a block, at every level.
func TestRest(t *testing.T) {
	double := memtracks.New()
	_, err := double.Upsert(t.Context(), memtracks.Generate(200, 5))
	require.NoError(t, err)
	var tracks rest
	for k, err := range double.List(t.Context(), gpstracks.Filter{}) {
		require.NoError(t, err)
		tracks = append(tracks, k)
	}
	for level := range tile.MaxLevel + 1 {
		want, got := map[[2]int64]tile.Feature{}, map[[2]int64]tile.Feature{}
		read := func(into map[[2]int64]tile.Feature) func([]byte) error {
			return func(block []byte) error {
				features, err := tile.BlockFeatures(block)
				for _, f := range features {
					into[[2]int64{f.ID, int64(f.Piece)}] = f
				}
				return err
			}
		}
		everywhere := tile.Window{MaxX: 1 << 27, MaxY: 1 << 27}
		require.NoError(t, double.Blocks(t.Context(), level, everywhere, read(want)))
		require.NoError(t, tracks.blocks(level, read(got)))
		require.Equal(t, want, got, "level %d", level)
	}
	var r tile.Rest
	r.Add(&tracks[0], 0)
	require.True(t, r.Some, "although it is too small to be drawn")
	r.Reset()
	require.False(t, r.Some)
}

// The ground of a window holds every track that is drawn in it.
func TestWindowBounds(t *testing.T) {
	tracks := memtracks.Generate(60, 9)
	var p tile.Packer
	for i := range tracks {
		for _, f := range p.Pack(&tracks[i]) {
			require.True(t, f.Bounds.Bounds(f.Level).Intersects(tracks[i].Bounds))
			corner := tile.Window{MinX: f.Bounds.MaxX, MinY: f.Bounds.MaxY, MaxX: f.Bounds.MaxX, MaxY: f.Bounds.MaxY}
			require.True(t, corner.Bounds(f.Level).Intersects(tracks[i].Bounds.Pad(1e-5)), "level %d", f.Level)
		}
	}
}
