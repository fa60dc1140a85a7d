package tile_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/paulmach/orb"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
)

// Packing on all processors gives what packing one after the other gives.
func TestPackAll(t *testing.T) {
	var tracks []gpstracks.Track
	for i := range 300 {
		at := orb.Point{7 + float64(i)/1000, 46}
		k, err := gpstracks.Prepare(gpstracks.Track{
			ID: int64(i + 1), Source: "s", ExternalID: fmt.Sprint(i),
			Lines: orb.MultiLineString{{at, {at[0] + 0.01, at[1] + 0.01}, {at[0] + 0.02, at[1]}}},
		})
		require.NoError(t, err)
		tracks = append(tracks, k)
	}
	var want [tile.MaxLevel + 1][]tile.Feature
	var p tile.Packer
	for i := range tracks {
		for _, f := range p.Pack(&tracks[i]) {
			want[f.Level] = append(want[f.Level], f)
		}
	}
	got := tile.PackAll(t.Context(), nil, tracks)
	for level := range want {
		require.ElementsMatch(t, want[level], got[level], level)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, level := range tile.PackAll(ended, nil, tracks) {
		require.Empty(t, level)
	}
}
