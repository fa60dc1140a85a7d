package memtracks_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/paulmach/orb"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/memtracks"
	"github.com/signalbox-dev/signalbox/gpstracks/storetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) storetest.Store { return memtracks.New() })
}

func TestFail(t *testing.T) {
	t.Parallel()
	s, down := memtracks.New(), errors.New("down")
	s.Fail(down)
	_, err := s.Count(t.Context())
	require.ErrorIs(t, err, down)
	for _, err := range s.List(t.Context(), gpstracks.Filter{}) {
		require.ErrorIs(t, err, down)
	}
	s.Fail(nil)
	_, err = s.Count(t.Context())
	require.NoError(t, err)
}

func TestGenerate(t *testing.T) {
	t.Parallel()
	tracks := memtracks.Generate(60, 9)
	require.Len(t, tracks, 60)
	require.Equal(t, tracks, memtracks.Generate(60, 9), "equal seeds make equal tracks")
	alps := orb.Bound{Min: orb.Point{4, 43}, Max: orb.Point{16, 49}}
	seen := map[gpstracks.Activity]bool{}
	for _, track := range tracks {
		require.True(t, alps.Contains(track.Bounds.Min) && alps.Contains(track.Bounds.Max))
		require.Greater(t, track.LengthM, 300.0)
		seen[track.Activity] = true
	}
	require.Greater(t, len(seen), 2)
}

func Example() {
	store := memtracks.New()
	done, err := store.Upsert(context.Background(), memtracks.Generate(100, 1))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("new:", done.Inserted)
	for track, err := range store.List(context.Background(), gpstracks.Filter{Activities: []gpstracks.Activity{gpstracks.Cycling}, Limit: 1}) {
		fmt.Println("longest ride:", track.Activity, err)
	}
	// Output:
	// new: 100
	// longest ride: cycling <nil>
}
