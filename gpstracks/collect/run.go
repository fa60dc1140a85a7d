package collect

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/paulmach/orb"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/gpx"
	"github.com/signalbox-dev/signalbox/internal/defaults"
	"github.com/signalbox-dev/signalbox/internal/run"
)

// Options of a Collector. Store and Runs are required.
type Options struct {
	Store    gpstracks.Store
	Runs     gpstracks.RunStore
	Licences Licences
	DryRun   bool               // request and count, and keep nothing but the run
	Changed  func(...orb.Bound) // called with where maps look different; may be nil
	Progress func(Progress)     // called after each box or file; may be nil
	Now      func() time.Time   // nil = time.Now
	Log      *slog.Logger       // nil discards
}

// Progress reports a run under way.
type Progress struct {
	Run   gpstracks.Run // so far
	Share float64       // of the work, 0 to 1
}

// Collector runs one source at a time.
type Collector struct{ o Options }

// New makes a collector.
func New(o Options) (*Collector, error) {
	if o.Store == nil || o.Runs == nil {
		return nil, errors.New("collect: Options.Store and Options.Runs are required: pass the store of the tracks, often the same " +
			"value for both")
	}
	if o.Changed == nil {
		o.Changed = func(...orb.Bound) {}
	}
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	defaults.Fill(&o)
	return &Collector{o}, nil
}

// batch bounds the tracks of one transaction.
const batch = 1000

// job is a run under way.
type job struct {
	*Collector
	run     gpstracks.Run
	source  Source
	licence Licence
	file    string          // being read; empty for a source with a feed
	seen    gpstracks.Index // new tracks of a dry run
}

// Region collects the tracks that a source has in a region. The run that it
// returns is kept, whatever the error: a *RefusedError when the licence does not
// allow it, an *OffError when source or region are switched off (the feed is not
// requested then), that of ctx when somebody ended it, or what failed. A run that did
// not end well is taken up by the next one of the same source and region.
func (c *Collector) Region(ctx context.Context, s Source, r Region, feed Feed) (gpstracks.Run, error) {
	return c.start(ctx, s, r.Name, func(j *job) error {
		if !r.Enabled {
			return &OffError{"region", r.Name}
		}
		plan := newPlan(r, s.MaxArea)
		from, err := j.resume(ctx)
		if err != nil {
			return err
		}
		left, share := plan.after(from)
		if share > 0 || len(left) > 0 && left[0].from != nil {
			j.run.Cursor = from
			c.o.Log.Info("taking up a run that did not end", "source", s.Name, "region", r.Name, "done", fmt.Sprintf("%.0f %%", 100*share))
			if err := j.save(ctx); err != nil { // a run that ends this one too goes on there
				return err
			}
		}
		return j.boxes(ctx, feed, plan, left, share)
	})
}

// start keeps the row of a run around the work.
func (c *Collector) start(ctx context.Context, s Source, region string, work func(*job) error) (gpstracks.Run, error) {
	j := &job{Collector: c, source: s, run: gpstracks.Run{
		Source: s.Name, Region: region, DryRun: c.o.DryRun, StartedAt: c.o.Now(), Status: gpstracks.StatusRunning,
	}}
	if err := c.closeOpen(ctx, s.Name); err != nil {
		return j.run, err
	}
	var err error
	if j.licence, err = c.o.Licences.Allow(s.Name); err != nil {
		return j.run, j.end(ctx, err)
	}
	if j.run.ID, err = c.o.Runs.SaveRun(ctx, j.run); err != nil {
		return j.run, fmt.Errorf("the run cannot be kept: %w", err)
	}
	if !s.Enabled {
		return j.run, j.end(ctx, &OffError{"source", s.Name})
	}
	if panicked := run.Guard("collector", func() { err = work(j) }); panicked != nil {
		err = panicked
	}
	err = j.end(ctx, err)
	return j.run, err
}

// closeOpen closes the rows of runs whose process died. The caller makes sure
// that no other run of the source is under way.
func (c *Collector) closeOpen(ctx context.Context, source string) error {
	open, err := c.o.Runs.Runs(ctx, gpstracks.RunFilter{Source: source, Status: gpstracks.StatusRunning})
	for _, r := range open {
		r.Status, r.FinishedAt, r.Error = gpstracks.StatusInterrupted, c.o.Now(), "its process ended without a word"
		if _, save := c.o.Runs.SaveRun(ctx, r); save != nil {
			err = errors.Join(err, save)
		}
	}
	if err != nil {
		return fmt.Errorf("open runs cannot be closed: %w", err)
	}
	return nil
}

// end closes the row of the run. It is written although ctx has ended.
func (j *job) end(ctx context.Context, err error) error {
	var refused interface{ Refused() bool }
	switch {
	case err == nil:
		j.run.Status, j.run.Cursor = gpstracks.StatusDone, ""
	case errors.As(err, &refused) && refused.Refused():
		j.run.Status, j.run.Error = gpstracks.StatusRefused, err.Error()
	case ctx.Err() != nil:
		j.run.Status, err = gpstracks.StatusBrokenOff, ctx.Err()
	default:
		j.run.Status, j.run.Error = gpstracks.StatusFailed, err.Error()
	}
	j.run.FinishedAt = j.o.Now()
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	id, save := j.o.Runs.SaveRun(late, j.run)
	if j.run.ID = id; save != nil {
		return errors.Join(err, fmt.Errorf("the end of the run cannot be kept: %w", save))
	}
	return err
}

// resume is the cursor of the last run, if that did not end well. Dry runs leave
// none, and take up none.
func (j *job) resume(ctx context.Context) (string, error) {
	if j.o.DryRun {
		return "", nil
	}
	runs, err := j.o.Runs.Runs(ctx, gpstracks.RunFilter{Source: j.source.Name, Region: j.run.Region, Limit: 20})
	for _, r := range runs {
		switch {
		case r.ID == j.run.ID, r.DryRun, r.Status == gpstracks.StatusRefused:
		case r.Status == gpstracks.StatusDone:
			return "", err
		default:
			return r.Cursor, err
		}
	}
	return "", err
}

// boxes reads box after box. One that holds too much is quartered; one whose
// documents cannot be read is left out, and reported at the end.
func (j *job) boxes(ctx context.Context, feed Feed, p plan, left []box, share float64) error {
	j.o.Progress(Progress{j.run, share})
	done, lost := 0, 0
	var last error
	for len(left) > 0 {
		b := left[0]
		left = left[1:]
		err := j.box(ctx, feed, p, b)
		var unreadable *gpx.Error
		switch {
		case errors.Is(err, errTooMuch):
			left = slices.Concat(b.quarters(), left)
			continue
		case errors.As(err, &unreadable):
			lost, last = lost+1, err
			j.o.Log.Warn("a box is left out", "source", j.source.Name, "region", j.run.Region, "bbox", fmt.Sprint(b.bounds), "err", err)
		case err != nil:
			return err
		}
		done++
		share += b.share
		if !j.o.DryRun {
			j.run.Cursor = p.cursor(b)
		}
		if err := j.save(ctx); err != nil {
			return err
		}
		j.o.Progress(Progress{j.run, min(share, 1)})
	}
	return j.lost(lost, done, "boxes", last)
}

// lost records what could not be read: it is an error if nothing could.
func (j *job) lost(lost, all int, what string, last error) error {
	switch {
	case lost > 0 && lost == all:
		return fmt.Errorf("none of %d %s could be read; the last one: %w", lost, what, last)
	case lost > 0:
		j.run.Error = fmt.Sprintf("%d of %d %s could not be read", lost, all, what)
	}
	return nil
}

// save keeps how far the run is.
func (j *job) save(ctx context.Context) error {
	if _, err := j.o.Runs.SaveRun(ctx, j.run); err != nil {
		return fmt.Errorf("the run cannot be kept: %w", err)
	}
	return nil
}

// errTooMuch means that a box has to be quartered: what was read of it comes
// again then, cut at other edges.
var errTooMuch = errors.New("the box holds too much")

// mostPages bounds a box that cannot be quartered.
const mostPages = 2000

// box reads the pages of a box, and keeps their tracks when it is clear that it
// will not be quartered. How far it is in one that is kept page by page is noted,
// so that a box that takes longer than a run lasts comes to its end too.
func (j *job) box(ctx context.Context, feed Feed, p plan, b box) error {
	var held []gpx.Track
	n, next, begins := 1, "", place{}
	if b.from != nil {
		n, next, begins = j.source.MaxPages, b.from.page, *b.from
	}
	for ; n <= mostPages; n++ {
		page, err := feed.Page(ctx, b.bounds, next)
		j.run.Requests += page.Requests
		j.run.Bytes += page.Bytes
		var much interface{ TooMuch() bool }
		switch {
		case errors.As(err, &much) && much.TooMuch() && b.canBeQuartered() && n <= j.source.MaxPages:
			return errTooMuch
		case err != nil && ctx.Err() == nil && b.from != nil: // the source may not have the page any more
			j.o.Log.Warn("a box is begun again: its page cannot be read", "source", j.source.Name, "region", j.run.Region, "err", err)
			b.from = nil
			return j.box(ctx, feed, p, b)
		case err != nil:
			return err
		}
		if b.from != nil && b.from.cut && len(page.Tracks) > 0 {
			page.Tracks = page.Tracks[1:]
		}
		before := len(held)
		if held = join(held, page.Tracks); len(held) > before {
			begins = place{next, len(page.Tracks) > 1 || b.from != nil && b.from.cut}
		}
		b.from = nil
		switch {
		case page.Next == "":
			return j.keepAll(ctx, held)
		case page.Next == next:
			return errors.New("the source names the same page as the next one again and again")
		case n >= j.source.MaxPages && b.canBeQuartered():
			return errTooMuch
		case n >= j.source.MaxPages && len(held) > 1: // the last one may go on
			if err := j.keepAll(ctx, held[:len(held)-1]); err != nil {
				return err
			}
			held = held[len(held)-1:]
			if !j.o.DryRun {
				j.run.Cursor = p.inside(b, begins)
			}
			if err := j.save(ctx); err != nil {
				return err
			}
		}
		next = page.Next
	}
	return fmt.Errorf("the source has more than %d pages in a box of %g degrees: it does not seem to end", mostPages, smallest)
}

func (j *job) keepAll(ctx context.Context, tracks []gpx.Track) error {
	for part := range slices.Chunk(tracks, batch) {
		if err := j.keep(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// keep converts tracks and gives them to the store.
func (j *job) keep(ctx context.Context, raw []gpx.Track) error {
	tracks := make([]gpstracks.Track, 0, len(raw))
	for _, t := range raw {
		k, r := convert(t, j.source, j.licence, "")
		if j.took(&k, r); r.Kept {
			tracks = append(tracks, k)
		}
	}
	return j.store(ctx, tracks)
}

// took counts a track that was made ready, and marks it as of the run.
func (j *job) took(k *gpstracks.Track, r trackReport) {
	j.run.Fetched++
	switch {
	case !r.Kept:
		j.reject(r.Reason)
		j.name(r, r.Reason)
	case len(r.Changed) > 0:
		j.run.ChangedFor = j.run.ChangedFor.Add(r.Changed...)
		j.name(r, r.Changed...)
	}
	k.LastSeenAt, k.RunID = j.run.StartedAt.UTC(), j.run.ID
}

// store gives tracks to the store, unless it is a dry run.
func (j *job) store(ctx context.Context, tracks []gpstracks.Track) error {
	if len(tracks) == 0 {
		return nil
	}
	if j.o.DryRun {
		return j.count(ctx, tracks)
	}
	u, err := j.upsert(ctx, tracks)
	if err != nil {
		return fmt.Errorf("the tracks cannot be kept: %w", err)
	}
	j.run.Inserted += u.Inserted
	j.run.Updated += u.Updated
	j.run.Duplicates += u.Duplicates
	j.screened(u.Screened)
	if len(u.Changed) > 0 {
		j.o.Changed(u.Changed...)
	}
	return nil
}

// reject counts a track that is not kept, or a file that gives none.
func (j *job) reject(why gpstracks.Reason) {
	j.run.Rejected++
	j.run.RejectedFor = j.run.RejectedFor.Add(why)
}

// name logs a track of a file, which its operator can look at.
func (j *job) name(t trackReport, why ...gpstracks.Reason) {
	if j.file == "" {
		return
	}
	words := make([]string, 0, len(why))
	for _, r := range why {
		words = append(words, r.Words())
	}
	j.o.Log.Warn("a track is not kept as it was written", "file", j.file, "track", t.Name, "kept", t.Kept, "why", strings.Join(words, ", "))
}

// count counts new tracks of a dry run as inserted and known ones as duplicates, also those
// that have something new.
func (j *job) count(ctx context.Context, tracks []gpstracks.Track) error {
	tracks, screened, err := j.screen(ctx, tracks)
	if err != nil {
		return err
	}
	j.screened(screened)
	stored, err := j.o.Store.Known(ctx, tracks...)
	var known gpstracks.Index
	for i := range stored {
		if j.o.Licences.Status(stored[i].Source) == accepted { // or else it gives way
			known.Add(&stored[i])
		}
	}
	for _, t := range tracks {
		if known.Find(&t) >= 0 || j.seen.Find(&t) >= 0 {
			j.run.Duplicates++
			continue
		}
		j.run.Inserted++
		t.Lines = nil
		j.seen.Add(&t)
	}
	return err
}
