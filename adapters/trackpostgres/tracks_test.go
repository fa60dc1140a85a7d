package trackpostgres_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/paulmach/orb"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/postgres/pgtest"
	"github.com/signalbox-dev/signalbox/adapters/trackpostgres"
	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/memtracks"
	"github.com/signalbox-dev/signalbox/gpstracks/storetest"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
	"github.com/signalbox-dev/signalbox/gpstracks/trackhttp"
)

func open(t testing.TB, o trackpostgres.Options) *trackpostgres.Tracks {
	t.Helper()
	o.AllowUnsafe = true
	s, err := trackpostgres.Open(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func TestTracksConformance(t *testing.T) {
	t.Parallel()
	url, n := pgtest.Open(t), 0
	storetest.Run(t, func(t *testing.T) storetest.Store {
		n++
		return open(t, trackpostgres.Options{URL: url, Schema: fmt.Sprintf("s%d", n)})
	})
}

// admin is a connection past the store.
func admin(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// short makes n tracks of a few points, which is what an ingest of many tracks
// can be tested with quickly.
func short(t testing.TB, n int) []gpstracks.Track {
	t.Helper()
	rng := rand.New(rand.NewPCG(7, 7))
	out := make([]gpstracks.Track, 0, n)
	for i := range n {
		p := orb.Point{6 + 8*rng.Float64(), 45 + 2*rng.Float64()}
		k, err := gpstracks.Prepare(gpstracks.Track{
			Source: "osm", Name: fmt.Sprintf("t%d", i), Attribution: "©", LastSeenAt: time.Unix(1e9, 0).UTC(),
			Lines: orb.MultiLineString{{p, {p[0] + 0.02, p[1] + 0.03*rng.Float64()}, {p[0] + 0.05, p[1]}}},
		})
		require.NoError(t, err)
		out = append(out, k)
	}
	return out
}

func sameTiles(t *testing.T, want, got tile.Source) {
	t.Helper()
	e := tile.NewEncoder(tile.Limits{Features: 100_000, Bytes: 100 << 20})
	for _, id := range []tile.ID{{Z: 5, X: 16, Y: 11}, {Z: 8, X: 133, Y: 91}, {Z: 11, X: 1064, Y: 728}, {Z: 15, X: 17024, Y: 11648}} {
		a, _, err := e.Encode(t.Context(), nil, want, id, gpstracks.Filter{})
		require.NoError(t, err)
		b, _, err := e.Encode(t.Context(), nil, got, id, gpstracks.Filter{})
		require.NoError(t, err)
		require.Equal(t, a, b, "%v", id)
	}
}

// With more tracks than the first tiers hold, blocks are put together anew, and
// nothing of them is lost, doubled or drawn otherwise. Blocks of another layout
// are built again, once, however many processes start.
func TestTracksRegroup(t *testing.T) {
	t.Parallel()
	url := pgtest.Open(t)
	s, double := open(t, trackpostgres.Options{URL: url}), memtracks.New()
	for part := range slices.Chunk(short(t, 6000), 900) {
		for _, one := range []gpstracks.Store{double, s} {
			_, err := one.Upsert(t.Context(), part)
			require.NoError(t, err)
		}
		require.NoError(t, s.Build(t.Context()))
	}
	sameTiles(t, double, s)
	c := admin(t, url)
	var blocks, lonely, features, tiers int
	require.NoError(t, c.QueryRow(t.Context(), `select count(*), count(*) filter (where features < 32), sum(features), count(distinct tier)
		from signalbox.track_blocks where level = 11`).Scan(&blocks, &lonely, &features, &tiers))
	require.Equal(t, 6000, features, "each once")
	require.Greater(t, tiers, 1)
	require.Less(t, blocks, 6000/40)
	require.Less(t, lonely, blocks/4)

	var gone []int64
	for id := int64(1); id < 6000; id += 9 {
		gone = append(gone, id)
	}
	for _, one := range []gpstracks.Store{double, s} {
		_, err := one.Remove(t.Context(), gone...)
		require.NoError(t, err)
	}
	sameTiles(t, double, s)

	_, err := c.Exec(t.Context(), "update signalbox.track_state set value = 1 where name = 'blocks version'; update signalbox.track_blocks set data = '\\x00'")
	require.NoError(t, err)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			other, err := trackpostgres.Open(t.Context(), trackpostgres.Options{URL: url, AllowUnsafe: true})
			if err != nil {
				t.Errorf("open: %v", err)
				return
			}
			if err := other.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
	wg.Wait()
	sameTiles(t, double, s)
	require.NoError(t, c.QueryRow(t.Context(), "select sum(features) from signalbox.track_blocks where level = 11").Scan(&features))
	require.Equal(t, 6000-len(gone), features)
}

// A wide view is listed along the order, a narrow one by place: both as the double
// lists them.
func TestTracksWideList(t *testing.T) {
	t.Parallel()
	s, double := open(t, trackpostgres.Options{URL: pgtest.Open(t)}), memtracks.New()
	tracks := short(t, 21_000)
	for _, one := range []gpstracks.Store{double, s} {
		_, err := one.Upsert(t.Context(), tracks)
		require.NoError(t, err)
	}
	names := func(one gpstracks.Store, f gpstracks.Filter) (out []string) {
		for k, err := range one.List(t.Context(), f) {
			require.NoError(t, err)
			out = append(out, k.Name)
		}
		return out
	}
	wide := orb.Bound{Min: orb.Point{5, 44}, Max: orb.Point{15, 48}}
	for _, f := range []gpstracks.Filter{{Bounds: []orb.Bound{wide}, Limit: 1200}, {Bounds: []orb.Bound{wide}, Sources: []string{"club"}}, {Limit: 600}, {Bounds: []orb.Bound{{Min: orb.Point{7, 45.5}, Max: orb.Point{7.2, 45.7}}}}} {
		require.Equal(t, names(double, f), names(s, f), "%+v", f)
	}
}

// The connection breaks at every message in turn, before the server has it and
// after: every call succeeds or says that it did not, and nothing is half done.
func TestTracksLostAnswers(t *testing.T) {
	t.Parallel()
	server := pgtest.Open(t)
	w, url := newWire(t, server)
	s := open(t, trackpostgres.Options{URL: url})
	direct := open(t, trackpostgres.Options{URL: server})
	double := memtracks.New()
	tracks := short(t, 300)
	for i, part := range slices.Collect(slices.Chunk(tracks, 10)) {
		w.deliver.Store([]int64{atOnce, never}[i%2])
		w.left.Store(int64(i/2) + 1)
		u, err := s.Upsert(t.Context(), part)
		w.left.Store(-1)
		require.NoError(t, err)
		require.Equal(t, []int{10, 0, 0}, []int{u.Inserted, u.Updated, u.Duplicates}, "call %d", i)
		_, err = double.Upsert(t.Context(), part)
		require.NoError(t, err)
		n, err := direct.Count(t.Context())
		require.NoError(t, err)
		require.Equal(t, 10*(i+1), n)
	}
	require.Greater(t, w.cuts.Load(), int64(10))
	same := func() {
		for id := range tile.MaxLevel {
			count := func(one tile.Source) (n int) {
				require.NoError(t, one.Blocks(t.Context(), id, tile.Window{MinX: 0, MinY: 0, MaxX: 1 << 27, MaxY: 1 << 27}, func(b []byte) error {
					features, err := tile.BlockFeatures(b)
					n += len(features)
					return err
				}))
				return n
			}
			require.Equal(t, count(double), count(direct), "level %d", id)
		}
	}
	same()
	for i := range 12 {
		var ids []int64
		for k, err := range direct.List(t.Context(), gpstracks.Filter{Limit: 5}) {
			require.NoError(t, err)
			ids = append(ids, k.ID)
		}
		w.deliver.Store([]int64{atOnce, never}[i%2])
		w.left.Store(int64(i/2) + 1)
		changed, err := s.Remove(t.Context(), ids...)
		w.left.Store(-1)
		require.NoError(t, err)
		require.Len(t, changed, 5)
	}
	n, err := direct.Count(t.Context())
	require.NoError(t, err)
	require.Equal(t, 300-60, n)
}

// Whoever gives up is not waited for, and neither is the query: the server ends
// it.
func TestTracksCancelled(t *testing.T) {
	t.Parallel()
	url := pgtest.Open(t)
	s := open(t, trackpostgres.Options{URL: url})
	tracks := short(t, 20)
	_, err := s.Upsert(t.Context(), tracks[:10])
	require.NoError(t, err)
	c, watch := admin(t, url), admin(t, url)
	running := func() (n int) {
		require.NoError(t, watch.QueryRow(t.Context(), `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
			and query not like '%group by level, tier%'`).Scan(&n)) // what puts blocks together may look at them late
		return n
	}
	wait := func(want int) {
		for running() != want { // the server sets the pace
			_, err := watch.Exec(t.Context(), "select pg_sleep(0.01)")
			require.NoError(t, err)
		}
	}
	for name, call := range map[string]func(context.Context) error{
		"count":  func(ctx context.Context) error { _, err := s.Count(ctx); return err },
		"upsert": func(ctx context.Context) error { _, err := s.Upsert(ctx, tracks[10:]); return err },
		"remove": func(ctx context.Context) error { _, err := s.Remove(ctx, 1); return err },
		"runs":   func(ctx context.Context) error { _, err := s.LastRuns(ctx); return err },
		"list": func(ctx context.Context) error {
			for _, err := range s.List(ctx, gpstracks.Filter{}) {
				return err
			}
			return nil
		},
		"blocks": func(ctx context.Context) error {
			return s.Blocks(ctx, 9, tile.ID{Z: 9}.Window(), func([]byte) error { return nil })
		},
	} {
		lock, err := c.Begin(t.Context())
		require.NoError(t, err)
		_, err = lock.Exec(t.Context(), "lock table signalbox.tracks, signalbox.track_blocks, signalbox.pipeline_runs in access exclusive mode")
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- call(ctx) }()
		wait(1)
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled, name)
		wait(0)
		require.NoError(t, lock.Rollback(t.Context()))
	}
	n, err := s.Count(t.Context())
	require.NoError(t, err)
	require.Equal(t, 10, n)
}

// Processes share the tracks, and learn what the others have changed.
func TestTracksChanges(t *testing.T) {
	t.Parallel()
	url := pgtest.Open(t)
	s, other := open(t, trackpostgres.Options{URL: url}), open(t, trackpostgres.Options{URL: url})
	tracks := short(t, 30)
	_, last, err := other.Changes(t.Context(), -1)
	require.NoError(t, err)
	require.Zero(t, last)
	_, err = s.Upsert(t.Context(), tracks[:10])
	require.NoError(t, err)
	changed, last, err := other.Changes(t.Context(), last)
	require.NoError(t, err)
	require.LessOrEqual(t, len(changed), 10)
	for _, k := range tracks[:10] {
		require.True(t, slices.ContainsFunc(changed, func(b orb.Bound) bool { return b.Contains(k.Bounds.Min) && b.Contains(k.Bounds.Max) }))
	}
	gone, err := s.Remove(t.Context(), 3)
	require.NoError(t, err)
	changed, last, err = other.Changes(t.Context(), last)
	require.NoError(t, err)
	require.Equal(t, gone, changed)
	again := slices.Clone(tracks[:2])
	again[0].LastSeenAt = again[0].LastSeenAt.Add(time.Hour) // seen again: nothing looks different
	_, err = s.Upsert(t.Context(), again)
	require.NoError(t, err)
	changed, _, err = other.Changes(t.Context(), last)
	require.NoError(t, err)
	require.Empty(t, changed)
	_, err = admin(t, url).Exec(t.Context(), "delete from signalbox.track_changes where id < (select max(id) from signalbox.track_changes)")
	require.NoError(t, err)
	changed, _, err = other.Changes(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, []orb.Bound{{Min: orb.Point{-180, -90}, Max: orb.Point{180, 90}}}, changed, "too long ago to be remembered")
}

// The HTTP side answers the same on this store as on the one in memory.
func TestTracksHTTP(t *testing.T) {
	t.Parallel()
	s, double := open(t, trackpostgres.Options{URL: pgtest.Open(t)}), memtracks.New()
	tracks := memtracks.Generate(400, 2)
	var handlers []http.Handler
	for _, one := range []storetest.Store{double, s} {
		for part := range slices.Chunk(tracks, 150) {
			_, err := one.Upsert(t.Context(), part)
			require.NoError(t, err)
		}
		h, err := trackhttp.New(trackhttp.Options{Store: one, Tiles: one, Runs: one, Sources: []trackhttp.Source{{Name: "osm"}, {Name: "club"}, {Name: "upload"}}})
		require.NoError(t, err)
		handlers = append(handlers, h)
	}
	for _, path := range []string{
		"?bbox=5,44,15,48", "?bbox=7.8,46.5,8,46.7&limit=7&activity=cycling,hiking&source=osm", "?bbox=170,0,-170,10", "?bbox=5,44,15,48&limit=9&cursor=9000-1",
		"/health", "/tiles.json", "/tiles/5/16/11.mvt", "/tiles/8/133/90.mvt?source=club", "/tiles/18/136832/92576.mvt", "/tiles/10/1/1025.mvt", "?bbox=1",
	} {
		var answers []*httptest.ResponseRecorder
		for _, h := range handlers {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/gps-tracks"+path, nil))
			if !strings.Contains(path, ".mvt") { // tags of lists are by the store's own count of changes
				w.Header().Del("Etag")
			}
			answers = append(answers, w)
		}
		require.Equal(t, answers[0].Code, answers[1].Code, path)
		require.Equal(t, answers[0].Header(), answers[1].Header(), path)
		require.Equal(t, answers[0].Body.String(), answers[1].Body.String(), path)
	}
}

// What was seen later is kept, whether a call brings one time or many.
func TestTracksSeenLater(t *testing.T) {
	t.Parallel()
	s, double := open(t, trackpostgres.Options{URL: pgtest.Open(t)}), memtracks.New()
	tracks := short(t, 60)
	seen := func(k gpstracks.Store) (out []string) {
		for k, err := range k.List(t.Context(), gpstracks.Filter{}) {
			require.NoError(t, err)
			out = append(out, fmt.Sprint(k.Name, k.FirstSeenAt.Unix(), k.LastSeenAt.Unix(), k.RunID))
		}
		return out
	}
	for round := range 3 {
		for i := range tracks {
			tracks[i].LastSeenAt, tracks[i].RunID = tracks[i].LastSeenAt.Add(time.Duration(i*(round-1))*time.Minute+time.Hour), int64(round)
		}
		for _, one := range []gpstracks.Store{double, s} {
			u, err := one.Upsert(t.Context(), tracks)
			require.NoError(t, err)
			require.Equal(t, 60, u.Duplicates+u.Inserted)
		}
		require.Equal(t, seen(double), seen(s), "round %d", round)
	}
}
