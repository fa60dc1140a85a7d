package collect_test

import (
	"testing"

	"github.com/paulmach/orb"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/collect"
)

// What a region hides and what was removed stays away in the collections that follow, and the
// runs count it.
func TestPrivacy(t *testing.T) {
	t.Parallel()
	r, f := newRig(t), oneEach()
	r.ok(r.collects(f))
	require.Len(t, r.list(), 4)

	home := region()
	home.Hidden = []gpstracks.Zone{ // the middle of the first track, and all of the second one
		{Name: "alps/home", Center: orb.Point{7.25, 46.2515}, RadiusM: 50},
		{Name: "alps/work", Center: orb.Point{7.75, 46.2515}, RadiusM: 300},
	}
	require.NoError(t, collect.HideZones(t.Context(), r.store, collect.Config{Regions: []collect.Region{home}}, start()))
	third := r.list()[0]
	_, err := r.store.Withhold(t.Context(), gpstracks.Removal{Source: "osm", ExternalID: third.ExternalID,
		Reason: "its author wants it gone", At: start()})
	require.NoError(t, err)
	kept := r.list()
	require.Len(t, kept, 2)

	for _, dry := range []bool{true, false} {
		r.o.DryRun = dry
		run, err := r.collector().Region(t.Context(), source(), home, f)
		require.NoError(t, err)
		require.Equal(t, gpstracks.Tally{gpstracks.ReasonRemoved: 1, gpstracks.ReasonHidden: 1}, run.RejectedFor)
		require.Equal(t, gpstracks.Tally{gpstracks.ReasonHidden: 1}, run.ChangedFor)
		require.Equal(t, []int{4, 0, 2, 2}, []int{run.Fetched, run.Inserted, run.Duplicates, run.Rejected})
	}
	again := r.list()
	for i := range again {
		again[i].LastSeenAt, again[i].RunID = kept[i].LastSeenAt, kept[i].RunID
	}
	require.Equal(t, kept, again)
	wrong := collect.Config{Regions: []collect.Region{home}}
	wrong.Regions[0].Hidden[0].RadiusM = 1
	require.ErrorContains(t, wrong.Check(), "alps/home, that cannot be used")
}
