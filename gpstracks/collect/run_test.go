package collect_test

import (
	"context"
	"errors"
	"fmt"
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

// A run requests each box once, keeps the tracks and leaves a row.
func TestRegion(t *testing.T) {
	t.Parallel()
	r, f := newRig(t), oneEach()
	var shares []float64
	r.o.Progress = func(p collect.Progress) { shares = append(shares, p.Share) }
	run := r.ok(r.collects(f))
	require.Equal(t, []string{"7 46 0.5 ", "7.5 46 0.5 ", "7 46.5 0.5 ", "7.5 46.5 0.5 "}, f.asked)
	want := gpstracks.Run{ID: 1, Source: "osm", Region: "alps", Status: gpstracks.StatusDone, Requests: 4, Fetched: 4, Inserted: 4,
		Bytes: 400}
	require.Equal(t, []gpstracks.Run{want}, r.runs())
	require.NotZero(t, run.FinishedAt)
	require.Equal(t, []float64{0, 0.25, 0.5, 0.75, 1}, shares)
	require.Equal(t, 4, r.changed)
	k := r.list()[0]
	require.Equal(t, []string{"osm", "7-46", "7-46", "", "© mappers", "hiking", "2026-05-01"},
		[]string{k.Source, k.Name, k.ExternalID, k.URL, k.Attribution, string(k.Activity), k.RecordedOn.Format(time.DateOnly)},
		"the address names a person: it is not kept")
	require.True(t, k.LastSeenAt.Equal(r.o.Now()))
	require.EqualValues(t, 1, k.RunID)

	r.ok(r.collects(f))
	want.ID, want.Inserted, want.Duplicates = 2, 0, 4
	require.Equal(t, want, r.runs()[1])
	require.Len(t, f.asked, 8, "a run that ended well is not taken up")
	require.Len(t, r.list(), 4)
}

// Without an accepted record nothing is requested, and the run says why.
func TestLicenceGuard(t *testing.T) {
	t.Parallel()
	for want, records := range map[string]collect.Licences{
		"its licence record osm.md does not exist: write one, and set its status to accepted when the licence allows " +
			"it": {{Record: "club.md", Source: "club", Status: "accepted"}},
		`its licence record osm.md has the status "proposed", not accepted`: {{Record: "osm.md", Source: "osm", Status: "proposed"}},
		`its licence record osm.md has the status "rejected", not accepted`: {{Record: "osm.md", Source: "osm", Status: "rejected"}},
		`its licence record osm.md has the status "Accepted", not accepted`: {{Record: "osm.md", Source: "osm", Status: "Accepted"}},
		"its licence record osm.md cannot be read: no front matter":         {{Record: "osm.md", Err: errors.New("no front matter")}},
		"its licence record two.md is the second one for it: keep one of them": append(licences(),
			collect.Licence{Record: "two.md", Source: "osm", Status: "accepted"}),
	} {
		r, f := newRig(t), oneEach()
		r.o.Licences = records
		for _, dry := range []bool{false, true} {
			r.o.DryRun = dry
			_, err := r.collects(f)
			var refused *collect.RefusedError
			require.ErrorAs(t, err, &refused)
			require.EqualError(t, err, "source osm is not run: "+want)
		}
		require.Empty(t, f.asked, "nothing is asked")
		require.Empty(t, r.list())
		rows := r.runs()
		require.Len(t, rows, 2)
		require.Equal(t, gpstracks.Run{ID: 1, Source: "osm", Region: "alps", Status: gpstracks.StatusRefused,
			Error: "source osm is not run: " + want}, rows[0])
		var opened atomic.Bool
		_, err := r.collector().Import(t.Context(), source(), []collect.File{gpxFile(&opened, "<gpx/>")}, trackfile.Limits{}, nil)
		require.Error(t, err)
		require.False(t, opened.Load(), "files are not read either")
	}
}

// What is switched off is not requested, whatever its licence says.
func TestOff(t *testing.T) {
	t.Parallel()
	r, f := newRig(t), oneEach()
	s, g := source(), region()
	s.Enabled = false
	_, err := r.reads(s, g, f)
	require.EqualError(t, err, "source osm is switched off: set its enabled to true")
	g.Enabled = false
	_, err = r.reads(source(), g, f)
	require.EqualError(t, err, "region alps is switched off: set its enabled to true")
	require.Empty(t, f.asked)
	require.Equal(t, []gpstracks.RunStatus{gpstracks.StatusRefused, gpstracks.StatusRefused},
		[]gpstracks.RunStatus{r.runs()[0].Status, r.runs()[1].Status})
	s = source()
	s.Kind = collect.Placeholder
	_, err = r.reads(s, region(), collect.NoParserError{Source: "osm"})
	require.EqualError(t, err, "source osm has a placeholder in place of a parser: nothing can be read from it, and nothing was asked for")
	require.Zero(t, r.runs()[2].Requests)
}

// pages answers with so many pages of one track each for boxes of at least a width.
func pages(n int, width float64) *feed {
	return &feed{page: func(_ context.Context, box orb.Bound, next string) (p collect.Page, err error) {
		at := 0
		if next != "" {
			_, err = fmt.Sscan(next, &at)
		}
		p.Tracks = []gpx.Track{walk(fmt.Sprintf("%v-%d", box, at), orb.Bound{Min: orb.Point{box.Min[0] + 0.003*float64(at), box.Min[1]},
			Max: box.Max}, 30+9*at)}
		if box.Max[0]-box.Min[0] >= width && at < n-1 {
			p.Next = fmt.Sprint(at + 1)
		}
		return p, err
	}}
}

// A box with more pages than the source allows is quartered; those that are as
// small as can be are read to their end.
func TestQuartering(t *testing.T) {
	t.Parallel()
	r, f := newRig(t), pages(3, 0.5)
	r.ok(r.collects(f))
	require.Equal(t, []string{"7 46 0.5 ", "7 46 0.5 1", "7 46 0.25 ", "7.25 46 0.25 ", "7 46.25 0.25 ", "7.25 46.25 0.25 ", "7.5 46 0.5 "},
		f.asked[:7])
	require.Len(t, f.asked, 4*(2+4))
	require.Len(t, r.list(), 16, "what was read of a box that is too large is not kept")

	r, f = newRig(t), pages(2, 0.5)
	r.ok(r.collects(f))
	require.Len(t, f.asked, 4*2, "as many pages as are allowed are no reason to quarter")

	r, f = newRig(t), pages(9, 0)
	small := collect.Region{Name: "alps", Enabled: true, Areas: []collect.Area{{Bounds: orb.Bound{Min: orb.Point{7, 46},
		Max: orb.Point{7.01, 46.01}}}}}
	run := r.ok(r.reads(source(), small, f))
	require.Len(t, f.asked, 9)
	require.Equal(t, 9, run.Fetched)
	require.Len(t, r.list(), 9)
}

// tooMuch is the answer of a source that says so at once.
type tooMuch struct{ error }

func (tooMuch) TooMuch() bool { return true }

func TestTooMuch(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	f := &feed{page: func(_ context.Context, box orb.Bound, _ string) (collect.Page, error) {
		if box.Max[0]-box.Min[0] > 0.3 {
			return collect.Page{}, tooMuch{errors.New("too large")}
		}
		return collect.Page{}, nil
	}}
	run := r.ok(r.collects(f))
	require.Equal(t, 4+16, run.Requests)
	f.page = func(context.Context, orb.Bound, string) (collect.Page, error) {
		return collect.Page{}, tooMuch{errors.New("never enough")}
	}
	run, err := r.collects(f)
	require.EqualError(t, err, "never enough", "it ends at the smallest boxes")
	require.Less(t, run.Requests, 12)
}

// A run that somebody ends is taken up behind the last box that was done; so is
// one that failed, and one whose process died.
func TestResume(t *testing.T) {
	t.Parallel()
	for what, end := range map[string]func(cancel func()) error{
		"ended":  func(cancel func()) error { cancel(); return context.Canceled },
		"failed": func(func()) error { return errors.New("no answer") },
		"panics": func(func()) error { panic("at the disco") },
	} {
		r := newRig(t)
		ctx, cancel := context.WithCancel(t.Context())
		f := oneEach()
		f.fails(func(orb.Bound, string) error {
			if len(f.asked) == 3 {
				return end(cancel)
			}
			return nil
		})
		run, err := r.collector().Region(ctx, source(), region(), f)
		require.Error(t, err)
		require.NotEmpty(t, run.Cursor, what)
		want := map[string]gpstracks.RunStatus{"ended": gpstracks.StatusBrokenOff, "failed": gpstracks.StatusFailed,
			"panics": gpstracks.StatusFailed}[what]
		require.Equal(t, want, r.runs()[0].Status, what)
		require.Len(t, r.list(), 2)

		r.o.DryRun = true // does not go on, and does not count as the last one
		dry := oneEach()
		r.ok(r.collects(dry))
		require.Len(t, dry.asked, 4)
		r.o.DryRun = false

		again := oneEach()
		r.ok(r.collects(again))
		require.Equal(t, []string{"7 46.5 0.5 ", "7.5 46.5 0.5 "}, again.asked, what)
		require.Len(t, r.list(), 4)
		require.Empty(t, r.runs()[2].Cursor)
		cancel()
	}
}

// The row of a process that died is closed by the next run, which goes on there.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx, cancel := context.WithCancel(t.Context())
	f := oneEach()
	f.fails(func(orb.Bound, string) error {
		if len(f.asked) == 2 {
			cancel()
			return ctx.Err()
		}
		return nil
	})
	run, err := r.collector().Region(ctx, source(), region(), f)
	require.Error(t, err)
	run.Status, run.FinishedAt, run.Error = gpstracks.StatusRunning, time.Time{}, "" // as a killed process leaves it
	_, err = r.store.SaveRun(t.Context(), run)
	require.NoError(t, err)
	again := oneEach()
	r.ok(r.collects(again))
	require.Len(t, again.asked, 3)
	require.Equal(t, gpstracks.StatusInterrupted, r.runs()[0].Status)
	require.NotEmpty(t, r.runs()[0].Error)
}

// A dry run requests and counts, and keeps nothing but its row.
func TestDryRun(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, err := r.reads(source(), collect.Region{Name: "alps", Enabled: true,
		Areas: []collect.Area{{Bounds: orb.Bound{Min: orb.Point{7, 46}, Max: orb.Point{7.5, 46.5}}}}}, oneEach())
	require.NoError(t, err)
	r.o.DryRun, r.changed = true, 0
	run := r.ok(r.collects(oneEach()))
	require.Equal(t, []int{4, 3, 1}, []int{run.Fetched, run.Inserted, run.Duplicates})
	require.True(t, r.runs()[1].DryRun)
	require.Len(t, r.list(), 1)
	require.Zero(t, r.changed)
}

// A box whose document cannot be read is left out; a region of which none can is
// a failure.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	r, f := newRig(t), oneEach()
	f.fails(func(box orb.Bound, _ string) error {
		if box.Min[0] == 7.5 {
			return fmt.Errorf("page 1: %w", &gpx.Error{Line: 3, Reason: "is not XML"})
		}
		return nil
	})
	run := r.ok(r.collects(f))
	require.Equal(t, []any{gpstracks.StatusDone, "2 of 4 boxes could not be read", 2}, []any{run.Status, run.Error, run.Inserted})
	f.page = func(context.Context, orb.Bound, string) (collect.Page, error) {
		return collect.Page{}, &gpx.Error{Reason: "is not XML"}
	}
	run, err := r.collects(f)
	require.EqualError(t, err, "none of 4 boxes could be read; the last one: GPX: is not XML")
	require.Equal(t, gpstracks.StatusFailed, run.Status)
}

// A source that goes round in circles is noticed.
func TestCircle(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	f := &feed{page: func(context.Context, orb.Bound, string) (collect.Page, error) {
		return collect.Page{Next: "again"}, nil
	}}
	s := source()
	s.MaxPages = 10
	_, err := r.reads(s, region(), f)
	require.EqualError(t, err, "the source names the same page as the next one again and again")
	require.Len(t, f.asked, 2)
}

// The end of a run is an error too when the store does not take it.
func TestStoreFails(t *testing.T) {
	t.Parallel()
	r, f := newRig(t), oneEach()
	f.fails(func(orb.Bound, string) error { return r.store.Close() })
	_, err := r.collects(f)
	require.ErrorIs(t, err, tracksqlite.ErrClosed)
	require.ErrorContains(t, err, "the tracks cannot be kept")
	require.ErrorContains(t, err, "the end of the run cannot be kept")
	_, err = r.collects(f)
	require.ErrorContains(t, err, "open runs cannot be closed")
	require.Len(t, f.asked, 1)
	_, err = collect.New(collect.Options{Store: r.store})
	require.ErrorContains(t, err, "Options.Runs")
}
