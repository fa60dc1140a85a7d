package gpstracks_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/paulmach/orb"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/sample"
)

// retold returns a track as somebody else writes it.
func retold(t testing.TB, k gpstracks.Track, point func(orb.Point) orb.Point, cut func(orb.LineString) orb.LineString) gpstracks.Track {
	t.Helper()
	lines := k.Lines
	k.Lines, k.Key, k.Cells = nil, "", gpstracks.Cells{}
	for _, line := range lines {
		var out orb.LineString
		for _, p := range cut(line) {
			out = append(out, point(p))
		}
		k.Lines = append(k.Lines, out)
	}
	k, err := gpstracks.Prepare(k)
	require.NoError(t, err)
	return k
}

func asIs[T any](v T) T { return v }

func reversed(l orb.LineString) orb.LineString { l = slices.Clone(l); slices.Reverse(l); return l }

func isOne(a, b gpstracks.Track) bool {
	return len(gpstracks.PlanUpsert([]gpstracks.Track{a, b}, nil).New) == 1
}

// Copies of a track are found to be one, at the rates that are stated here, and other tracks never.
func TestSameTrack(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	fiveDecimals := func(p orb.Point) orb.Point { return orb.Point{math.Round(p[0]*1e5) / 1e5, math.Round(p[1]*1e5) / 1e5} }
	noise := func(p orb.Point) orb.Point {
		return orb.Point{p[0] + 2e-5*rng.NormFloat64(), p[1] + 1.4e-5*rng.NormFloat64()}
	}
	ends := func(l orb.LineString) orb.LineString { return l[len(l)/50 : len(l)-len(l)/50] }
	every := func(l orb.LineString) (out orb.LineString) {
		for i := 0; i < len(l)-1; i += 3 {
			out = append(out, l[i])
		}
		return append(out, l[len(l)-1])
	}
	tracks := sample.Tracks(300, 5)
	coarse := func(l orb.LineString) (out orb.LineString) { // up to 100 points, some 100 to 400 metres apart
		for i := 0; i < len(l); i += 30 {
			out = append(out, l[i])
		}
		return out
	}
	for _, k := range sample.Tracks(700, 6) {
		tracks = append(tracks, retold(t, k, asIs[orb.Point], coarse))
	}
	for name, c := range map[string]struct {
		point func(orb.Point) orb.Point
		cut   func(orb.LineString) orb.LineString
		least float64 // of 1
	}{
		"five decimals": {fiveDecimals, asIs[orb.LineString], 0.995}, "reversed": {asIs[orb.Point], reversed, 1},
		"ends cut": {asIs[orb.Point], ends, 0.97}, "noise of two metres": {noise, asIs[orb.LineString], 0.94},
		"reversed, cut, five decimals": {fiveDecimals, func(l orb.LineString) orb.LineString { return ends(reversed(l)) }, 0.96},
	} {
		found := 0
		for _, k := range tracks {
			if isOne(k, retold(t, k, c.point, c.cut)) {
				found++
			}
		}
		t.Logf("%s: %d of %d", name, found, len(tracks))
		require.GreaterOrEqual(t, float64(found), c.least*float64(len(tracks)), name)
	}
	found := 0
	for _, k := range tracks[:300] { // steps of less than 30 m
		if isOne(k, retold(t, k, asIs[orb.Point], every)) {
			found++
		}
	}
	require.GreaterOrEqual(t, found, 290, "every third point")
	for i := range tracks {
		tracks[i].RecordedOn = time.Time{} // nothing but their ways tells them apart
	}
	require.Len(t, gpstracks.PlanUpsert(tracks, nil).New, len(tracks))
}

// What takes the same way and is another track stays one.
func TestOtherTrack(t *testing.T) {
	t.Parallel()
	there := sample.Tracks(1, 9)[0]
	begin := time.Date(2026, 5, 1, 8, 0, 0, 0, time.UTC)
	at := func(from time.Time, lines ...orb.LineString) gpstracks.Track {
		k, err := gpstracks.Prepare(gpstracks.Track{Source: "osm", RecordedOn: from,
			StartedAt: from, EndedAt: from.Add(time.Hour), Lines: lines})
		require.NoError(t, err)
		return k
	}
	line := there.Lines[0]
	round := orb.LineString{}
	for i := range 101 {
		a := 2 * math.Pi * float64(i) / 100
		round = append(round, orb.Point{7 + 0.01*math.Cos(a), 46 + 0.007*math.Sin(a)})
	}
	once := at(begin, line)
	for name, k := range map[string][2]gpstracks.Track{
		"there and back":       {once, at(begin, slices.Concat(line, reversed(line)))},
		"two rounds":           {at(begin, round), at(begin, slices.Concat(round, round))},
		"three rounds and two": {at(begin, slices.Concat(round, round, round)), at(begin, slices.Concat(round, round))},
		"another day":          {once, at(begin.AddDate(0, 0, 1), line)},
		"the way home":         {once, at(begin.Add(9*time.Hour), slices.Concat(reversed(line), line[:len(line)/9]))},
		"half of it":           {once, at(begin, line[:len(line)/2])},
	} {
		require.False(t, isOne(k[0], k[1]), name)
		require.False(t, isOne(k[1], k[0]), name)
	}
	// two pieces of a track log in one cell, as in gpxgo's cerknicko-without-times.gpx
	short := at(time.Time{}, orb.LineString{{6.9997, 46.0003}, {6.9998, 46.0005}})
	beside := at(time.Time{}, orb.LineString{{7.0007, 46.0003}, {7.0008, 46.0005}})
	require.Equal(t, short.Cells, beside.Cells)
	require.False(t, isOne(short, beside))
	require.True(t, isOne(short, at(time.Time{}, orb.LineString{{6.999703, 46.000297}, {6.9998, 46.000502}})))
	pole := func(south float64) gpstracks.Track { // where maps end, and people walk: all cells are of one row
		return at(begin, orb.LineString{{15, south}, {18, south - 0.01}, {20, south}})
	}
	require.False(t, isOne(pole(-89.2), pole(-89.25)))
	require.True(t, isOne(pole(86), pole(86)))
	undated := at(time.Time{}, line)
	require.True(t, isOne(undated, once))
	require.True(t, isOne(once, undated))
	p := gpstracks.PlanUpsert([]gpstracks.Track{undated, once, at(begin.AddDate(0, 0, 1), line)}, nil)
	require.Len(t, p.New, 2, "the day that it takes over tells it from that of another day")
	require.Equal(t, once.RecordedOn, p.New[0].RecordedOn)
}

func TestCells(t *testing.T) {
	t.Parallel()
	for name, lines := range map[string]orb.MultiLineString{
		"a point": {{{7, 46}}}, "none": {}, "along the equator": {{{0, 0}, {0.01, 0}}}, "a pole": {{{0, 89.9}, {170, 90}}},
		"round the earth": {{{-180, 10}, {180, -10}}},
	} {
		c := gpstracks.CellsOf(lines)
		require.True(t, slices.IsSorted(c.Low), name)
		back, err := gpstracks.ParseCells(gpstracks.AppendCells(nil, c))
		require.NoError(t, err, name)
		require.Equal(t, c.N, back.N, name)
		require.Len(t, c.Low, len(back.Low), name)
		if c.N > 0 {
			require.InDelta(t, 1, c.Shared(c), 0, name)
			require.NotEmpty(t, c.Marks(), name)
		}
	}
	require.Equal(t, 1, gpstracks.CellsOf(orb.MultiLineString{{{7, 46}, {7.00001, 46}}}).N)
	wild := make(orb.LineString, 10_000)
	for i := range wild {
		wild[i] = orb.Point{float64(i%2)*340 - 170, float64(i % 85)}
	}
	require.LessOrEqual(t, gpstracks.CellsOf(orb.MultiLineString{wild}).N, 1<<22, "a hostile line ends")
	for _, damaged := range []string{"\xff", "\x02\x00", "\x01\x00\x00\x00\x00\x00"} {
		_, err := gpstracks.ParseCells([]byte(damaged))
		require.Error(t, err, fmt.Sprintf("%x", damaged))
	}
}

// Two lines with 82 in 100 of all their cells in common share a mark in 98 of 100 cases.
func TestMarks(t *testing.T) {
	t.Parallel()
	rng, found := rand.New(rand.NewPCG(3, 4)), 0
	sketch := func(all []uint32) gpstracks.Cells {
		low := slices.Sorted(slices.Values(all))
		return gpstracks.Cells{N: len(all), Low: low[:min(len(low), 256)]}
	}
	for range 2000 {
		all := make([]uint32, 110)
		for i := range all {
			all[i] = rng.Uint32()
		}
		a, b := sketch(all[:100]), sketch(all[10:])
		require.InDelta(t, 0.9, a.Shared(b), 0.001)
		marks := b.Marks()
		if slices.ContainsFunc(a.Marks(), func(m int64) bool { return slices.Contains(marks, m) }) {
			found++
		}
	}
	t.Logf("%d of 2000", found)
	require.Greater(t, found, 1960)
}
