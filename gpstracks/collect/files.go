package collect

import (
	"context"
	"fmt"
	"io"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/trackfile"
)

// File is a file of any format that trackfile reads. Open is called once, beside those of other
// files, and what it returns is closed; an *os.File lets a ZIP archive be read in place.
type File struct {
	Name string // for people; its folders may name the activity
	Open func() (io.ReadCloser, error)
}

// Import collects tracks from files. Their lines are kept as their authors wrote them,
// whatever the kind of the source, but for outliers. A document that cannot be read whole is
// left out; if none could be read, that is the error. Each document, of archives too, is passed
// to report, which may be nil: nothing is left out without a word. The run has no region, and is
// otherwise one as of Region.
func (c *Collector) Import(ctx context.Context, s Source, files []File, l trackfile.Limits, report func(FileReport)) (gpstracks.Run,
	error) {
	if report == nil {
		report = func(FileReport) {}
	}
	s.Kind = Files
	return c.start(ctx, s, "", func(j *job) error {
		in := &reading{job: j, report: report}
		read := &reader{source: s, licence: j.licence, limits: l, log: c.o.Log}
		err := read.each(ctx, files, func(d document) error { return in.document(ctx, d) }, func(n int) error {
			j.o.Progress(Progress{j.run, float64(n) / float64(len(files))})
			if n%100 != 0 {
				return nil
			}
			return j.save(ctx)
		})
		if err != nil {
			return err
		}
		if err := in.flush(ctx); err != nil {
			return err
		}
		return in.lost()
	})
}

// reading is an import under way.
type reading struct {
	*job

	report func(FileReport)

	held   []gpstracks.Track // that are not stored yet
	points int               // of them

	documents, foreign, unreadable int
	last                           error
}

// document takes up the tracks of a document.
func (r *reading) document(ctx context.Context, d document) error {
	r.documents++
	r.run.Bytes += d.Bytes
	r.job.file = d.Name
	out := FileReport{File: d.Name, Format: d.Format, Reason: d.reason, Tracks: d.reports}
	switch out.Reason {
	case gpstracks.ReasonForeign:
		r.foreign, r.last = r.foreign+1, d.Err
	case gpstracks.ReasonUnreadable:
		r.unreadable, r.last = r.unreadable+1, d.Err
	}
	if out.Reason != "" {
		r.reject(out.Reason)
		if out.Detail = out.Reason.Words(); d.Err != nil {
			out.Detail = d.Err.Error()
		}
	}
	for i, k := range d.tracks {
		r.took(&k, d.reports[i])
		if d.reports[i].Kept {
			r.held, r.points = append(r.held, k), r.points+k.Points
		}
	}
	r.report(out)
	if len(r.held) >= batch || r.points >= batchPoints {
		return r.flush(ctx)
	}
	return nil
}

// batchPoints bounds the points that are held back for one transaction.
const batchPoints = 250_000

// flush stores what is held.
func (r *reading) flush(ctx context.Context) error {
	held := r.held
	r.held, r.points = nil, 0
	return r.store(ctx, held)
}

// lost records what could not be read: it is an error if nothing could.
func (r *reading) lost() error {
	if n := r.unreadable + r.foreign; n > 0 && n == r.documents {
		return fmt.Errorf("none of %d files could be read; the last one: %w", n, r.last)
	}
	return r.job.lost(r.unreadable, r.documents, "files", r.last)
}
