package collect_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/collect"
)

// tour is a document of a track of n points.
func tour(name string, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<gpx version=\"1.1\"><trk><name>%s</name><trkseg>\n", name)
	for i := range n {
		fmt.Fprintf(&b, "<trkpt lat=\"%.6f\" lon=\"7.9\"><ele>%.1f</ele><time>%s</time></trkpt>\n", 46+1e-5*float64(i), 500+float64(i%50),
			start().Add(time.Duration(i)*time.Second).Format(time.RFC3339))
	}
	return b.String() + "</trkseg></trk></gpx>\n"
}

// panics is a file at which a reader panics.
type panics struct{}

func (panics) Read([]byte) (int, error) { panic("a document that nobody foresaw") }
func (panics) Close() error             { return nil }

// Files are read at the same time: the first one ends only when the second one was opened. What
// they hold comes in their order, and one that a reader panics at is lost alone.
func TestFilesAreReadTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		second := make(chan struct{})
		file := func(name string, open func() io.ReadCloser) collect.File {
			return collect.File{Name: name, Open: func() (io.ReadCloser, error) { return open(), nil }}
		}
		text := func(name string, n int) io.ReadCloser { return io.NopCloser(strings.NewReader(tour(name, n))) }
		files := []collect.File{
			file("0.gpx", func() io.ReadCloser { <-second; return text("0", 500) }),
			file("1.gpx", func() io.ReadCloser { close(second); return text("1", 200) }),
			file("2.gpx", func() io.ReadCloser { return panics{} }),
			file("3.gpx", func() io.ReadCloser { return text("3", 300) }),
		}
		var seen []string
		run := r.ok(r.imports(files, func(f collect.FileReport) { seen = append(seen, fmt.Sprint(f.File, " ", len(f.Tracks), " ", f.Detail)) }))
		require.Equal(t, []string{"0.gpx 1 ", "1.gpx 1 ", "2.gpx 0 the reader of tracks panicked: a document that nobody foresaw",
			"3.gpx 1 "}, seen)
		require.Equal(t, 3, run.Inserted)
	})
}

var errRefused = errors.New("the disk is full")

// refusing is a store that keeps nothing.
type refusing struct{ gpstracks.Store }

func (refusing) Upsert(context.Context, []gpstracks.Track) (gpstracks.Upserted, error) {
	return gpstracks.Upserted{}, errRefused
}

// No more files are open than are read, however slow the store is, and none is opened after an error.
func TestFilesWaitForTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		most := 2 * runtime.GOMAXPROCS(0)
		var opened atomic.Int64
		var files []collect.File
		for i := range 20 * most {
			files = append(files, collect.File{Name: fmt.Sprint(i), Open: func() (io.ReadCloser, error) {
				opened.Add(1)
				return io.NopCloser(strings.NewReader(tour(fmt.Sprint(i), 2+i))), nil
			}})
		}
		r := newRig(t)
		taken := 0
		_, err := r.imports(files, func(collect.FileReport) {
			synctest.Wait()
			taken++
			require.LessOrEqual(t, opened.Load(), int64(taken+most))
		})
		require.NoError(t, err)
		require.EqualValues(t, len(files), opened.Load())

		opened.Store(0)
		r.o.Store = refusing{r.store}
		for i := range 3 { // of more points than are held back
			files[i].Open = func() (io.ReadCloser, error) {
				return io.NopCloser(strings.NewReader(tour(fmt.Sprint(i), 90_000+i))), nil
			}
		}
		_, err = r.imports(files, nil)
		require.ErrorIs(t, err, errRefused)
		require.Less(t, opened.Load(), int64(2*most))
	})
}
