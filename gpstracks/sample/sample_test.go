package sample_test

import (
	"testing"

	"github.com/paulmach/orb"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/sample"
)

func TestTracks(t *testing.T) {
	t.Parallel()
	tracks := sample.Tracks(60, 9)
	require.Len(t, tracks, 60)
	require.Equal(t, tracks, sample.Tracks(60, 9), "equal seeds make equal tracks")
	alps := orb.Bound{Min: orb.Point{4, 43}, Max: orb.Point{16, 49}}
	seen := map[gpstracks.Activity]bool{}
	for _, track := range tracks {
		require.True(t, alps.Contains(track.Bounds.Min) && alps.Contains(track.Bounds.Max))
		require.Greater(t, track.LengthM, 300.0)
		seen[track.Activity] = true
	}
	require.Greater(t, len(seen), 2)
}
