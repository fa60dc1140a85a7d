package collect_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/paulmach/orb"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/collect"
	"github.com/signalbox-dev/signalbox/gpstracks/gpx"
)

// What is an outlier, and what only looks like one.
func TestSpikes(t *testing.T) {
	t.Parallel()
	walk := journey{n: 100, seconds: 5, speed: 1.2, turn: 0.3, from: orb.Point{7, 46}}.points(rand.New(rand.NewPCG(1, 2)))
	// n points that far beside point i, each so long after the one before
	beside := func(i, n int, north float64, after time.Duration) []gpx.Point {
		out := slices.Clone(walk)
		for k := range n {
			p := walk[i]
			p.At[1] += north
			p.Time = p.Time.Add(time.Duration(k+1) * after)
			out = slices.Insert(out, i+1+k, p)
		}
		return out
	}
	timeless := beside(50, 1, 0.05, time.Second)
	for i := range timeless {
		timeless[i].Time = time.Time{}
	}
	for what, c := range map[string]struct {
		points []gpx.Point
		spikes int
	}{
		"none":                        {walk, 0},
		"one":                         {beside(50, 1, 0.01, time.Second), 1},
		"two in a row":                {beside(50, 2, 0.01, 400*time.Millisecond), 2},
		"five in a row":               {beside(50, 5, 0.01, 100*time.Millisecond), 5},
		"six in a row are a place":    {beside(50, 6, 0.01, 100*time.Millisecond), 0},
		"a little beside":             {beside(50, 1, 0.0002, time.Second), 0},
		"a long way off in long time": {beside(50, 1, 0.05, time.Hour), 0},
		"without times":               {timeless, 0},
		"a point twice":               {beside(0, 1, 0, 0)[1:], 0},
		"nowhere":                     {slices.Insert(slices.Clone(walk), 30, gpx.Point{}), 1},
		"too many to be outliers": {slices.Concat(beside(20, 5, 0.01, 100*time.Millisecond)[:30],
			beside(40, 5, 0.01, 100*time.Millisecond)[25:60], beside(60, 5, 0.01, 100*time.Millisecond)[55:]), 0},
	} {
		r := newRig(t)
		var reports []collect.FileReport
		text := dialect{head: gpx11, point: stamp(millis)}.write(c.points)
		run := r.ok(r.imports([]collect.File{fileOf("", text)}, func(f collect.FileReport) { reports = append(reports, f) }))
		require.Equal(t, c.spikes, reports[0].Tracks[0].Spikes, what)
		require.Equal(t, min(c.spikes, 1), run.ChangedFor[gpstracks.ReasonSpikes], what)
		require.Len(t, r.list()[0].Lines, 1, what, "no line is cut")
	}
}

// What is measured of a track, and which folder names its activity.
func TestMeasures(t *testing.T) {
	t.Parallel()
	points := leg(leg(nil, 0, 0.0001, 5, 20), 0, 0, 600, 1) // eleven metres in five seconds, and then a rest
	text := dialect{head: gpx11, point: stamp(seconds)}.write(points)
	for file, want := range map[string][2]string{
		"/data/Hiking/2024/1.gpx": {"hiking", "folder"}, "x/evening_run.gpx": {"running", "file"}, "hiking/a/b/1.gpx": {"unknown", ""},
		"/run.gpx": {"running", "file"},
	} {
		r := newRig(t)
		r.ok(r.imports([]collect.File{fileOf(file, text)}, nil))
		k := r.list()[0]
		require.Equal(t, want, [2]string{string(k.Activity), string(k.ActivityFrom)}, file)
		require.Equal(t, []time.Duration{100 * time.Second, 700 * time.Second}, []time.Duration{k.Moving, k.EndedAt.Sub(k.StartedAt)})
		require.True(t, k.StartedAt.Equal(start()))
	}
}
