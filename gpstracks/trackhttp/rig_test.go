package trackhttp_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/paulmach/orb"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/signalbox-dev/signalbox/adapters/tracksqlite"
	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/sample"
	"github.com/signalbox-dev/signalbox/gpstracks/storetest"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
	"github.com/signalbox-dev/signalbox/gpstracks/trackhttp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a handler over a store in memory.
type rig struct {
	*testing.T
	store *tracksqlite.Tracks
	h     *trackhttp.Handler
}

func newRig(t *testing.T, opts ...trackhttp.Options) *rig {
	t.Helper()
	o := append(opts, trackhttp.Options{})[0]
	r := &rig{T: t, store: storetest.Memory(t)}
	if o.Store == nil {
		o.Store = r.store
	}
	if o.Tiles == nil {
		o.Tiles = r.store
	}
	if o.Runs == nil {
		o.Runs = r.store
	}
	h, err := trackhttp.New(o)
	require.NoError(t, err)
	r.h = h
	return r
}

// put keeps tracks and invalidates the handler's tiles of them.
func (r *rig) put(tracks ...gpstracks.Track) {
	r.Helper()
	for i := range tracks {
		if tracks[i].Source == "" {
			tracks[i].Source = "osm"
		}
		t, err := gpstracks.Prepare(tracks[i])
		require.NoError(r, err)
		tracks[i] = t
	}
	u, err := r.store.Upsert(r.Context(), tracks)
	require.NoError(r, err)
	r.h.Invalidate(u.Changed...)
}

// get requests a path below the prefix, with pairs of headers.
func (r *rig) get(path string, header ...string) *httptest.ResponseRecorder {
	r.Helper()
	return r.do(r.Context(), http.MethodGet, path, header...)
}

// is requests a path below the prefix, whose answer is to have a status.
func (r *rig) is(want int, path string, header ...string) *httptest.ResponseRecorder {
	r.Helper()
	w := r.get(path, header...)
	require.Equal(r, want, w.Code, "%s %v: %s", path, header, w.Body)
	return w
}

func (r *rig) do(ctx context.Context, method, path string, header ...string) *httptest.ResponseRecorder {
	r.Helper()
	req := httptest.NewRequestWithContext(ctx, method, "/api/gps-tracks"+path, nil)
	for pair := range slices.Chunk(header, 2) {
		req.Header.Set(pair[0], pair[1])
	}
	w := httptest.NewRecorder()
	r.h.ServeHTTP(w, req)
	return w
}

// problem is a refusal, which is a document of its status.
func (r *rig) problem(w *httptest.ResponseRecorder, status int) trackhttp.Problem {
	r.Helper()
	require.Equal(r, status, w.Code, w.Body.String())
	require.Equal(r, "application/problem+json", w.Header().Get("Content-Type"))
	require.Equal(r, "no-store", w.Header().Get("Cache-Control"))
	var p trackhttp.Problem
	require.NoError(r, json.Unmarshal(w.Body.Bytes(), &p))
	require.Equal(r, status, p.Status)
	require.NotEmpty(r, p.Detail)
	require.NotEmpty(r, p.Type)
	return p
}

// has requires a header of an answer to be so.
func has(t *testing.T, w *httptest.ResponseRecorder, name, want string) {
	t.Helper()
	require.Equal(t, want, w.Header().Get(name))
}

func expanded(t *testing.T, coding string, b []byte) []byte {
	t.Helper()
	if coding == "gzip" {
		return unzipped(t, b)
	}
	out, err := io.ReadAll(brotli.NewReader(bytes.NewReader(b)))
	require.NoError(t, err)
	return out
}

func unzipped(t *testing.T, b []byte) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(b))
	require.NoError(t, err)
	out, err := io.ReadAll(z)
	require.NoError(t, err)
	return out
}

// list is an answer of the list.
type list struct {
	Type           string
	Features       []feature
	NumberReturned int
	Truncated      bool
	Next           *string
}

type feature struct {
	Type       string
	ID         int64
	Geometry   struct{ Type string }
	Properties map[string]any
}

func (r *rig) list(path string) list {
	r.Helper()
	w := r.get(path)
	require.Equal(r, http.StatusOK, w.Code, w.Body.String())
	return r.parse(w.Body.Bytes())
}

func (r *rig) parse(body []byte) (l list) {
	r.Helper()
	require.NoError(r, json.Unmarshal(body, &l))
	require.Equal(r, "FeatureCollection", l.Type)
	require.Len(r, l.Features, l.NumberReturned)
	return l
}

// alps is a track in the tile of alpsTile.
func alps(name string) gpstracks.Track {
	return gpstracks.Track{Name: name, Activity: gpstracks.Hiking, Lines: orb.MultiLineString{{{7.1, 46.1}, {7.15, 46.2}, {7.2, 46.15}}}}
}

// way is a track of one line, by the longitudes and latitudes of its points.
func way(name string, at ...float64) gpstracks.Track {
	var line orb.LineString
	for p := range slices.Chunk(at, 2) {
		line = append(line, orb.Point(p))
	}
	return gpstracks.Track{Name: name, Lines: orb.MultiLineString{line}}
}

// fill keeps tracks that are made up.
func fill(t *testing.T, store gpstracks.Store, n int, seed uint64) {
	t.Helper()
	_, err := store.Upsert(t.Context(), sample.Tracks(n, seed))
	require.NoError(t, err)
}

const (
	alpsTile = "/tiles/9/266/181.mvt"
	alpsBox  = "?bbox=7,46,8,47"
)

// gate holds every query until it is opened, and counts them.
type gate struct {
	tile.Source
	entered chan context.Context
	open    chan struct{}
	calls   atomic.Int64
}

func newGate(s tile.Source) *gate {
	return &gate{Source: s, entered: make(chan context.Context, 1000), open: make(chan struct{})}
}

func (g *gate) Blocks(ctx context.Context, level int, w tile.Window, yield func([]byte) error) error {
	const grids = tile.Totals + 12 // of cells: a tile that has such reads them once, and its lines only where there are any
	if level <= tile.DensityZoom || level == tile.Totals || level > grids {
		return g.Source.Blocks(ctx, level, w, yield)
	}
	g.calls.Add(1)
	g.entered <- ctx
	select {
	case <-g.open:
		return g.Source.Blocks(ctx, level, w, yield)
	case <-ctx.Done():
		return ctx.Err()
	}
}
