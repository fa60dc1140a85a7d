package collect_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/paulmach/orb"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/tracksqlite"
	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/collect"
	"github.com/signalbox-dev/signalbox/gpstracks/gpx"
	"github.com/signalbox-dev/signalbox/gpstracks/storetest"
	"github.com/signalbox-dev/signalbox/gpstracks/trackfile"
)

// source is a source of four boxes a square degree, quartered from the third page on.
func source() collect.Source {
	return collect.Source{
		Name: "osm", Enabled: true, Kind: collect.OSM, URL: "https://tracks.example/", MaxArea: 0.25, PageSize: 100, MaxPages: 2,
		NeedTimes: true,
		KeepFor:   30 * 24 * time.Hour,
	}
}

// region is a square degree.
func region() collect.Region {
	return collect.Region{Name: "alps", Enabled: true, Areas: []collect.Area{{Name: "a",
		Bounds: orb.Bound{Min: orb.Point{7, 46}, Max: orb.Point{8, 47}}}}}
}

func licences() collect.Licences {
	return collect.Licences{
		{Record: "osm.md", Source: "osm", Status: "accepted", Licence: "ODbL 1.0", Attribution: "© mappers"},
		{Record: "local.md", Source: "local", Status: "accepted", Attribution: "the operator"},
	}
}

// feed answers with a function, and records the requests.
type feed struct {
	page  func(ctx context.Context, box orb.Bound, next string) (collect.Page, error)
	asked []string // west south width, and next
}

func (f *feed) Page(ctx context.Context, box orb.Bound, next string) (collect.Page, error) {
	f.asked = append(f.asked, fmt.Sprintf("%g %g %g %s", box.Min[0], box.Min[1], box.Max[0]-box.Min[0], next))
	p, err := f.page(ctx, box, next)
	p.Requests, p.Bytes = 1, 100
	return p, err
}

// fails has a request fail where a function returns an error.
func (f *feed) fails(why func(box orb.Bound, next string) error) {
	good := f.page
	f.page = func(ctx context.Context, box orb.Bound, next string) (collect.Page, error) {
		if err := why(box, next); err != nil {
			return collect.Page{}, err
		}
		return good(ctx, box, next)
	}
}

// inOneBox answers for the first box of the region, and with nothing for the others.
func inOneBox(page func(next string) collect.Page) *feed {
	return &feed{page: func(_ context.Context, box orb.Bound, next string) (p collect.Page, err error) {
		if box.Min == region().Areas[0].Bounds.Min {
			p = page(next)
		}
		return p, nil
	}}
}

// start is the time of the first point of tracks.
func start() time.Time { return time.Date(2026, 5, 1, 8, 0, 0, 0, time.UTC) }

// walk is a track of n points, ten metres and about seven seconds apart, from the
// middle of a box.
func walk(name string, box orb.Bound, n int) gpx.Track {
	var points []gpx.Point
	for i := range n {
		c := box.Center()
		points = append(points, gpx.Point{At: orb.Point{c[0], c[1] + 0.0001*float64(i)},
			Time: start().Add(time.Duration(7*i+i%4) * time.Second)})
	}
	return gpx.Track{Name: name + ".gpx", URL: "/user/somebody/traces/" + name, Segments: [][]gpx.Point{points}}
}

// oneEach gives each box one track.
func oneEach() *feed {
	return &feed{page: func(_ context.Context, box orb.Bound, _ string) (collect.Page, error) {
		return collect.Page{Tracks: []gpx.Track{walk(fmt.Sprintf("%g-%g", box.Min[0], box.Min[1]), box, 30)}}, nil
	}}
}

// rig is a collector over a store in memory.
type rig struct {
	*testing.T
	store   *tracksqlite.Tracks
	changed int
	o       collect.Options
}

func newRig(t *testing.T) *rig {
	r := &rig{T: t, store: storetest.Memory(t)}
	r.o = collect.Options{
		Store: r.store, Runs: r.store, Licences: licences(), Now: func() time.Time { return start().AddDate(0, 0, 20) },
		Changed: func(b ...orb.Bound) { r.changed += len(b) },
	}
	return r
}

func (r *rig) collector() *collect.Collector {
	r.Helper()
	c, err := collect.New(r.o)
	require.NoError(r, err)
	return c
}

func (r *rig) list() []gpstracks.Track {
	r.Helper()
	return storetest.All(r, r.store, gpstracks.Filter{})
}

// runs are the rows of all runs, the first one first, without their times.
func (r *rig) runs() []gpstracks.Run {
	r.Helper()
	runs, err := r.store.Runs(r.Context(), gpstracks.RunFilter{})
	require.NoError(r, err)
	out := make([]gpstracks.Run, 0, len(runs))
	for i := len(runs) - 1; i >= 0; i-- {
		require.True(r, runs[i].StartedAt.Equal(r.o.Now()))
		runs[i].StartedAt, runs[i].FinishedAt = time.Time{}, time.Time{}
		out = append(out, runs[i])
	}
	return out
}

// collects collects from the source in the region.
func (r *rig) collects(f collect.Feed) (gpstracks.Run, error) {
	return r.reads(source(), region(), f)
}

// reads collects from a source in a region.
func (r *rig) reads(s collect.Source, g collect.Region, f collect.Feed) (gpstracks.Run, error) {
	return r.collector().Region(r.Context(), s, g, f)
}

// imports collects from files of one's own.
func (r *rig) imports(files []collect.File, report func(collect.FileReport)) (gpstracks.Run, error) {
	return r.collector().Import(r.Context(), local(), files, trackfile.Limits{}, report)
}

// fileOf is a file with a text.
func fileOf(name, text string) collect.File {
	return collect.File{Name: name, Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }}
}

// ok is a run that must not fail.
func (r *rig) ok(run gpstracks.Run, err error) gpstracks.Run {
	r.Helper()
	require.NoError(r, err)
	return run
}
