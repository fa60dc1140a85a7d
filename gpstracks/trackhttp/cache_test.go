package trackhttp_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/paulmach/orb"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gpstracks/storetest"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
	"github.com/signalbox-dev/signalbox/gpstracks/trackhttp"
)

// gated is a rig whose queries wait at a gate.
func gated(t *testing.T, opts ...trackhttp.Options) (*rig, *gate) {
	t.Helper()
	store := storetest.Memory(t)
	g := newGate(store)
	o := append(opts, trackhttp.Options{})[0]
	o.Store, o.Tiles = store, g
	r := newRig(t, o)
	r.store = store
	r.put(alps("ridge"))
	return r, g
}

// async requests a path in a goroutine; the answer comes on the channel.
func (r *rig) async(ctx context.Context, path string) <-chan *httptest.ResponseRecorder {
	done := make(chan *httptest.ResponseRecorder, 1)
	go func() { done <- r.do(ctx, http.MethodGet, path) }()
	return done
}

func TestCache(t *testing.T) {
	t.Parallel()
	r, g := gated(t, trackhttp.Options{CacheTiles: 2})
	close(g.open)
	for range 3 {
		r.is(http.StatusOK, alpsTile)
		r.is(http.StatusNoContent, "/tiles/9/0/0.mvt")
	}
	require.EqualValues(t, 2, g.calls.Load(), "an empty tile is kept too")
	require.Equal(t, trackhttp.CacheHealth{Size: 2, Capacity: 2, Hits: 4, Misses: 2}, r.healthy().Cache)
	r.get(alpsTile) // it is the older one, but was used last
	r.get(alpsTile + "?source=osm,club")
	r.get(alpsTile + "?source=club&source=osm&source=club")
	require.EqualValues(t, 3, g.calls.Load(), "the same filter in other words is the same tile")
	require.Equal(t, 2, r.healthy().Cache.Size)
	r.get(alpsTile)
	require.EqualValues(t, 3, g.calls.Load())
	r.get("/tiles/9/0/0.mvt")
	require.EqualValues(t, 4, g.calls.Load(), "the tile that was not used for longest made room")
}

// What changed is forgotten, and nothing else.
func TestInvalidate(t *testing.T) {
	t.Parallel()
	r, g := gated(t)
	close(g.open)
	r.get(alpsTile)
	r.get("/tiles/9/0/0.mvt")
	r.h.Invalidate()
	r.h.Invalidate(orb.Bound{Min: orb.Point{7.1, 46.1}, Max: orb.Point{7.2, 46.2}}, orb.Bound{Min: orb.Point{60, 0}, Max: orb.Point{61, 1}})
	r.get("/tiles/9/0/0.mvt")
	require.EqualValues(t, 2, g.calls.Load())
	r.get(alpsTile)
	require.EqualValues(t, 3, g.calls.Load())
}

// A tile that was begun before a change is not kept after it.
func TestInvalidateUnderWay(t *testing.T) {
	t.Parallel()
	r, g := gated(t, trackhttp.Options{Encoders: 2})
	before := r.async(t.Context(), alpsTile)
	<-g.entered
	r.put(way("new", 7.1, 46.1, 7.4, 46.2))
	after := r.async(t.Context(), alpsTile)
	<-g.entered // it does not share the work that began before
	close(g.open)
	require.Equal(t, http.StatusOK, (<-before).Code)
	require.Equal(t, "new ridge", names(t, (<-after).Body.Bytes()))
	require.Equal(t, "new ridge", names(t, r.get(alpsTile).Body.Bytes()))
	require.EqualValues(t, 2, g.calls.Load())
}

func TestBegunBeforeIsNotKept(t *testing.T) {
	t.Parallel()
	r, g := gated(t)
	before := r.async(t.Context(), alpsTile)
	<-g.entered
	r.h.Invalidate(orb.Bound{Min: orb.Point{-180, -90}, Max: orb.Point{180, 90}})
	close(g.open)
	require.Equal(t, http.StatusOK, (<-before).Code)
	require.Zero(t, r.healthy().Cache.Size)
	r.is(http.StatusOK, alpsTile)
	require.EqualValues(t, 2, g.calls.Load())
}

func TestSingleFlight(t *testing.T) {
	t.Parallel()
	r, g := gated(t)
	var waits []<-chan *httptest.ResponseRecorder
	for range 20 {
		waits = append(waits, r.async(t.Context(), alpsTile))
	}
	<-g.entered
	gone, leave := context.WithCancel(t.Context())
	one := r.async(gone, alpsTile)
	leave()
	require.Zero(t, (<-one).Body.Len(), "nothing is written for who has gone")
	close(g.open)
	for _, w := range waits {
		require.Equal(t, "ridge", names(t, (<-w).Body.Bytes()))
	}
	require.EqualValues(t, 1, g.calls.Load())
}

// The query ends when the last request that waits for it goes away, and no earlier.
func TestGoneAway(t *testing.T) {
	t.Parallel()
	r, g := gated(t)
	first, leaveFirst := context.WithCancel(t.Context())
	one := r.async(first, alpsTile)
	query := <-g.entered
	leaveFirst()
	<-one
	<-query.Done()
	second := r.async(t.Context(), alpsTile)
	query = <-g.entered
	require.NoError(t, query.Err(), "who comes later begins anew")
	close(g.open)
	require.Equal(t, http.StatusOK, (<-second).Code)
	require.EqualValues(t, 0, r.healthy().Cache.Hits)
}

// More tiles than can wait are refused at once.
func TestBusy(t *testing.T) {
	t.Parallel()
	r, g := gated(t, trackhttp.Options{Encoders: 1})
	var mu sync.Mutex
	codes := map[int]int{}
	var wg sync.WaitGroup
	full, once := make(chan struct{}), sync.Once{}
	for i := range 400 {
		wg.Go(func() {
			w := r.get(fmt.Sprintf("/tiles/10/%d/0.mvt", i))
			mu.Lock()
			defer mu.Unlock()
			codes[w.Code]++
			if w.Code == http.StatusServiceUnavailable {
				once.Do(func() { close(full) })
				if w.Header().Get("Retry-After") != "1" {
					t.Error("a client is not told when to ask again")
				}
			}
		})
	}
	<-full
	close(g.open)
	wg.Wait()
	require.Equal(t, 400, codes[http.StatusServiceUnavailable]+codes[http.StatusNoContent])
	require.GreaterOrEqual(t, codes[http.StatusNoContent], 256)
	r.is(http.StatusOK, alpsTile) // and then all is well again
}

// explosive is a source that has a bug, until it is mended.
type explosive struct {
	tile.Source
	mended bool
}

func (e *explosive) Blocks(ctx context.Context, level int, w tile.Window, yield func([]byte) error) error {
	if !e.mended {
		panic("secret-host: connection refused")
	}
	return e.Source.Blocks(ctx, level, w, yield)
}

func TestFailures(t *testing.T) {
	t.Parallel()
	store := storetest.Memory(t)
	source := &explosive{Source: store}
	r := newRig(t, trackhttp.Options{Encoders: 1, Store: store, Tiles: source, Runs: store})
	r.store = store
	r.put(alps("ridge"))
	for range 3 { // the only encoder comes back each time
		p := r.problem(r.get(alpsTile), http.StatusServiceUnavailable)
		require.NotContains(t, p.Detail, "secret")
	}
	source.mended = true
	r.is(http.StatusOK, alpsTile) // a failure is not kept
	require.NoError(t, store.Close())
	p := r.problem(r.get(alpsBox), http.StatusServiceUnavailable)
	require.NotContains(t, p.Detail, "closed")
	w := r.is(http.StatusServiceUnavailable, "/health")
	require.Contains(t, w.Body.String(), `"down"`)
}

func TestClear(t *testing.T) {
	t.Parallel()
	r := newRig(t, trackhttp.Options{ClearToken: "let me"})
	r.put(alps("ridge"))
	r.get(alpsTile)
	post := func(header ...string) *httptest.ResponseRecorder {
		return r.do(t.Context(), http.MethodPost, "/cache/clear", header...)
	}
	for _, auth := range []string{"", "Bearer", "Bearer ", "Bearer let", "Bearer let mee", "Basic let me", "let me"} {
		w := post("Authorization", auth)
		r.problem(w, http.StatusUnauthorized)
		require.Contains(t, w.Header().Get("WWW-Authenticate"), "Bearer")
	}
	require.Equal(t, 1, r.healthy().Cache.Size)
	w := post("Authorization", "bearer let me")
	require.Equal(t, http.StatusOK, w.Code)
	require.JSONEq(t, `{"cleared": 1}`, w.Body.String())
	require.Zero(t, r.healthy().Cache.Size)
	w = r.get("/cache/clear", "Authorization", "Bearer let me")
	r.problem(w, http.StatusMethodNotAllowed)
	has(t, w, "Allow", "POST")
	r.problem(r.do(t.Context(), http.MethodDelete, alpsTile), http.StatusMethodNotAllowed)

	r = newRig(t)
	r.problem(post("Authorization", "Bearer "), http.StatusForbidden)
}
