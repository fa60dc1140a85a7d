package storetest

import (
	"cmp"
	"context"
	"math"
	"slices"
	"testing"

	"github.com/paulmach/orb/maptile"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/tracksqlite"
	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
)

// Memory opens a store in memory.
func Memory(t testing.TB) *tracksqlite.Tracks {
	t.Helper()
	s, err := tracksqlite.Open(t.Context(), tracksqlite.Options{Path: tracksqlite.Memory})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// All are the tracks of a store that pass a filter.
func All(t testing.TB, s gpstracks.Store, f gpstracks.Filter) (out []gpstracks.Track) {
	t.Helper()
	for k, err := range s.List(t.Context(), f) {
		require.NoError(t, err)
		out = append(out, k)
	}
	return out
}

// RequireShows compares lists and tiles with the tracks that a store should have, and looks that it
// hands out each feature of them once. Tracks without ids take the next ones in their order.
func RequireShows(t testing.TB, s Store, tracks []gpstracks.Track) {
	t.Helper()
	for i := range tracks {
		if tracks[i].ID == 0 {
			tracks[i].ID = int64(i + 1)
		}
	}
	blocks, err := tile.Build(t.Context(), nil, tracks, nil)
	require.NoError(t, err)
	for level := range tile.Levels {
		require.Equal(t, drawn(t, packed(blocks), level), drawn(t, s, level), "each feature of level %d once", level)
	}
	e := tile.NewEncoder(tile.Limits{Features: math.MaxInt32, Bytes: math.MaxInt32})
	for _, f := range []gpstracks.Filter{
		{}, {Sources: []string{"osm"}}, {Activities: []gpstracks.Activity{gpstracks.Running, gpstracks.Skiing}},
	} {
		require.Equal(t, Passing(tracks, f), All(t, s, f))
		for _, z := range []maptile.Zoom{4, 7, 9, 12, 14, 17} {
			for i := 0; i < len(tracks); i += 1 + len(tracks)/3 {
				at := maptile.At(tracks[i].Lines[0][0], z)
				id := tile.ID{Z: int(z), X: int(at.X), Y: int(at.Y)}
				want, _, err := e.Encode(t.Context(), nil, packed(blocks), id, f)
				require.NoError(t, err)
				got, _, err := e.Encode(t.Context(), nil, s, id, f)
				require.NoError(t, err)
				require.Equal(t, want, got, "%v", id)
			}
		}
	}
}

// Passing are the tracks that a list with the filter has, in its order.
func Passing(tracks []gpstracks.Track, f gpstracks.Filter) (out []gpstracks.Track) {
	for i := range tracks {
		if f.Match(&tracks[i]) {
			out = append(out, tracks[i])
		}
	}
	slices.SortFunc(out, func(a, b gpstracks.Track) int { return gpstracks.CompareCursors(a.Cursor(), b.Cursor()) })
	if f.Limit > 0 {
		out = out[:min(len(out), f.Limit)]
	}
	return out
}

// drawn are the features of a level, in order.
func drawn(t testing.TB, s tile.Source, level int) (out []tile.Feature) {
	t.Helper()
	all := tile.Window{MaxX: 1 << 27, MaxY: 1 << 27}
	require.NoError(t, s.Blocks(t.Context(), level, all, func(b []byte) error {
		features, err := tile.BlockFeatures(b)
		out = append(out, features...)
		return err
	}))
	var whole []tile.Feature // counts are summed
	for _, b := range tile.Blocks(level, 0, out) {
		features, err := tile.BlockFeatures(b.Data)
		require.NoError(t, err)
		whole = append(whole, features...)
	}
	slices.SortStableFunc(whole, func(a, b tile.Feature) int { return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Piece, b.Piece)) })
	return whole
}

// packed are blocks in memory, all of the features of some tracks.
type packed []tile.Block

func (p packed) Blocks(_ context.Context, level int, w tile.Window, yield func([]byte) error) error {
	for _, b := range p {
		if b.Level == level && b.Window.Touches(w) {
			if err := yield(b.Data); err != nil {
				return err
			}
		}
	}
	return nil
}
