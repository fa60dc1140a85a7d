package gpstracks_test

import (
	"testing"
	"time"

	"github.com/paulmach/orb"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gpstracks"
)

// Each track of a call is new, updated, seen later or nothing, and one that
// comes twice is in the plan once.
func TestPlanUpsert(t *testing.T) {
	day := time.Date(2026, 4, 5, 6, 7, 8, 123_456_000, time.UTC)
	at := func(lon float64) orb.Bound { return orb.Bound{Min: orb.Point{lon, 46}, Max: orb.Point{lon, 47}} }
	known := []gpstracks.Track{
		{ID: 1, Key: "a", Name: "a", Activity: gpstracks.Hiking, LastSeenAt: day, Bounds: at(1)},
		{ID: 2, Key: "b", Activity: gpstracks.Hiking, LastSeenAt: day, Bounds: at(2)},
		{ID: 3, Key: "c", Activity: gpstracks.Unknown, LastSeenAt: day, Bounds: at(3)},
	}
	nothing := []gpstracks.Track{
		{Key: "a", Name: "other", LastSeenAt: day}, {Key: "b", LastSeenAt: day.Add(time.Nanosecond)},
		{Key: "c", Activity: gpstracks.Unknown, LastSeenAt: day.Add(-1)},
	}
	p := gpstracks.PlanUpsert(nothing, known)
	require.True(t, p.Empty())
	require.Equal(t, gpstracks.Upserted{Duplicates: 3}, p.Upserted)
	require.True(t, (&gpstracks.Plan{}).Empty())

	later := day.Add(time.Hour)
	p = gpstracks.PlanUpsert([]gpstracks.Track{
		{Key: "d", LastSeenAt: day, Bounds: at(4), ID: 99},
		{Key: "b", Name: "b", LastSeenAt: later, RunID: 7, Bounds: at(22)},
		{Key: "a", LastSeenAt: later, RunID: 7},
		{Key: "d", Name: "d", LastSeenAt: later, RunID: 7, Bounds: at(44)},
		{Key: "b", Name: "again", URL: "https://b"},
		{Key: "a", LastSeenAt: later, RunID: 7},
		{Key: "d", Name: "d", LastSeenAt: later, RunID: 7},
	}, known)
	require.False(t, p.Empty())
	require.Equal(t, gpstracks.Upserted{Inserted: 1, Updated: 3, Duplicates: 3, Changed: []orb.Bound{at(4), at(2), at(4), at(2)}},
		p.Upserted)
	require.Equal(t, []gpstracks.Track{{Key: "d", Name: "d", FirstSeenAt: day, LastSeenAt: later, RunID: 7, Bounds: at(4)}}, p.New)
	require.Equal(t, []gpstracks.Track{{ID: 2, Key: "b", Name: "b", URL: "https://b", Activity: gpstracks.Hiking, LastSeenAt: later,
		RunID: 7, Bounds: at(2)}}, p.Told)
	require.Equal(t, []gpstracks.Track{{ID: 1, Key: "a", Name: "a", Activity: gpstracks.Hiking, LastSeenAt: later, RunID: 7,
		Bounds: at(1)}}, p.Seen)
	require.Equal(t, "a", known[0].Name)
	require.True(t, known[0].LastSeenAt.Equal(day), "what was given is not changed")
}

// A fuller line comes with its key, under which it is found from then on.
func TestFullerLine(t *testing.T) {
	way := gpstracks.Cells{N: 3, Low: []uint32{1, 2, 3}}
	p := gpstracks.PlanUpsert([]gpstracks.Track{{Key: "whole", Points: 9, Cells: way}, {Key: "whole", LengthM: 1}},
		[]gpstracks.Track{{Key: "cut", Points: 8, Cells: way}})
	require.Equal(t, []int{0, 1, 1}, []int{p.Inserted, p.Updated, p.Duplicates})
}
