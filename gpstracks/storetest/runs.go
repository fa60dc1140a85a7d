package storetest

import (
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/sample"
)

func runs(k *kit) {
	last, err := k.s.LastRuns(k.Context())
	require.NoError(k, err)
	require.Empty(k, last)
	save := func(r gpstracks.Run) int64 {
		id, err := k.s.SaveRun(k.Context(), r)
		require.NoError(k, err)
		return id
	}
	first := gpstracks.Run{Source: "osm", Region: "alps", StartedAt: day(), Status: gpstracks.StatusRunning}
	first.ID = save(first)
	other := gpstracks.Run{Source: "club", StartedAt: day(), FinishedAt: day().Add(time.Minute), Status: gpstracks.StatusFailed,
		Error: "no answer", Cursor: "7/3"}
	other.ID = save(other)
	second := gpstracks.Run{Source: "osm", DryRun: true, StartedAt: day().Add(time.Hour), Status: gpstracks.StatusRunning}
	second.ID = save(second)
	second.Status, second.Fetched, second.Bytes = gpstracks.StatusDone, 7, 1<<40
	second.Rejected, second.RejectedFor = 3, gpstracks.Tally{gpstracks.ReasonOnePoint: 1, gpstracks.ReasonGaps: 2}
	second.ChangedFor = gpstracks.Tally{gpstracks.ReasonBadTimes: 4}
	require.Equal(k, second.ID, save(second))
	last, err = k.s.LastRuns(k.Context())
	require.NoError(k, err)
	require.Equal(k, []gpstracks.Run{other, second}, last)
	for want, f := range map[string]gpstracks.RunFilter{
		"3 2 1": {}, "3": {Limit: 1}, "3 1": {Source: "osm"}, "1": {Region: "alps"}, "2": {Status: gpstracks.StatusFailed},
		"": {Source: "osm", Status: gpstracks.StatusRefused},
	} {
		got, err := k.s.Runs(k.Context(), f)
		require.NoError(k, err)
		var ids []string
		for _, r := range got {
			ids = append(ids, map[int64]string{first.ID: "1", other.ID: "2", second.ID: "3"}[r.ID])
		}
		require.Equal(k, want, strings.Join(ids, " "), "%+v", f)
	}
	_, err = k.s.SaveRun(k.Context(), gpstracks.Run{ID: 999, Source: "osm"})
	require.Error(k, err)
}

func known(k *kit) {
	a, b := k.track("a", 7, 46, 5), k.track("b", 8, 46, 5)
	got, err := k.s.Known(k.Context(), a)
	require.NoError(k, err)
	require.Empty(k, got)
	k.upsert(a)
	moved := a // an exporter wrote it otherwise
	moved.Key = "another"
	for _, one := range []gpstracks.Track{a, moved} {
		got, err = k.s.Known(k.Context(), b, one)
		require.NoError(k, err)
		require.Len(k, got, 1)
		require.Equal(k, a.Key, got[0].Key)
	}
}

// bulk brings more tracks than a store handles at a time, in parts and in another order.
func bulk(k *kit) {
	tracks := sample.Tracks(1300, 3)
	for part := range slices.Chunk(tracks, 400) {
		require.Equal(k, gpstracks.PlanUpsert(part, nil).Upserted, k.upsert(part...))
	}
	k.count(1300)
	u := k.upsert(tracks[:500]...)
	require.Equal(k, gpstracks.Upserted{Duplicates: 500}, u)
	want := gpstracks.PlanUpsert(tracks, nil).New
	RequireShows(k.T, k.s, want)
	var ids []int64
	for _, t := range k.list(gpstracks.Filter{Sources: []string{"club"}}) {
		ids = append(ids, t.ID)
	}
	require.Greater(k, len(ids), 100)
	changed, err := k.s.Remove(k.Context(), ids...)
	require.NoError(k, err)
	require.Len(k, changed, len(ids))
	RequireShows(k.T, k.s, slices.DeleteFunc(want, func(t gpstracks.Track) bool { return t.Source == "club" }))
}
