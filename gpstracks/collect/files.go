package collect

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/trackfile"
)

// File is a file of any format that trackfile reads. Open is called once, and what it returns is
// closed; an *os.File lets a ZIP archive be read in place.
type File struct {
	Name string // for people; its folders may name the activity
	Open func() (io.ReadCloser, error)
}

// Import collects tracks from files. Their lines are kept as their authors wrote them,
// whatever the kind of the source, but for outliers. A document that cannot be read whole is
// left out; if none could be read, that is the error. Each document, of archives too, is passed
// to report, which may be nil: nothing is left out without a word. The run has no region, and is
// otherwise one as of Region.
func (c *Collector) Import(ctx context.Context, s Source, files []File, l trackfile.Limits, report func(FileReport)) (gpstracks.Run, error) {
	if report == nil {
		report = func(FileReport) {}
	}
	s.Kind = Files
	return c.start(ctx, s, "", func(j *job) error {
		in := &reading{job: j, limits: l, report: report}
		for i, f := range files {
			if err := in.file(ctx, f); err != nil {
				return err
			}
			if i%100 == 99 {
				if err := j.save(ctx); err != nil {
					return err
				}
			}
			j.o.Progress(Progress{j.run, float64(i+1) / float64(len(files))})
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

	limits trackfile.Limits
	report func(FileReport)

	held   []gpstracks.Track // that are not stored yet
	points int               // of them

	documents, foreign, unreadable int
	last                           error
}

// file reads a file, or the files of an archive.
func (r *reading) file(ctx context.Context, f File) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	in, err := f.Open()
	if err != nil {
		return r.document(ctx, trackfile.Document{Name: f.Name, Err: err})
	}
	n := 0
	for d := range trackfile.Read(f.Name, in, r.limits) {
		n++
		if err = errors.Join(ctx.Err(), r.document(ctx, d)); err != nil {
			break
		}
	}
	if n == 0 && err == nil {
		err = r.document(ctx, trackfile.Document{Name: f.Name})
	}
	return errors.Join(err, in.Close())
}

// document takes up the tracks of a document.
func (r *reading) document(ctx context.Context, d trackfile.Document) error {
	r.documents++
	r.run.Bytes += d.Bytes
	r.job.file = d.Name
	out := FileReport{File: d.Name, Format: d.Format, Reason: reasonOf(d)}
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
	for _, t := range d.Tracks {
		k, tr := r.convert(t)
		if tr.Kept {
			r.held, r.points = append(r.held, k), r.points+k.Points
		}
		out.Tracks = append(out.Tracks, tr)
	}
	r.report(out)
	if len(r.held) >= batch || r.points >= batchPoints {
		return r.flush(ctx)
	}
	return nil
}

// batchPoints is how many points are held back at most for one transaction.
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
