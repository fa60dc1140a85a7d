package storetest

import (
	"github.com/paulmach/orb"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
)

// private is the privacy of a store.
func (k *kit) private() (gpstracks.ZoneStore, gpstracks.RemovalStore) {
	k.Helper()
	zones, ok := k.s.(gpstracks.ZoneStore)
	require.True(k, ok)
	removals, ok := k.s.(gpstracks.RemovalStore)
	require.True(k, ok)
	return zones, removals
}

// What was stored before a zone and what comes after it are cut alike, everywhere.
func hides(k *kit) {
	zones, _ := k.private()
	long, within := k.track("long", 7, 46, 20), k.track("within", 7.1, 46, 1)
	far := k.track("far", 20, 10, 5)
	k.upsert(long, within, far)
	id := tile.ID{Z: 10, X: 532, Y: 364}
	require.Contains(k, string(k.encode(id, gpstracks.Filter{})), "within")
	home := gpstracks.Zone{Name: "alps/home", Center: orb.Point{7.105, 46}, RadiusM: 900, MadeAt: day()}
	changed, err := zones.Hide(k.Context(), home)
	require.NoError(k, err)
	require.ElementsMatch(k, []orb.Bound{long.Bounds, within.Bounds}, changed)
	cut := k.list(gpstracks.Filter{})
	require.Equal(k, "longfar", k.names(gpstracks.Filter{}))
	require.Len(k, cut[0].Lines, 2)
	require.Greater(k, cut[0].ID, int64(3), "nobody has a link to what it was")
	require.True(k, cut[0].StartedAt.IsZero() && cut[0].EndedAt.IsZero() && cut[0].Moving == 0, "times say when the zone was left")
	require.True(k, cut[0].FirstSeenAt.Equal(day()))
	require.Less(k, cut[0].LengthM, long.LengthM-2*home.RadiusM)
	for _, line := range cut[0].Lines {
		for _, p := range line {
			require.Greater(k, gpstracks.Distance(p, home.Center), home.RadiusM)
		}
	}
	RequireShows(k.T, k.s, cut)
	require.NotContains(k, string(k.encode(id, gpstracks.Filter{})), "within")
	require.Empty(k, k.list(gpstracks.Filter{Bounds: []orb.Bound{{Min: orb.Point{7.1, 45.999}, Max: orb.Point{7.11, 46.001}}}}))

	again, err := zones.Hide(k.Context(), home)
	require.NoError(k, err)
	require.Empty(k, again, "the edge stays where it is")
	u := k.upsert(long, within, far)
	require.Equal(k, gpstracks.Upserted{Duplicates: 2, Screened: gpstracks.Screened{Hidden: 1, Cut: 1}}, u)
	require.Equal(k, cut, k.list(gpstracks.Filter{}))

	all, err := zones.Zones(k.Context())
	require.NoError(k, err)
	require.Len(k, all, 1)
	require.NotEmpty(k, all[0].Secret)
	home.Secret = all[0].Secret
	require.Equal(k, home, all[0])
	for _, wrong := range []gpstracks.Zone{{Name: "Home", RadiusM: 100}, {Name: "home", RadiusM: 1},
		{Name: "home", RadiusM: 100, Center: orb.Point{200, 0}}} {
		_, err := zones.Hide(k.Context(), wrong)
		require.Error(k, err)
	}
	for _, there := range []bool{true, false} {
		done, err := zones.Unhide(k.Context(), home.Name)
		require.NoError(k, err)
		require.Equal(k, there, done)
	}
	require.Equal(k, 2, k.upsert(long, within).Inserted, "a forgotten zone hides nothing new")
}

// A track that was removed is gone, and does not come back, as the same or under its reference.
func withholds(k *kit) {
	_, removals := k.private()
	a, b := k.track("a", 7, 46, 9), k.track("b", 9, 46, 3)
	k.upsert(a, b)
	wish := gpstracks.Removal{Cells: a.Cells, RecordedOn: a.RecordedOn, LengthM: a.LengthM, Source: a.Source, ExternalID: a.ExternalID,
		Reason: "its author wants it gone", By: "ann", At: day()}
	taken, err := removals.Withheld(k.Context(), wish)
	require.NoError(k, err)
	require.Len(k, taken, 1)
	k.count(2)
	changed, err := removals.Withhold(k.Context(), wish)
	require.NoError(k, err)
	require.Equal(k, []orb.Bound{a.Bounds}, changed)
	require.Equal(k, "b", k.names(gpstracks.Filter{}))
	require.Empty(k, k.encode(tile.ID{Z: 10, X: 532, Y: 364}, gpstracks.Filter{}))
	copied, part := a, k.track("a", 7.5, 46, 5)
	copied.Source, copied.ExternalID = "club", "other"
	u := k.upsert(a, copied, part, b)
	require.Equal(k, gpstracks.Upserted{Duplicates: 1, Screened: gpstracks.Screened{Removed: 3}}, u)
	k.count(1)
	again, err := removals.Withhold(k.Context(), wish)
	require.NoError(k, err)
	require.Empty(k, again)
	all, err := removals.Removals(k.Context())
	require.NoError(k, err)
	require.Len(k, all, 1)
	wish.ID = all[0].ID
	require.Equal(k, wish, all[0])
	for _, wrong := range []gpstracks.Removal{{Reason: "x"}, {Cells: a.Cells}, {ExternalID: "1", Reason: "x"}} {
		_, err := removals.Withhold(k.Context(), wrong)
		require.Error(k, err)
	}
	for _, there := range []bool{true, false} {
		done, err := removals.Readmit(k.Context(), wish.ID)
		require.NoError(k, err)
		require.Equal(k, there, done)
	}
	require.Equal(k, 2, k.upsert(a, part).Inserted)
	byName := gpstracks.Removal{Source: "osm", ExternalID: "a", Reason: "all of it", At: day()}
	changed, err = removals.Withhold(k.Context(), byName)
	require.NoError(k, err)
	require.Len(k, changed, 2)
	k.count(1)
}
