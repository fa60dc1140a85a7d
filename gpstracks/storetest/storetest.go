// Package storetest is the conformance suite of the stores of package gpstracks.
package storetest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/paulmach/orb"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
)

// Store is all that a store of tracks does.
type Store interface {
	gpstracks.Store
	gpstracks.RunStore
	tile.Source
}

// opener opens a store without tracks.
type opener func(t *testing.T) Store

type kit struct {
	*testing.T
	s Store
}

// Run runs the whole suite.
func Run(t *testing.T, open opener) {
	t.Helper()
	for name, test := range map[string]func(*kit){
		"a track comes back as it was":            comesBack,
		"a known key makes no second track":       noSecond,
		"a known track takes what it lacked":      takesLacking,
		"one call brings a track and the rest":    twiceInOneCall,
		"a track without a key is refused":        noKey,
		"keys that are known are named":           known,
		"many tracks at once, and again":          bulk,
		"a list is in order, and goes on":         goesOn,
		"a filter passes what it says":            filters,
		"a list can be broken off":                brokenOff,
		"a track across the antimeridian":         acrossAntimeridian,
		"removed tracks are gone everywhere":      removes,
		"tiles show the tracks, the same always":  tiles,
		"runs are kept and the last one is found": runs,
		"work ends with its request":              ends,
		"many at once keep each key once":         atOnce,
		"a change has a version":                  versions,
		"a zone is cut from all tracks":           hides,
		"a removed track stays away":              withholds,
	} {
		t.Run(name, func(t *testing.T) { test(&kit{T: t, s: open(t)}) })
	}
}

// day is the time at which the tracks of the suite were seen.
func day() time.Time { return time.Date(2026, 4, 5, 6, 7, 8, 0, time.UTC) }

// track is a line of n steps east from a point.
func (k *kit) track(name string, lon, lat float64, n int) gpstracks.Track {
	k.Helper()
	line := orb.LineString{}
	for i := range n + 1 {
		line = append(line, orb.Point{lon + 0.01*float64(i), lat + 0.001*float64(i%3)})
	}
	t, err := gpstracks.Prepare(gpstracks.Track{
		Source: "osm", ExternalID: name, Name: name, Activity: gpstracks.Hiking, ActivityFrom: gpstracks.FromName,
		URL: "https://example.org/" + name, Attribution: "© " + name,
		RecordedOn: day(), Lines: orb.MultiLineString{line}, LastSeenAt: day(), RunID: 3,
		StartedAt: day(), EndedAt: day().Add(2*time.Hour + 5*time.Microsecond), Moving: time.Hour,
		Elevation: &gpstracks.Elevation{AscentM: 120.5, DescentM: 20, MinM: -3.2, MaxM: 110,
			Profile: []gpstracks.ProfilePoint{{EleM: -3.2}, {AlongM: 500, EleM: 110}, {AlongM: 900, EleM: 97.3}}},
	})
	require.NoError(k, err)
	return t
}

func (k *kit) upsert(tracks ...gpstracks.Track) gpstracks.Upserted {
	k.Helper()
	u, err := k.s.Upsert(k.Context(), tracks)
	require.NoError(k, err)
	return u
}

func (k *kit) list(f gpstracks.Filter) []gpstracks.Track {
	k.Helper()
	return All(k, k.s, f)
}

func (k *kit) names(f gpstracks.Filter) string {
	k.Helper()
	names := ""
	for _, t := range k.list(f) {
		names += t.Name
	}
	return names
}

func (k *kit) count(want int) {
	k.Helper()
	n, err := k.s.Count(k.Context())
	require.NoError(k, err)
	require.Equal(k, want, n)
}

func comesBack(k *kit) {
	k.count(0)
	in := k.track("a", 7, 46, 5)
	in.Lines = append(in.Lines, orb.LineString{{9, 47}, {9.123456789, 47.1}})
	in, err := gpstracks.Prepare(in)
	require.NoError(k, err)
	require.Equal(k, gpstracks.Upserted{Inserted: 1, Changed: []orb.Bound{in.Bounds}}, k.upsert(in))
	k.count(1)
	out := k.list(gpstracks.Filter{})
	require.Len(k, out, 1)
	require.Positive(k, out[0].ID)
	in.ID, in.FirstSeenAt = out[0].ID, day()
	require.Equal(k, in, out[0])
}

func noSecond(k *kit) {
	a := k.track("a", 7.0002, 46, 5)
	again, beside := k.track("other", 7.0004, 46, 5), k.track("beside", 7.0002, 45.999999, 5)
	require.Equal(k, a.Key, again.Key)
	require.NotEqual(k, a.Key, beside.Key, "the cells are the same")
	u := k.upsert(a, again, beside, a)
	require.Equal(k, []int{1, 0, 3}, []int{u.Inserted, u.Updated, u.Duplicates})
	require.Len(k, u.Changed, 1)
	a.LastSeenAt, a.RunID = day().Add(time.Hour), 4
	u = k.upsert(a)
	require.Equal(k, gpstracks.Upserted{Duplicates: 1}, u)
	got := k.list(gpstracks.Filter{})
	require.Len(k, got, 1)
	require.Equal(k, "a", got[0].Name)
	require.True(k, got[0].FirstSeenAt.Equal(day()) && got[0].LastSeenAt.Equal(day().Add(time.Hour)))
	require.EqualValues(k, 4, got[0].RunID)
}

func takesLacking(k *kit) {
	bare := k.track("a", 7, 46, 5)
	bare.Name, bare.URL, bare.Activity, bare.ActivityFrom = "", "", gpstracks.Unknown, ""
	bare.StartedAt, bare.EndedAt, bare.Moving, bare.Elevation = time.Time{}, time.Time{}, 0, nil
	k.upsert(bare)
	id := k.list(gpstracks.Filter{})[0].ID
	u := k.upsert(k.track("b", 7, 46, 5))
	require.Equal(k, []int{0, 1, 0}, []int{u.Inserted, u.Updated, u.Duplicates})
	require.Equal(k, []orb.Bound{bare.Bounds}, u.Changed)
	got := k.list(gpstracks.Filter{Activities: []gpstracks.Activity{gpstracks.Hiking}})
	require.Len(k, got, 1)
	require.Equal(k, []any{id, "b", "https://example.org/b", "© a"}, []any{got[0].ID, got[0].Name, got[0].URL, got[0].Attribution})
	again := k.track("b", 7, 46, 5)
	require.Equal(k, []any{again.ActivityFrom, again.StartedAt, again.EndedAt, again.Moving, again.Elevation},
		[]any{got[0].ActivityFrom, got[0].StartedAt, got[0].EndedAt, got[0].Moving, got[0].Elevation})
	require.Equal(k, 1, k.upsert(again).Duplicates, "it lacks nothing now")
	body := string(k.encode(tile.ID{}, gpstracks.Filter{}))
	require.NotContains(k, body, tile.Layer, "too small for the world")
	require.Contains(k, body, "hiking/osm", "but counted, as it is now")
	require.NotContains(k, body, "unknown")
	require.Contains(k, string(k.encode(tile.ID{Z: 10, X: 532, Y: 364}, gpstracks.Filter{})), "https://example.org/b")
}

// A call that brings a track and then what it lacks draws it once, as it is now.
func twiceInOneCall(k *kit) {
	bare := k.track("a", 7, 46, 5)
	bare.Name, bare.Activity = "", gpstracks.Unknown
	named := bare
	named.Name = "b"
	full := k.track("c", 7, 46, 5)
	u := k.upsert(bare, named, full, full)
	require.Equal(k, []int{1, 2, 1}, []int{u.Inserted, u.Updated, u.Duplicates})
	RequireShows(k.T, k.s, gpstracks.PlanUpsert([]gpstracks.Track{bare, named, full, full}, nil).New)
}

func noKey(k *kit) {
	_, err := k.s.Upsert(k.Context(), []gpstracks.Track{k.track("a", 7, 46, 5), {Source: "osm"}})
	var invalid *gpstracks.InvalidError
	require.ErrorAs(k, err, &invalid)
	k.count(0)
}

func goesOn(k *kit) {
	k.upsert(k.track("c", 7, 46, 3), k.track("a", 7, 47, 9), k.track("d", 7, 48, 3), k.track("b", 7, 46.5, 6))
	require.Equal(k, "abcd", k.names(gpstracks.Filter{}), "longest first")
	var got string
	f := gpstracks.Filter{Limit: 1}
	for range 10 {
		page := k.list(f)
		if len(page) == 0 {
			break
		}
		require.Len(k, page, 1)
		got += page[0].Name
		f.After = page[0].Cursor()
	}
	require.Equal(k, "abcd", got)
}

func filters(k *kit) {
	bike, club := k.track("b", 20, 10, 3), k.track("c", 30, -20, 2)
	bike.Activity, club.Source = gpstracks.Cycling, "club"
	k.upsert(k.track("a", -10, 46, 5), bike, club)
	var ids []int64
	for _, t := range k.list(gpstracks.Filter{}) {
		ids = append(ids, t.ID)
	}
	box := func(w, s, e, n float64) orb.Bound { return orb.Bound{Min: orb.Point{w, s}, Max: orb.Point{e, n}} }
	for _, c := range []struct {
		want string
		f    gpstracks.Filter
	}{
		{"abc", gpstracks.Filter{Bounds: []orb.Bound{box(-180, -90, 180, 90)}}},
		{"a", gpstracks.Filter{Bounds: []orb.Bound{box(-10.5, 45, -9.99, 47)}}},
		{"", gpstracks.Filter{Bounds: []orb.Bound{box(-9.9, 45, -9, 47)}}},
		{"ac", gpstracks.Filter{Bounds: []orb.Bound{box(29, -30, 31, 0), box(-180, 40, 0, 50)}}},
		{"b", gpstracks.Filter{Activities: []gpstracks.Activity{gpstracks.Cycling}}},
		{"abc", gpstracks.Filter{Activities: []gpstracks.Activity{gpstracks.Cycling, gpstracks.Hiking}}},
		{"c", gpstracks.Filter{Sources: []string{"club", "nobody"}}},
		{"", gpstracks.Filter{Sources: []string{"club"}, Activities: []gpstracks.Activity{gpstracks.Cycling}}},
		{"ab", gpstracks.Filter{Limit: 2}},
		{"b", gpstracks.Filter{IDs: ids[1:2]}},
		{"ac", gpstracks.Filter{IDs: []int64{ids[2], ids[0], 1 << 40}}},
		{"", gpstracks.Filter{IDs: ids[1:2], Sources: []string{"club"}}},
		{"", gpstracks.Filter{Sources: []string{"' or 1=1 --"}}},
	} {
		require.Equal(k, c.want, k.names(c.f), "%+v", c.f)
		if counter, ok := k.s.(gpstracks.Counter); ok {
			n, err := counter.CountMatching(k.Context(), c.f, 3)
			require.NoError(k, err)
			c.f.Limit = 0
			require.Len(k, k.names(c.f), n, "%+v", c.f)
		}
	}
}

// A track across the antimeridian is at both its ends, and nowhere between.
func acrossAntimeridian(k *kit) {
	t := k.track("a", 7, 46, 3)
	t.Lines = orb.MultiLineString{{{179, 0}, {-179, 0}}}
	t, err := gpstracks.Prepare(t)
	require.NoError(k, err)
	k.upsert(t)
	for lon, want := range map[float64]string{-179.5: "a", 0: "", 179.5: "a"} {
		require.Equal(k, want, k.names(gpstracks.Filter{Bounds: []orb.Bound{{Min: orb.Point{lon, -1}, Max: orb.Point{lon, 1}}}, Limit: 1}))
	}
}

func brokenOff(k *kit) {
	k.upsert(k.track("a", 7, 40, 3), k.track("b", 8, 40, 3))
	for _, err := range k.s.List(k.Context(), gpstracks.Filter{}) {
		require.NoError(k, err)
		break
	}
	k.count(2) // and the store is as good as before
}

func removes(k *kit) {
	a, b := k.track("a", 7, 46, 9), k.track("b", 9, 46, 3)
	k.upsert(a, b)
	id := k.list(gpstracks.Filter{})[0].ID
	changed, err := k.s.Remove(k.Context(), id, id+1000)
	require.NoError(k, err)
	require.Equal(k, []orb.Bound{a.Bounds}, changed)
	require.Equal(k, "b", k.names(gpstracks.Filter{}))
	require.Empty(k, k.encode(tile.ID{Z: 10, X: 532, Y: 364}, gpstracks.Filter{}))
	require.Equal(k, 1, k.upsert(a).Inserted, "its key is free again")
	require.NotEqual(k, id, k.list(gpstracks.Filter{})[0].ID, "an id is not used twice")
}

func versions(k *kit) {
	s, ok := k.s.(gpstracks.Versioned)
	require.True(k, ok)
	version := func() string {
		v, err := s.Version(k.Context())
		require.NoError(k, err)
		return v
	}
	seen := map[string]bool{version(): true}
	a := k.track("a", 7, 46, 9)
	for _, change := range []func(){
		func() { k.upsert(a) },
		func() { k.upsert(k.track("b", 9, 46, 3)) },
		func() {
			_, err := k.s.Remove(k.Context(), k.list(gpstracks.Filter{})[0].ID)
			require.NoError(k, err)
		},
	} {
		change()
		require.False(k, seen[version()])
		seen[version()] = true
		require.True(k, seen[version()], "it stays")
	}
}

func (k *kit) encode(id tile.ID, f gpstracks.Filter) []byte {
	k.Helper()
	body, _, err := tile.NewEncoder(tile.Limits{}).Encode(k.Context(), nil, k.s, id, f)
	require.NoError(k, err)
	return body
}

func tiles(k *kit) {
	for i := range 150 {
		k.upsert(k.track(fmt.Sprintf("track-%d!", i), 7+0.01*float64(i%10), 46+0.01*float64(i/10), 3+i%5))
	}
	id := tile.ID{Z: 9, X: 266, Y: 182}
	body := k.encode(id, gpstracks.Filter{})
	require.Contains(k, string(body), "track-49!")
	k.upsert(k.track("track-0!", 7, 46, 3))
	require.Equal(k, body, k.encode(id, gpstracks.Filter{}), "a duplicate changes no tile")
	require.Empty(k, k.encode(tile.ID{Z: 9, X: 3, Y: 182}, gpstracks.Filter{}))
	require.Empty(k, k.encode(id, gpstracks.Filter{Sources: []string{"club"}}))
	require.Error(k, k.s.Blocks(k.Context(), tile.Levels, id.Window(), func([]byte) error { return nil }))
	require.ErrorIs(k, k.s.Blocks(k.Context(), 9, id.Window(), func([]byte) error { return context.Canceled }), context.Canceled)
}

func ends(k *kit) {
	k.upsert(k.track("a", 7, 46, 9))
	ctx, cancel := context.WithCancel(k.Context())
	cancel()
	_, upserts := k.s.Upsert(ctx, []gpstracks.Track{k.track("b", 8, 46, 9)})
	_, counts := k.s.Count(ctx)
	_, removes := k.s.Remove(ctx, 1)
	_, saves := k.s.SaveRun(ctx, gpstracks.Run{Source: "osm"})
	_, last := k.s.LastRuns(ctx)
	_, lists := k.s.Runs(ctx, gpstracks.RunFilter{})
	_, known := k.s.Known(ctx, k.track("a", 7, 46, 5))
	blocks := k.s.Blocks(ctx, 9, tile.ID{Z: 9}.Window(), func([]byte) error { return nil })
	all := []error{upserts, counts, removes, saves, last, lists, known, blocks}
	for _, err := range k.s.List(ctx, gpstracks.Filter{}) {
		all = append(all, err)
	}
	require.Len(k, all, 9, "a list yields its error")
	for i, err := range all {
		require.ErrorIs(k, err, context.Canceled, i)
	}
	k.count(1)
}

func atOnce(k *kit) {
	var all []gpstracks.Track
	for i := range 40 {
		all = append(all, k.track(fmt.Sprint(i), float64(i), 40, 3))
	}
	var wg sync.WaitGroup
	var inserted atomic.Int64
	for worker := range 4 {
		wg.Go(func() {
			for i := range all { // each begins at another one
				u, err := k.s.Upsert(k.Context(), all[(i+10*worker)%40:][:1])
				if inserted.Add(int64(u.Inserted)); err != nil || u.Inserted+u.Duplicates != 1 {
					k.Errorf("upsert: %+v %v", u, err)
				}
			}
		})
	}
	wg.Wait()
	require.EqualValues(k, 40, inserted.Load())
	k.count(40)
}
