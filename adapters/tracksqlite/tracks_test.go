package tracksqlite_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/maptile"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/tracksqlite"
	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/memtracks"
	"github.com/signalbox-dev/signalbox/gpstracks/storetest"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
	"github.com/signalbox-dev/signalbox/gpstracks/trackhttp"
)

func open(t testing.TB, o tracksqlite.Options) *tracksqlite.Tracks {
	t.Helper()
	s, err := tracksqlite.Open(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func openTracks(t testing.TB) *tracksqlite.Tracks {
	t.Helper()
	return open(t, tracksqlite.Options{Path: filepath.Join(t.TempDir(), "a?b c", "x.db")})
}

func TestTracksConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Store { return openTracks(t) })
}

// The tables are made once, by files named for their domain, and opening again changes nothing.
func TestTracksMigration(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	s := open(t, tracksqlite.Options{Path: path})
	_, err := s.Upsert(t.Context(), short(t, 5))
	require.NoError(t, err)
	require.NoError(t, s.Close())
	raw, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	defer raw.Close()
	look := func() (schema, applied string) {
		require.NoError(t, raw.QueryRowContext(t.Context(), `select (select group_concat(type || name || coalesce(sql, '')) from sqlite_schema),
			(select group_concat(name || ' ' || applied_at) from schema_migrations)`).Scan(&schema, &applied))
		return schema, applied
	}
	schema, applied := look()
	require.Regexp(t, `^gps_tracks_001_init 20`, applied)
	n, err := open(t, tracksqlite.Options{Path: path}).Count(t.Context())
	require.NoError(t, err)
	require.Equal(t, 5, n)
	again, same := look()
	require.Equal(t, []string{schema, applied}, []string{again, same})
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

// With more tracks than the first tiers hold, blocks are put together anew, and
// nothing of them is lost, doubled or drawn otherwise.
func TestTracksRegroup(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	s := open(t, tracksqlite.Options{Path: path})
	double := memtracks.New()
	tracks := short(t, 6000)
	for part := range slices.Chunk(tracks, 900) {
		for _, one := range []gpstracks.Store{double, s} {
			_, err := one.Upsert(t.Context(), part)
			require.NoError(t, err)
		}
		require.NoError(t, s.Build(t.Context()))
	}
	same := func(s *tracksqlite.Tracks) {
		t.Helper()
		e := tile.NewEncoder(tile.Limits{Features: 100_000, Bytes: 100 << 20})
		for _, id := range []tile.ID{{Z: 5, X: 16, Y: 11}, {Z: 8, X: 133, Y: 91}, {Z: 11, X: 1064, Y: 728}, {Z: 15, X: 17024, Y: 11648}} {
			want, _, err := e.Encode(t.Context(), nil, double, id, gpstracks.Filter{})
			require.NoError(t, err)
			got, _, err := e.Encode(t.Context(), nil, s, id, gpstracks.Filter{})
			require.NoError(t, err)
			require.Equal(t, want, got, "%v", id)
		}
	}
	same(s)
	raw, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	defer raw.Close()
	var blocks, lonely, features, tiers int
	require.NoError(t, raw.QueryRowContext(t.Context(), `select count(*), count(*) filter (where features < 32), sum(features), count(distinct tier)
		from track_blocks where level = 11`).Scan(&blocks, &lonely, &features, &tiers))
	require.Equal(t, 6000, features, "each once")
	require.Greater(t, tiers, 1)
	require.Less(t, blocks, 6000/40)
	require.Less(t, lonely, blocks/4)

	var gone []int64
	for id := int64(1); id < 6000; id += 9 {
		gone = append(gone, id)
	}
	_, err = s.Remove(t.Context(), gone...)
	require.NoError(t, err)
	_, err = double.Remove(t.Context(), gone...)
	require.NoError(t, err)
	same(s)

	// Blocks of another layout are built again when the file is opened.
	_, err = raw.ExecContext(t.Context(), "update track_state set value = 1 where name = 'blocks version'; update track_blocks set data = x'00'")
	require.NoError(t, err)
	same(open(t, tracksqlite.Options{Path: path}))
}

// Another process sees what has changed.
func TestTracksChanges(t *testing.T) {
	t.Parallel()
	s := openTracks(t)
	tracks := short(t, 30)
	_, last, err := s.Changes(t.Context(), -1)
	require.NoError(t, err)
	require.Zero(t, last)
	_, err = s.Upsert(t.Context(), tracks[:10])
	require.NoError(t, err)
	changed, last, err := s.Changes(t.Context(), last)
	require.NoError(t, err)
	require.LessOrEqual(t, len(changed), 10)
	for _, k := range tracks[:10] {
		require.True(t, slices.ContainsFunc(changed, func(b orb.Bound) bool { return b.Contains(k.Bounds.Min) && b.Contains(k.Bounds.Max) }))
	}
	changed, again, err := s.Changes(t.Context(), last)
	require.NoError(t, err)
	require.Empty(t, changed)
	require.Equal(t, last, again)
	gone, err := s.Remove(t.Context(), 3)
	require.NoError(t, err)
	changed, last, err = s.Changes(t.Context(), last)
	require.NoError(t, err)
	require.Equal(t, gone, changed)
	_, err = s.Upsert(t.Context(), tracks[:2]) // seen again: nothing looks different
	require.NoError(t, err)
	changed, _, err = s.Changes(t.Context(), last)
	require.NoError(t, err)
	require.Empty(t, changed)
}

// The HTTP side answers the same on this store as on the one in memory.
func TestTracksHTTP(t *testing.T) {
	t.Parallel()
	s, double := openTracks(t), memtracks.New()
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
		"?bbox=5,44,15,48", "?bbox=7.8,46.5,8,46.7&zoom=14&limit=7", "?bbox=7.8,46.5,8,46.7&limit=7&activity=cycling,hiking&source=osm", "?bbox=170,0,-170,10",
		"?bbox=5,44,15,48&limit=9&cursor=9000-1", "/health", "/tiles.json", "/tiles/5/16/11.mvt", "/tiles/8/133/90.mvt?source=club", "/tiles/12/2138/1446.mvt?activity=hiking",
		"/tiles/15/17104/11572.mvt", "/tiles/18/136832/92576.mvt", "/tiles/10/1/1.mvt", "/tiles/10/1/1025.mvt", "?bbox=1", "?bbox=5,44,15,48&source=nobody",
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

// tileAt is the tile that shows a point.
func tileAt(z int, p orb.Point) tile.ID {
	at := maptile.At(p, maptile.Zoom(z))
	return tile.ID{Z: z, X: int(at.X), Y: int(at.Y)}
}
