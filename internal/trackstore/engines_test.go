package trackstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/paulmach/orb"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/trackpostgres"
	"github.com/signalbox-dev/signalbox/adapters/tracksqlite"
	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/sample"
	"github.com/signalbox-dev/signalbox/gpstracks/storetest"
	"github.com/signalbox-dev/signalbox/gpstracks/trackhttp"
	"github.com/signalbox-dev/signalbox/internal/pgtest"
)

// store has the methods of the stores of both adapters.
type store interface {
	storetest.Store
	gpstracks.ZoneStore
	Build(ctx context.Context) error
	Changes(ctx context.Context, after int64) ([]orb.Bound, int64, error)
	Close() error
}

// engine is a database that the store runs on.
type engine struct {
	name  string
	where string                                                 // of a test's own data
	place func(testing.TB) string                                // makes a new one
	open  func(ctx context.Context, where string) (store, error) // opens a store
	query func(t testing.TB, where string) *sql.DB               // opens it past the store
	raw   *sql.DB
	// moment is a time as the database writes it.
	moment string
}

func engines() map[string]engine {
	return map[string]engine{
		"SQLite": {
			name: "SQLite", moment: "1",
			place: func(t testing.TB) string { return filepath.Join(t.TempDir(), "x.db") },
			open: func(ctx context.Context, where string) (store, error) {
				return tracksqlite.Open(ctx, tracksqlite.Options{Path: where})
			},
			query: func(t testing.TB, where string) *sql.DB {
				db, err := sql.Open("sqlite", where)
				require.NoError(t, err)
				return db
			},
		},
		"PostgreSQL": {
			name: "PostgreSQL", moment: "now()",
			place: func(t testing.TB) string { return pgtest.Open(t) },
			open: func(ctx context.Context, where string) (store, error) {
				return trackpostgres.Open(ctx, trackpostgres.Options{URL: where, AllowUnsafe: true})
			},
			query: func(t testing.TB, where string) *sql.DB {
				config, err := pgx.ParseConfig(where)
				require.NoError(t, err)
				config.RuntimeParams["search_path"] = "signalbox"
				return stdlib.OpenDB(*config)
			},
		},
	}
}

// each runs a test on every engine, with data of its own.
func each(t *testing.T, test func(*testing.T, engine)) {
	t.Helper()
	for name, e := range engines() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e.where = e.place(t)
			e.raw = e.query(t, e.where)
			t.Cleanup(func() { require.NoError(t, e.raw.Close()) })
			test(t, e)
		})
	}
}

// reopen opens the store, as a process of its own would.
func (e engine) reopen(t testing.TB) store {
	t.Helper()
	s, err := e.open(t.Context(), e.where)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// age makes every block one of an older layout.
func (e engine) age(t *testing.T) {
	t.Helper()
	e.execute(t, "update track_state set value = 1 where name = 'blocks version'")
}

func upsert(t testing.TB, s store, tracks []gpstracks.Track) gpstracks.Upserted {
	t.Helper()
	u, err := s.Upsert(t.Context(), tracks)
	require.NoError(t, err)
	return u
}

func remove(t testing.TB, s store, ids ...int64) []orb.Bound {
	t.Helper()
	gone, err := s.Remove(t.Context(), ids...)
	require.NoError(t, err)
	return gone
}

// execute changes the database past the store.
func (e engine) execute(t *testing.T, query string) {
	t.Helper()
	_, err := e.raw.ExecContext(t.Context(), query)
	require.NoError(t, err, query)
}

// changes are those behind one, and the number of the last.
func changes(t *testing.T, s store, after int64) ([]orb.Bound, int64) {
	t.Helper()
	changed, last, err := s.Changes(t.Context(), after)
	require.NoError(t, err)
	return changed, last
}

// A track that gets an activity counts for that one, and for no other any more; one that goes for none.
func TestCountsOfWhatChanges(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e engine) {
		s, tracks := e.reopen(t), sample.Short(30, 5, 50)
		want := slices.Clone(tracks)
		for i := range tracks {
			tracks[i].Activity = gpstracks.Unknown
		}
		upsert(t, s, tracks)
		upsert(t, s, want)
		remove(t, s, 1, 2)
		for i := range want {
			want[i].ID = int64(i + 1)
		}
		storetest.RequireShows(t, s, want[2:])
	})
}

// With more tracks than the first tiers hold, blocks are put together anew, and
// nothing of them is lost, doubled or drawn otherwise. Blocks of another layout
// are built again, once, however many processes start.
func TestRegroup(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e engine) {
		s, tracks := e.reopen(t), sample.Short(6000, 7, 3)
		for part := range slices.Chunk(tracks, 900) {
			upsert(t, s, part)
			require.NoError(t, s.Build(t.Context()))
		}
		want := gpstracks.PlanUpsert(tracks, nil).New
		storetest.RequireShows(t, s, want)
		var blocks, lonely, features, tiers int
		require.NoError(t, e.raw.QueryRowContext(t.Context(), `select count(*), count(*) filter (where features < 32), sum(features), `+
			`count(distinct tier)
			from track_blocks where level = 11`).Scan(&blocks, &lonely, &features, &tiers))
		require.Equal(t, 6000, features, "each once")
		require.Greater(t, tiers, 1)
		require.Less(t, blocks, 6000/40)
		require.Less(t, lonely, blocks/4)

		var gone []int64
		for id := int64(1); id < 6000; id += 9 {
			gone = append(gone, id)
		}
		remove(t, s, gone...)
		want = slices.DeleteFunc(want, func(k gpstracks.Track) bool { return k.ID%9 == 1 })
		storetest.RequireShows(t, s, want)

		e.age(t)
		e.execute(t, "update track_blocks set data = substr(data, 1, 1)")
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if other, err := e.open(t.Context(), e.where); err != nil {
					t.Errorf("open: %v", err)
				} else if err := other.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			})
		}
		wg.Wait()
		storetest.RequireShows(t, s, want)
	})
}

// A wide view is listed along the order, a narrow one by place.
func TestWideList(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e engine) {
		s, tracks := e.reopen(t), sample.Short(6000, 7, 3)
		upsert(t, s, tracks)
		want := gpstracks.PlanUpsert(tracks, nil).New
		for i := range want {
			want[i].ID = int64(i + 1)
		}
		wide := orb.Bound{Min: orb.Point{5, 44}, Max: orb.Point{15, 48}}
		narrow := orb.Bound{Min: orb.Point{7, 45.5}, Max: orb.Point{7.2, 45.7}}
		for _, f := range []gpstracks.Filter{
			{Bounds: []orb.Bound{wide}, Limit: 1200}, {Bounds: []orb.Bound{wide}, Sources: []string{"club"}}, {Limit: 600},
			{Bounds: []orb.Bound{narrow}},
		} {
			require.Equal(t, storetest.Passing(want, f), storetest.All(t, s, f), "%+v", f)
		}
	})
}

// Processes share the tracks, and learn what the others have changed.
func TestChanges(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e engine) {
		s, other, tracks := e.reopen(t), e.reopen(t), sample.Short(30, 7, 3)
		_, last := changes(t, other, -1)
		require.Zero(t, last)
		upsert(t, s, tracks[:10])
		changed, last := changes(t, other, last)
		require.LessOrEqual(t, len(changed), 10)
		for _, k := range tracks[:10] {
			require.True(t, slices.ContainsFunc(changed, func(b orb.Bound) bool {
				return b.Contains(k.Bounds.Min) &&
					b.Contains(k.Bounds.Max)
			}))
		}
		gone := remove(t, s, 3)
		changed, last = changes(t, other, last)
		require.Equal(t, gone, changed)
		tracks[0].LastSeenAt = tracks[0].LastSeenAt.Add(time.Hour) // seen again: nothing looks different
		upsert(t, s, tracks[:2])
		changed, again := changes(t, other, last)
		require.Empty(t, changed)
		require.Equal(t, last, again)
		e.execute(t, "delete from track_changes where id < (select max(id) from track_changes)")
		changed, _ = changes(t, other, 1)
		require.Equal(t, []orb.Bound{{Min: orb.Point{-180, -90}, Max: orb.Point{180, 90}}}, changed, "too long ago to be remembered")
	})
}

// What was seen later is kept, whether a call brings one time or many.
func TestSeenLater(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e engine) {
		s, tracks := e.reopen(t), sample.Short(60, 7, 3)
		want := gpstracks.PlanUpsert(tracks, nil).New
		upsert(t, s, tracks)
		for round := range 3 {
			for i := range tracks {
				k := &tracks[i]
				k.LastSeenAt, k.RunID = k.LastSeenAt.Add(time.Duration(i*(round-1))*time.Minute+time.Hour), int64(round)
				want[i], _ = gpstracks.Merge(want[i], *k)
			}
			upsert(t, s, tracks)
			storetest.RequireShows(t, s, want)
		}
	})
}

// A track that a zone has cut little is whole again when the zone is forgotten and it is collected again.
func TestUnhide(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e engine) {
		s, tracks := e.reopen(t), sample.Tracks(1, 1)
		upsert(t, s, tracks)
		_, err := s.Hide(t.Context(), gpstracks.Zone{Name: "end", Center: tracks[0].Lines[0][0], RadiusM: 50})
		require.NoError(t, err)
		_, err = s.Unhide(t.Context(), "end")
		require.NoError(t, err)
		upsert(t, s, tracks)
		want := gpstracks.PlanUpsert(tracks, nil).New
		want[0].ID = 2
		storetest.RequireShows(t, s, want)
	})
}

// The HTTP side answers the same on every engine.
func TestHTTP(t *testing.T) {
	t.Parallel()
	answers := map[string]string{}
	for name, e := range engines() {
		e.where = e.place(t)
		s := e.reopen(t)
		for part := range slices.Chunk(sample.Tracks(400, 2), 150) {
			upsert(t, s, part)
		}
		sources := []trackhttp.Source{{Name: "osm"}, {Name: "club"}, {Name: "upload"}}
		h, err := trackhttp.New(trackhttp.Options{Store: s, Tiles: s, Runs: s, Sources: sources})
		require.NoError(t, err)
		for _, path := range []string{
			"?bbox=5,44,15,48", "?bbox=7.8,46.5,8,46.7&zoom=14&limit=7", "?bbox=7.8,46.5,8,46.7&limit=7&activity=cycling,hiking&source=osm",
			"?bbox=170,0,-170,10",
			"?bbox=5,44,15,48&limit=9&cursor=9000-1", "/health", "/tiles.json", "/tiles/5/16/11.mvt", "/tiles/8/133/90.mvt?source=club",
			"/tiles/12/2138/1446.mvt?activity=hiking", "/tiles/18/136832/92576.mvt", "/tiles/10/1/1.mvt", "/tiles/10/1/1025.mvt", "?bbox=1",
		} {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/gps-tracks"+path, nil))
			got := fmt.Sprint(w.Code, w.Header(), w.Body)
			if want, ok := answers[path]; ok {
				require.Equal(t, want, got, "%s on %s", path, name)
			}
			answers[path] = got
		}
	}
}
