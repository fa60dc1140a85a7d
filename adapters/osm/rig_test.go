package osm_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/paulmach/orb"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/osm"
	"github.com/signalbox-dev/signalbox/gpstracks/collect"
	"github.com/signalbox-dev/signalbox/gpstracks/gpx"
)

// memory carries requests to a handler without a network, so that tests with a
// clock of their own wait for no socket.
type memory struct{ http.Handler }

func (m memory) RoundTrip(r *http.Request) (*http.Response, error) {
	w := &recorder{ResponseRecorder: httptest.NewRecorder()}
	m.ServeHTTP(w, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if w.dropped {
		return nil, io.ErrUnexpectedEOF
	}
	resp := w.Result()
	if n, err := strconv.Atoi(resp.Header.Get("Content-Length")); err == nil && n > w.Body.Len() {
		resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(w.Body.Bytes()), broken{}))
	}
	return resp, nil
}

// recorder notices a connection that is taken over to break it.
type recorder struct {
	*httptest.ResponseRecorder
	dropped bool
}

func (r *recorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	ours, theirs := net.Pipe()
	r.dropped = true
	return ours, nil, theirs.Close()
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

const agent = "test/1.0 (test@example.org)"

func client(t *testing.T, s http.Handler, o osm.Options) *osm.Client {
	t.Helper()
	o.URL, o.UserAgent, o.HTTP = "http://osm.example"+apiPath, agent, &http.Client{Transport: memory{s}}
	c, err := osm.New(o)
	require.NoError(t, err)
	return c
}

// page reads the first page of the box.
func page(t *testing.T, s http.Handler) (collect.Page, error) {
	t.Helper()
	return client(t, s, osm.Options{}).Page(t.Context(), cell(), "")
}

// cell is the box of the tests.
func cell() orb.Bound { return orb.Bound{Min: orb.Point{7.5, 46.5}, Max: orb.Point{8, 47}} }

func start() time.Time { return time.Date(2026, 5, 1, 8, 0, 0, 0, time.UTC) }

// trace is a walk of n points in the cell, seven seconds each.
func trace(id, n int, v visibility) upload {
	points := make([]spot, 0, n)
	for i := range n {
		points = append(points, spot{Lon: 7.6 + 0.01*float64(id%30), Lat: 46.6 + 0.0001*float64(i),
			At: start().Add(time.Duration(id)*time.Hour + time.Duration(7*i)*time.Second)})
	}
	return upload{ID: id, User: "some body", Name: fmt.Sprintf("walk %d.gpx", id), Desc: "hike", Visibility: v, Segments: [][]spot{points}}
}

// all reads a box to its end.
func all(ctx context.Context, c *osm.Client) (tracks []gpx.Track, pages int, err error) {
	for next := ""; ; {
		p, err := c.Page(ctx, cell(), next)
		if err != nil {
			return tracks, pages, err
		}
		tracks, pages = append(tracks, p.Tracks...), pages+1
		if next = p.Next; next == "" {
			return tracks, pages, nil
		}
	}
}

func points(tracks []gpx.Track) (n int) {
	for _, t := range tracks {
		for _, s := range t.Segments {
			n += len(s)
		}
	}
	return n
}

// summary words the outcome of a run.
func summary(page collect.Page, err error) string {
	text := fmt.Sprintf("%d tracks, %d requests", len(page.Tracks), page.Requests)
	if err != nil {
		text += ": " + strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	return text
}
