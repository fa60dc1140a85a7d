package collect

import (
	"context"
	"errors"
	"io"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/gpx"
)

// File is a GPX file. Open is called once, and what it returns is closed.
type File struct {
	Name string // for people
	Open func() (io.ReadCloser, error)
}

// Import collects tracks from files. Their lines are kept as their authors wrote
// them, whatever the kind of the source. A file that cannot be read whole is left
// out and passed to bad, which may be nil, as is one without a track or route; if no
// file could be read, that is the error. The run has no region, and is otherwise one as of Region.
func (c *Collector) Import(ctx context.Context, s Source, files []File, l gpx.Limits, bad func(name string, err error)) (gpstracks.Run, error) {
	if bad == nil {
		bad = func(string, error) {}
	}
	s.Kind = Files
	return c.start(ctx, s, "", func(j *job) error {
		var last error
		lost := 0
		for i, f := range files {
			if err := ctx.Err(); err != nil {
				return err
			}
			tracks, err := j.read(f, l)
			j.file = f.Name
			switch {
			case err != nil:
				bad(f.Name, err)
				lost, last = lost+1, err
				j.reject(gpstracks.ReasonUnreadable)
			case len(tracks) == 0:
				bad(f.Name, errors.New(gpstracks.ReasonNoTracks.Words()))
				j.reject(gpstracks.ReasonNoTracks)
			}
			if err := j.keepAll(ctx, tracks); err != nil {
				return err
			}
			if i%100 == 99 {
				if err := j.save(ctx); err != nil {
					return err
				}
			}
			j.o.Progress(Progress{j.run, float64(i+1) / float64(len(files))})
		}
		return j.lost(lost, len(files), "files", last)
	})
}

// read reads a file whole, or not at all.
func (j *job) read(f File, l gpx.Limits) (tracks []gpx.Track, err error) {
	in, err := f.Open()
	if err != nil {
		return nil, err
	}
	counted := &counter{r: in}
	defer func() {
		j.run.Bytes += counted.n
		err = errors.Join(err, in.Close())
	}()
	for t, err := range gpx.Read(counted, l) {
		if err != nil {
			return nil, err
		}
		tracks = append(tracks, t)
	}
	return tracks, nil
}

type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}
