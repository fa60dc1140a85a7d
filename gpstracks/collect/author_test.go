package collect_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/paulmach/orb"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/collect"
	"github.com/signalbox-dev/signalbox/gpstracks/gpx"
)

// leg goes on from the last point: n steps of so many degrees and seconds; no
// seconds, no times.
func leg(points []gpx.Point, east, north float64, seconds, n int) []gpx.Point {
	if len(points) == 0 {
		points = []gpx.Point{{At: orb.Point{7.5, 46.5}}}
		if seconds > 0 {
			points[0].Time = start()
		}
	}
	for range n {
		p := points[len(points)-1]
		p.At = orb.Point{p.At[0] + east, p.At[1] + north}
		if p.Time = p.Time.Add(time.Duration(seconds) * time.Second); seconds == 0 {
			p.Time = time.Time{}
		}
		points = append(points, p)
	}
	return points
}

// one counts a track for a reason.
func one(why gpstracks.Reason) gpstracks.Tally { return gpstracks.Tally{why: 1} }

// The same lines from a source of anonymous points end at their gaps, and the run
// says so.
func TestAnonymousGaps(t *testing.T) {
	t.Parallel()
	walk := leg(nil, 0.0001, 0.0001, 8, 60)
	for what, c := range map[string]struct {
		points            []gpx.Point
		lines             int
		rejected, changed gpstracks.Tally
	}{
		"whole":    {walk, 1, nil, nil},
		"a pause":  {leg(leg(walk, 0, 0.0001, 360, 1), 0.0001, 0.0001, 8, 60), 2, nil, one(gpstracks.ReasonGaps)},
		"a step":   {leg(leg(walk, 0.4, 0.3, 200, 1), 0.0001, 0.0001, 8, 60), 2, nil, one(gpstracks.ReasonGaps)},
		"far":      {leg(nil, 0.05, 0.03, 600, 50), 0, one(gpstracks.ReasonGaps), nil},
		"too long": {leg(nil, 0.000001, 0, 8, gpstracks.MaxPoints), 0, one(gpstracks.ReasonInvalid), nil},
		"no times": {leg(nil, 0.0001, 0, 0, 50), 0, one(gpstracks.ReasonNoTimes), nil},
	} {
		r := newRig(t)
		f := inOneBox(func(string) collect.Page {
			return collect.Page{Tracks: []gpx.Track{{Segments: [][]gpx.Point{c.points}}}}
		})
		run := r.ok(r.collects(f))
		require.Equal(t, []gpstracks.Tally{c.rejected, c.changed}, []gpstracks.Tally{run.RejectedFor, run.ChangedFor}, what)
		require.Equal(t, run.Rejected, len(run.RejectedFor), what)
		lines := 0
		for _, k := range r.list() {
			lines += len(k.Lines)
		}
		require.Equal(t, c.lines, lines, what)
	}
}

// Nothing is left out without a word: each track and file that is not kept, or
// not as it was written, counts for its reason, is named in the log, and is found
// in the row of the run.
func TestReasons(t *testing.T) {
	t.Parallel()
	at := func(places ...string) string {
		text := ""
		for _, p := range places {
			lat, rest, _ := strings.Cut(p, " ")
			lon, time, _ := strings.Cut(rest, " ")
			text += fmt.Sprintf(`<trkpt lat="%s" lon="%s"><time>%s</time></trkpt>`, lat, lon, time)
		}
		return text
	}
	seg := func(places ...string) string { return "<trkseg>" + at(places...) + "</trkseg>" }
	trk := func(segments ...string) string {
		return "<gpx><trk><name>T</name>" + strings.Join(segments, "") + "</trk></gpx>"
	}
	type tally = gpstracks.Tally
	for what, c := range map[string]struct {
		text              string
		rejected, changed tally
	}{
		"whole":               {trk(seg("46 7", "46.1 7")), nil, nil},
		"cut off":             {"<gpx><trk>", one(gpstracks.ReasonUnreadable), nil},
		"another document":    {"<sml/>", one(gpstracks.ReasonUnreadable), nil},
		"another format":      {"SQLite format 3\x00", one(gpstracks.ReasonForeign), nil},
		"empty":               {"<kml/>", one(gpstracks.ReasonNoTracks), nil},
		"waypoints only":      {`<gpx><wpt lat="46" lon="7"/></gpx>`, one(gpstracks.ReasonWaypoints), nil},
		"an empty track":      {trk(), one(gpstracks.ReasonNoPoints), nil},
		"an empty route":      {"<gpx><rte/></gpx>", one(gpstracks.ReasonNoPoints), nil},
		"one point":           {trk(seg("46 7")), one(gpstracks.ReasonOnePoint), nil},
		"points apart":        {trk(seg("46 7"), seg("46.1 7")), one(gpstracks.ReasonOnePoint), nil},
		"in one place":        {trk(seg("46 7", "46 7", "46 7")), one(gpstracks.ReasonOnePlace), nil},
		"nowhere on earth":    {trk(seg("undefined 7", "46 NaN")), one(gpstracks.ReasonBadPoints), nil},
		"one on earth":        {trk(seg("46 7", "100 0")), one(gpstracks.ReasonBadPoints), nil},
		"one not on earth":    {trk(seg("46 7", "100 0", "46.1 7")), nil, one(gpstracks.ReasonBadPoints)},
		"a time that is none": {trk(seg("46 7 yesterday", "46.1 7 2026-05-01T08:00:00Z")), nil, one(gpstracks.ReasonBadTimes)},
		"a point beside":      {trk(seg("46 7", "46.1 7"), seg("47 7")), nil, one(gpstracks.ReasonOnePoint)},
		"a place beside":      {trk(seg("47 7", "47 7"), seg("46 7", "46.1 7")), nil, one(gpstracks.ReasonOnePlace)},
		"several, each one time": {trk(seg("47 7"), seg("47 8"), seg("46 7", "99 9", "46.1 7")), nil,
			tally{gpstracks.ReasonOnePoint: 1, gpstracks.ReasonBadPoints: 1}},
	} {
		r := newRig(t)
		var log strings.Builder
		r.o.Log = slog.New(slog.NewTextHandler(&log, nil))
		var bad []string
		files := []collect.File{fileOf("a.gpx", c.text), fileOf("a.gpx", trk(seg("40 7", "41 7")))}
		run, err := r.imports(files, func(f collect.FileReport) {
			if f.Reason != "" {
				bad = append(bad, f.File)
			}
		})
		require.NoError(t, err)
		require.Equal(t, []tally{c.rejected, c.changed}, []tally{run.RejectedFor, run.ChangedFor}, what)
		require.Len(t, c.rejected, run.Rejected, what)
		require.Equal(t, 2-len(c.rejected), run.Inserted, what)
		require.Equal(t, c.rejected, r.runs()[0].RejectedFor, what)
		require.Equal(t, c.changed, r.runs()[0].ChangedFor, what)
		named := len(bad) + strings.Count(log.String(), "file=a.gpx")
		require.Equal(t, c.rejected != nil || c.changed != nil, named == 1, "%s: %s %v", what, log.String(), bad)
	}
}
