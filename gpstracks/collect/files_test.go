package collect_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/paulmach/orb"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/tracksqlite"
	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/collect"
	"github.com/signalbox-dev/signalbox/gpstracks/gpx"
	"github.com/signalbox-dev/signalbox/gpstracks/trackfile"
)

func gpxFile(opened *atomic.Bool, text string) collect.File {
	return collect.File{Name: "a.gpx", Open: func() (io.ReadCloser, error) {
		opened.Store(true)
		return io.NopCloser(strings.NewReader(text)), nil
	}}
}

func Example() {
	store, err := tracksqlite.Open(context.Background(), tracksqlite.Options{Path: tracksqlite.Memory})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	c, err := collect.New(collect.Options{
		Store: store, Runs: store,
		Licences: collect.Licences{{Record: "club.md", Source: "club", Status: "accepted", Attribution: "© the club"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	file := collect.File{Name: "tour.gpx", Open: func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(`<gpx><trk><name>Sunday hike</name><trkseg>
			<trkpt lat="46.59" lon="7.90"/><trkpt lat="46.60" lon="7.91"/></trkseg></trk></gpx>`)), nil
	}}
	for _, source := range []string{"club", "nobody"} {
		run, err := c.Import(context.Background(), collect.Source{Name: source, Kind: collect.Files, Enabled: true}, []collect.File{file},
			trackfile.Limits{}, nil)
		fmt.Println(run.Status, run.Inserted, err != nil)
	}
	// Output:
	// done 1 false
	// refused 0 true
}

// What a file says of its rights holds, and names stay away where the source says so.
func TestRights(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	text := func(rights string, lat int) collect.File {
		return fileOf("a.gpx", fmt.Sprintf(`<gpx><metadata><copyright author="Jane Roe"><license>%s</license></copyright></metadata>
			<trk><name>Ride of Jane</name><trkseg><trkpt lat="%d" lon="7"/>
			<trkpt lat="%d.01" lon="7"/></trkseg></trk></gpx>`, rights, lat, lat))
	}
	run := r.ok(r.imports([]collect.File{text("All-Rights-Reserved", 46), text("https://creativecommons.org/licenses/by/4.0/", 47)}, nil))
	require.Equal(t, gpstracks.Tally{gpstracks.ReasonRights: 1}, run.RejectedFor)
	for _, order := range []string{"MNT", "TM"} { // M is metadata that reserves all rights, N others, T a track
		run, _ := r.imports([]collect.File{fileOf("b.gpx", "<gpx>"+strings.NewReplacer(
			"M", `<metadata><copyright author="Jane"><license>All rights reserved</license></copyright></metadata>`,
			"N", `<metadata><copyright author="Acme maps"/></metadata>`,
			"T", `<trk><trkseg><trkpt lat="40" lon="7"/><trkpt lat="40.1" lon="7"/></trkseg></trk>`).Replace(order)+"</gpx>")}, nil)
		require.Equal(t, 1, run.Rejected, order)
	}
	require.Len(t, r.list(), 1)
	require.Equal(t, "Ride of Jane", r.list()[0].Name)
	nameless := local()
	nameless.DropNames = true
	_, err := r.collector().Import(t.Context(), nameless, []collect.File{text("", 48)}, trackfile.Limits{}, nil)
	require.NoError(t, err)
	names := []string{r.list()[0].Name, r.list()[1].Name}
	require.ElementsMatch(t, []string{"Ride of Jane", ""}, names)
}

func local() collect.Source {
	return collect.Source{Name: "local", Kind: collect.Files, Enabled: true, KeepURL: true}
}

// Files bring tracks once, however often and in however many files.
func TestImport(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var opened atomic.Bool
	good := gpxFile(&opened, `<gpx><trk><name>Tour.GPX</name><link href="https://club.example/7"/><type>cycling</type><trkseg><trkpt `+
		`lat="46" lon="7"/><trkpt lat="46.01" lon="7"/></trkseg></trk>
		<trk><name>one point</name><trkseg><trkpt lat="46" lon="7"/></trkseg></trk><trk><name>empty</name></trk></gpx>`)
	cut := gpxFile(&opened, `<gpx><trk><name>Cut</name><trkseg><trkpt lat="40" lon="7"/><trkpt lat="40.01" lon="7"/></trkseg></trk>`)
	gone := collect.File{Name: "gone.gpx", Open: func() (io.ReadCloser, error) { return nil, errors.New("no such file") }}
	var bad []string
	run, err := r.imports([]collect.File{good, cut, good, gone}, func(f collect.FileReport) {
		if f.Reason != "" {
			bad = append(bad, f.File+": "+f.Detail)
		}
	})
	require.NoError(t, err)
	require.Equal(t, []string{"a.gpx: GPX line 1: unexpected EOF", "gone.gpx: no such file"}, bad)
	require.Equal(t, []int{6, 1, 1, 6}, []int{run.Fetched, run.Inserted, run.Duplicates, run.Rejected},
		"a file that is cut off gives nothing")
	require.Equal(t, "2 of 4 files could not be read", run.Error)
	require.Equal(t, gpstracks.StatusDone, run.Status)
	k := r.list()
	require.Len(t, k, 1)
	require.Equal(t, []string{"Tour", "https://club.example/7", "cycling", "the operator"},
		[]string{k[0].Name, k[0].URL, string(k[0].Activity), k[0].Attribution})

	run, err = r.imports([]collect.File{gone, cut}, nil)
	require.EqualError(t, err, "none of 2 files could be read; the last one: GPX line 1: unexpected EOF")
	require.Equal(t, gpstracks.StatusFailed, run.Status)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = r.collector().Import(ctx, local(), []collect.File{good}, trackfile.Limits{}, nil)
	require.ErrorIs(t, err, context.Canceled)
}

// seg makes a segment of points north of each other, so many metres apart and,
// unless it is 0, so many seconds.
func seg(from float64, step float64, seconds, n int) (out []gpx.Point) {
	for i := range n {
		p := gpx.Point{At: orb.Point{7, from + step/111_195*float64(i)}}
		if seconds > 0 {
			p.Time = start().Add(time.Duration(i*seconds) * time.Second)
		}
		out = append(out, p)
	}
	return out
}

// What is drawn of anonymous points, if times are needed and if they are not.
func TestLines(t *testing.T) {
	t.Parallel()
	type segments = [][]gpx.Point
	late := seg(46.1, 10, 5, 4)
	for i := range late {
		late[i].Time = late[i].Time.Add(time.Hour)
	}
	sparse := seg(46, 10, 5, 9)
	for i := 2; i < 9; i++ {
		sparse[i].Time = time.Time{}
	}
	for what, c := range map[string]struct {
		parts      segments
		timed, any string // points of each line
	}{
		"in order":                {segments{seg(46, 10, 5, 5)}, "[5]", "[5]"},
		"points without times":    {segments{seg(46, 10, 0, 5)}, "", "[5]"},
		"few times":               {segments{sparse}, "", "[9]"},
		"one cloud of two":        {segments{seg(46, 10, 0, 5), seg(47, 10, 5, 4)}, "[4]", "[5 4]"},
		"a pause":                 {segments{append(seg(46, 10, 5, 5), late...)}, "[5 4]", "[5 4]"},
		"far apart":               {segments{append(seg(46, 10, 0, 3), seg(47, 10, 0, 3)...)}, "", "[3 3]"},
		"faster than anybody":     {segments{seg(46, 700, 5, 5)}, "", ""},
		"a point between gaps":    {segments{{seg(46, 10, 5, 1)[0], late[0], late[1]}}, "[2]", "[2]"},
		"back in time":            {segments{append(append([]gpx.Point(nil), late...), seg(46.1, 10, 5, 4)...)}, "[4 4]", "[4 4]"},
		"standing still":          {segments{seg(46, 0, 5, 5)}, "", ""},
		"nothing":                 {nil, "", ""},
		"segments of one point":   {segments{seg(46, 1, 5, 1), seg(46.2, 1, 5, 1)}, "", ""},
		"on the other hemisphere": {segments{seg(-46, 10, 5, 3)}, "[3]", "[3]"},
	} {
		for _, needTimes := range []bool{true, false} {
			r := newRig(t)
			s := source()
			s.NeedTimes = needTimes
			f := inOneBox(func(string) collect.Page { return collect.Page{Tracks: []gpx.Track{{Segments: c.parts}}} })
			run := r.ok(r.reads(s, region(), f))
			want := map[bool]string{true: c.timed, false: c.any}[needTimes]
			got := ""
			for _, k := range r.list() {
				var n []int
				for _, l := range k.Lines {
					n = append(n, len(l))
				}
				got = fmt.Sprint(n)
			}
			require.Equal(t, want, got, "%s, needs times: %v", what, needTimes)
			require.Equal(t, want == "", run.Rejected == 1, what)
		}
	}
}

// A track that goes on over the pages is one track.
func TestJoin(t *testing.T) {
	t.Parallel()
	whole := seg(46.2, 30, 5, 12)
	for what, c := range map[string]struct {
		urls, names [3]string
		want        int
	}{
		"by address":           {[3]string{"/a/1", "/a/1", "/a/1"}, [3]string{"a", "a", "a"}, 1},
		"another address":      {[3]string{"/a/1", "/a/2", "/a/2"}, [3]string{"a", "a", "a"}, 2},
		"nameless, in time":    {[3]string{}, [3]string{}, 1},
		"nameless and a named": {[3]string{"", "/a/1", ""}, [3]string{"", "a", ""}, 3},
	} {
		r := newRig(t)
		s := source()
		s.MaxPages = 5
		f := inOneBox(func(next string) collect.Page {
			at := len(next)
			part := gpx.Track{URL: c.urls[at], Name: c.names[at], Segments: [][]gpx.Point{whole[4*at : 4*at+4]}}
			return collect.Page{Tracks: []gpx.Track{part}, Next: [...]string{"x", "xx", ""}[at]}
		})
		r.ok(r.reads(s, region(), f))
		require.Len(t, r.list(), c.want, what)
		if c.want == 1 {
			require.Len(t, r.list()[0].Lines, 1, what)
			require.Equal(t, 12, r.list()[0].Points, what)
		}
	}
}
