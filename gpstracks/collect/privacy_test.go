package collect_test

import (
	"slices"
	"testing"
	"time"

	"github.com/paulmach/orb"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/collect"
	"github.com/signalbox-dev/signalbox/gpstracks/gpx"
	generated "github.com/signalbox-dev/signalbox/gpstracks/sample"
)

// A hundred tracks that were removed stay away, as the files of four other exporters have them, and their
// neighbours stay.
func TestRemovedStayAway(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var files, others []collect.File
	disguised := map[string][]collect.File{}
	write := func(name string, d dialect, points []gpx.Point) collect.File {
		return fileOf(name+".gpx", d.write(points))
	}
	for i, k := range generated.Tracks(150, 11) {
		var points, bare []gpx.Point
		for j, p := range k.Lines[0] {
			points = append(points, gpx.Point{At: p, Time: start().AddDate(0, 0, i).Add(time.Duration(9*j) * time.Second)})
			bare = append(bare, gpx.Point{At: p})
		}
		name := k.ExternalID
		timed := dialect{head: gpx11, point: stamp(time.RFC3339)}
		if i >= 100 {
			others = append(others, write(name, timed, points))
			continue
		}
		files = append(files, write(name, timed, points))
		back, n := slices.Clone(bare), len(points)
		slices.Reverse(back)
		disguise := func(as string, d dialect, points []gpx.Point) {
			disguised[as] = append(disguised[as], write(as+name, d, points))
		}
		coarse := timed
		coarse.decimals = 5
		disguise("five decimals", coarse, points)
		disguise("a route, reversed", dialect{head: gpx11, kind: "rte"}, back)
		disguise("ends cut", timed, points[n/50:n-n/50])
		var third []gpx.Point
		for j := 0; j < n; j += 2 {
			third = append(third, bare[j])
		}
		disguise("every second point, no times", dialect{head: gpx11}, third)
	}
	require.Equal(t, 150, r.ok(r.imports(slices.Concat(files, others), nil)).Inserted)
	for _, k := range r.list() {
		if k.RecordedOn.Before(start().AddDate(0, 0, 100).Truncate(24 * time.Hour)) {
			_, err := r.store.Withhold(t.Context(), gpstracks.Removal{Source: k.Source, Cells: k.Cells, RecordedOn: k.RecordedOn,
				LengthM: k.LengthM, Reason: "its author wants it gone", At: start()})
			require.NoError(t, err)
		}
	}
	require.Len(t, r.list(), 50)
	for name, again := range disguised {
		run := r.ok(r.imports(again, nil))
		require.Equal(t, []int{0, 100}, []int{run.Inserted, run.RejectedFor[gpstracks.ReasonRemoved]}, name)
	}
	require.Len(t, r.list(), 50)
}

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
		run := r.ok(r.reads(source(), home, f))
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
