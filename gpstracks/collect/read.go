package collect

import (
	"context"
	"log/slog"
	"runtime"
	"sync/atomic"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/trackfile"
	"github.com/signalbox-dev/signalbox/internal/run"
)

// reader reads files on all processors: most of an import is reading and measuring.
type reader struct {
	source  Source
	licence Licence
	limits  trackfile.Limits
	log     *slog.Logger
}

// document is one whose tracks were made ready to be kept, each with its report.
type document struct {
	trackfile.Document // without its tracks

	reason  gpstracks.Reason // why it gives no tracks
	tracks  []gpstracks.Track
	reports []trackReport
}

// each passes the documents of files to take, in their order, and after each file how many were
// read. Files are read at the same time, and tracks measured while the next document of an archive
// is read; a few documents a processor are in memory. The first error ends the reading.
func (r *reader) each(ctx context.Context, files []File, take func(document) error, after func(n int) error) error {
	read := make([]chan (<-chan document), len(files))
	for i := range read {
		read[i] = make(chan (<-chan document))
	}
	group := run.New(ctx, r.log)
	defer group.Stop()
	var next atomic.Int64
	for range min(len(files), 2*runtime.GOMAXPROCS(0)) {
		group.Go("read files of tracks", func(ctx context.Context) {
			for i := int(next.Add(1)) - 1; i < len(files) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				r.file(ctx, group, files[i], read[i])
			}
		})
	}
	return inOrder(ctx, read, take, after)
}

func inOrder(ctx context.Context, files []chan (<-chan document), take func(document) error, after func(n int) error) error {
	for i, documents := range files {
		for open := true; open; {
			var measured <-chan document
			select {
			case <-ctx.Done():
				return ctx.Err()
			case measured, open = <-documents:
			}
			if !open {
				continue
			}
			if err := take(<-measured); err != nil {
				return err
			}
		}
		if err := after(i + 1); err != nil {
			return err
		}
	}
	return nil
}

// file reads a file, or the files of an archive. One that a reader panics at is unreadable, and the
// only one that is lost.
func (r *reader) file(ctx context.Context, group *run.Group, f File, out chan<- <-chan document) {
	defer close(out)
	send := func(d trackfile.Document) bool {
		measured := make(chan document, 1)
		group.Go("measure tracks", func(context.Context) { measured <- r.convert(d) })
		select {
		case out <- measured:
			return true
		case <-ctx.Done():
			return false
		}
	}
	failed := func(err error) { send(trackfile.Document{Name: f.Name, Err: err}) }
	panicked := run.Guard("the reader of tracks", func() {
		in, err := f.Open()
		if err != nil {
			failed(err)
			return
		}
		defer func() { _ = in.Close() }() // what was read of it stays read
		n := 0
		for d := range trackfile.Read(f.Name, in, r.limits) {
			if n++; !send(d) {
				return
			}
		}
		if n == 0 {
			failed(nil)
		}
	})
	if panicked != nil {
		failed(panicked)
	}
}

// convert makes the tracks of a document ready. One that panics in it is unreadable.
func (r *reader) convert(d trackfile.Document) (out document) {
	panicked := run.Guard("the measuring of tracks", func() {
		out = document{Document: d, reason: reasonOf(d)}
		for _, t := range d.Tracks {
			k, report := convert(t, r.source, r.licence, d.Name)
			out.tracks, out.reports = append(out.tracks, k), append(out.reports, report)
		}
	})
	if d.Tracks = nil; panicked != nil {
		d.Err = panicked
		return document{Document: d, reason: reasonOf(d)}
	}
	out.Document = d
	return out
}
