package tile_test

import (
	"math"
	"strings"
	"testing"

	"github.com/paulmach/orb"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/sample"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
)

// piecesOf are the features of tracks at a level.
func piecesOf(level int, tracks ...gpstracks.Track) (out []tile.Feature) {
	var p tile.Packer
	for i := range tracks {
		for _, f := range p.Pack(&tracks[i]) {
			if f.Level == level {
				out = append(out, f)
			}
		}
	}
	return out
}

// A track that is larger than a tile is in pieces, each about as large as what a tile
// shows of it; one that fits in a tile is whole.
func TestPieces(t *testing.T) {
	t.Parallel()
	tracks := prepared(t, sample.Tracks(40, 3)...)
	cut := 0
	for level := range tile.MaxLevel + 1 {
		for _, k := range tracks {
			features := piecesOf(level, k)
			all := tile.Window{MinX: math.MaxInt32, MinY: math.MaxInt32}
			for i, f := range features {
				require.Equal(t, i, f.Piece)
				require.True(t, len(features) == 1 || f.Size() < 1600, "what a tile reads for a piece of it: %d", f.Size())
				all = tile.Window{MinX: min(all.MinX, f.Bounds.MinX), MinY: min(all.MinY, f.Bounds.MinY),
					MaxX: max(all.MaxX, f.Bounds.MaxX), MaxY: max(all.MaxY, f.Bounds.MaxY)}
			}
			if len(features) > 1 {
				require.Greater(t, max(all.MaxX-all.MinX, all.MaxY-all.MinY), int32(tile.Extent), "level %d", level)
				cut++
			}
		}
	}
	require.Greater(t, cut, 30)
}

// Whatever pieces of a track a store leaves out because they do not touch the tile, the
// tile is the same; and a track is one feature of it, however many pieces are drawn.
func TestPiecesJoin(t *testing.T) {
	t.Parallel()
	tracks := prepared(t, sample.Tracks(20, 8)...)
	drawn := 0
	rapid.Check(t, func(r *rapid.T) {
		k := tracks[rapid.IntRange(0, len(tracks)-1).Draw(r, "track")]
		line := k.Lines[0]
		id := at(rapid.IntRange(10, 17).Draw(r, "z"), line[rapid.IntRange(0, len(line)-1).Draw(r, "point")])
		all, near := tile.NewEncoder(tile.Limits{Features: 1}), tile.NewEncoder(tile.Limits{Features: 1})
		all.Begin(id, gpstracks.Filter{})
		near.Begin(id, gpstracks.Filter{})
		for _, f := range rapid.Permutation(piecesOf(id.Level(), k)).Draw(r, "order") {
			one := tile.Blocks(id.Level(), 0, []tile.Feature{f})[0].Data
			require.NoError(r, all.Add(one))
			if f.Bounds.Touches(id.Window()) {
				require.NoError(r, near.Add(one))
			}
		}
		want, stats, err := all.Append(nil)
		require.NoError(r, err)
		require.Zero(r, stats.Dropped, "pieces are not counted")
		got, _, err := near.Append(nil)
		require.NoError(r, err)
		require.Equal(r, want, got)
		require.Len(r, decode(r, got), stats.Features)
		drawn += stats.Features
	})
	require.Positive(t, drawn)
}

// A cap counts tracks, not their pieces, and drops whole tracks.
func TestPiecesAreCapped(t *testing.T) {
	t.Parallel()
	var tracks []gpstracks.Track
	for i := range 3 {
		var line orb.LineString
		for j := range 600 {
			line = append(line, orb.Point{7 + 0.0003*float64(j), 46 + 0.002*float64(j%2) + 0.003*float64(i)})
		}
		tracks = append(tracks, gpstracks.Track{Lines: orb.MultiLineString{line[:600-100*i]}})
	}
	tracks = prepared(t, tracks...)
	id := at(13, orb.Point{7.05, 46.01})
	require.Greater(t, len(piecesOf(13, tracks...)), 9)
	whole, stats := encode(t, tile.Limits{Features: 3}, id, tracks...)
	require.Equal(t, tile.Stats{Features: 3}, stats)
	capped, stats := encode(t, tile.Limits{Features: 2}, id, tracks...)
	require.Equal(t, tile.Stats{Features: 2, Dropped: 1}, stats)
	require.Equal(t, []any{1.0, 2.0}, []any{decode(t, capped)[0].ID, decode(t, capped)[1].ID})
	_, stats = encode(t, tile.Limits{Bytes: len(whole) - 100}, id, tracks...)
	require.Equal(t, tile.Stats{Features: 2, Dropped: 1}, stats)
}

// The size that a layer begins with takes two, three or four bytes.
func TestSizes(t *testing.T) {
	t.Parallel()
	for _, name := range []int{0, 20, 15_900, 16_100, 16_300, 20_000, 2_000_000, 2_097_000, 2_100_000} {
		tracks := prepared(t, gpstracks.Track{Name: "a", Lines: orb.MultiLineString{{{7, 46}, {7.2, 46.2}}}})
		tracks[0].Name = strings.Repeat("n", name)
		body, _ := encode(t, tile.Limits{Bytes: math.MaxInt32}, at(9, orb.Point{7.05, 46.1}), tracks...)
		f := decode(t, body)
		require.Len(t, f, 1)
		require.Len(t, f[0].Properties.MustString("name", ""), name)
	}
}

// What a tier holds too much goes where it has room, and no further.
func TestTierAbove(t *testing.T) {
	t.Parallel()
	require.Equal(t, 1, tile.TierAbove(0, 0, 4097))
	require.Equal(t, 1, tile.TierAbove(0, 0, int64(tile.TierMax(0, 1))))
	require.Equal(t, 2, tile.TierAbove(0, 0, int64(tile.TierMax(0, 1))+1))
	require.Equal(t, 2, tile.TierAbove(0, 1, int64(tile.TierMax(0, 1))+1))
	require.Equal(t, 4, tile.TierAbove(0, 1, 1_000_000))
	require.Equal(t, 2, tile.TierAbove(tile.Totals, 0, 4096), "counts are put together sooner")
}
