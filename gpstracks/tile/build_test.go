package tile_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/paulmach/orb"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/sample"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
)

// Building on all processors gives the blocks that packing, sorting and cutting one
// after the other give.
func TestBuild(t *testing.T) {
	tracks := sample.Tracks(150, 1)
	for i := range 700 {
		at := orb.Point{7 + float64(i%350)/1000, 46} // two at each place
		tracks = append(tracks, prepared(t, gpstracks.Track{
			Source: "s", ExternalID: fmt.Sprint(i), Lines: orb.MultiLineString{{at, {at[0] + 0.01, at[1] + 0.01}, {at[0] + 0.02, at[1]}}},
		})...)
	}
	var features [tile.Levels][]tile.Feature
	var p tile.Packer
	for i := range tracks {
		tracks[i].ID = int64(len(tracks) - i)
		for _, f := range p.Pack(&tracks[i]) {
			features[f.Shelf()] = append(features[f.Shelf()], f)
		}
	}
	var want []tile.Block
	pieces := false
	for level, own := range features {
		want = append(want, tile.Blocks(level, 0, own)...)
		pieces = pieces || slices.ContainsFunc(own, func(f tile.Feature) bool { return f.Piece > 0 })
	}
	require.True(t, pieces)
	got, err := tile.Build(t.Context(), nil, tracks, nil)
	require.NoError(t, err)
	counts := func(b tile.Block) bool { return b.Level >= tile.Totals && b.Level < tile.FirstBand } // TestDensity counts these
	got = slices.DeleteFunc(got, counts)
	require.Equal(t, want, got)
	slices.Reverse(tracks)
	got, err = tile.Build(t.Context(), nil, tracks, nil)
	require.NoError(t, err)
	require.Equal(t, want, slices.DeleteFunc(got, counts))

	none, err := tile.Build(t.Context(), nil, nil, nil)
	require.NoError(t, err)
	require.Empty(t, none)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = tile.Build(ended, nil, tracks, nil)
	require.ErrorIs(t, err, context.Canceled)
}
