package trackpostgres_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/wkb"
	"github.com/paulmach/orb/maptile"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/postgres/pgtest"
	"github.com/signalbox-dev/signalbox/adapters/trackpostgres"
	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/memtracks"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
	"github.com/signalbox-dev/signalbox/gpstracks/trackhttp"
)

// BenchmarkPostGIS makes the same cold tiles with this store and with PostGIS, on
// one server, in one run, in turns: by ST_AsMVT on geometry that was simplified for
// the zoom beforehand, and over HTTP with gzip, beside a handler that does what a
// plain tile server does, ST_AsMVT on the geometry as it was stored. All tracks are
// drawn by all. Times are medians of as many rounds for each. ratio is how many times
// longer PostGIS takes than the encoder does with blocks in memory, store-ratio than
// with blocks from the same server, http-ratio how many times longer the plain tile
// server takes.
func BenchmarkPostGIS(b *testing.B) {
	server := pgtest.Start(b, pgtest.Options{Durable: true})
	pool, err := pgxpool.New(b.Context(), server.URL("postgres"))
	require.NoError(b, err)
	defer pool.Close()
	if _, err := pool.Exec(b.Context(), "create extension postgis"); err != nil {
		b.Skip("PostGIS is not installed (Debian: postgresql-15-postgis-3)")
	}
	tracks := memtracks.Generate(4000, 1)
	kept := open(b, trackpostgres.Options{URL: server.URL("postgres")})
	mem := memtracks.New()
	for _, s := range []gpstracks.Store{mem, kept} {
		_, err := s.Upsert(b.Context(), tracks)
		require.NoError(b, err)
	}
	require.NoError(b, kept.Build(b.Context()))
	loadPostGIS(b, pool, tracks)
	limits := tile.Limits{Features: math.MaxInt32, Bytes: math.MaxInt32}
	ours, err := trackhttp.New(trackhttp.Options{Store: kept, Tiles: kept, Limits: limits})
	require.NoError(b, err)
	us, plain := httptest.NewServer(ours), httptest.NewServer(plainTiles(pool))
	defer us.Close()
	defer plain.Close()
	e := tile.NewEncoder(limits)
	for z := 5; z <= 14; z++ {
		ids := tilesOf(tracks, z)
		prepared := fmt.Sprintf(asMVT, "geom", fmt.Sprintf("gis_z%d", z), envelope)
		if z > 10 { // tiles are a small part of the ground
			requireIndex(b, pool, prepared, ids[0])
		}
		b.Run(fmt.Sprintf("z%d", z), func(b *testing.B) {
			var body []byte
			encoded := func(s tile.Source) func(tile.ID) int {
				return func(id tile.ID) int {
					body, _, err = e.Encode(b.Context(), body[:0], s, id, gpstracks.Filter{})
					require.NoError(b, err)
					return len(body)
				}
			}
			gis := func(id tile.ID) int {
				var body []byte
				require.NoError(b, pool.QueryRow(b.Context(), prepared, id.Z, id.X, id.Y).Scan(&body))
				return len(body)
			}
			ask := func(base string) func(tile.ID) int {
				return func(id tile.ID) int {
					ours.Invalidate(orb.Bound{Min: orb.Point{-180, -90}, Max: orb.Point{180, 90}})
					return fetch(b, fmt.Sprintf("%s/api/gps-tracks/tiles/%d/%d/%d.mvt", base, id.Z, id.X, id.Y))
				}
			}
			few := ids[:1] // the plain server takes seconds for one
			if z > 9 {
				few = ids
			}
			for range b.N {
				times, bytes := inTurns(7, ids, encoded(mem), encoded(kept), gis)
				web, _ := inTurns(3, few, ask(us.URL), ask(plain.URL))
				b.ReportMetric(0, "ns/op")
				for unit, v := range map[string]float64{
					"memory-ns": times[0], "store-ns": times[1], "postgis-ns": times[2], "ratio": times[2] / times[0], "store-ratio": times[2] / times[1],
					"bytes": bytes[0], "postgis-bytes": bytes[2], "http-ns": web[0], "plain-http-ns": web[1], "http-ratio": web[1] / web[0],
				} {
					b.ReportMetric(v, unit)
				}
			}
		})
	}
}

// requireIndex looks that PostGIS finds a tile's tracks by an index.
func requireIndex(b *testing.B, pool *pgxpool.Pool, query string, id tile.ID) {
	b.Helper()
	rows, err := pool.Query(b.Context(), "explain "+query, pgx.QueryExecModeExec, id.Z, id.X, id.Y)
	require.NoError(b, err)
	plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(b, err)
	require.Contains(b, strings.Join(plan, "\n"), "Index")
}

// asMVT makes a tile; $1 to $3 are z, x and y.
const asMVT = `select ST_AsMVT(t, 'gps_tracks', 4096, 'geom', 'id') from (
	select id, name, activity, source, length_m, recorded_on, url, attribution,
		ST_AsMVTGeom(%[1]s, ST_TileEnvelope($1::integer, $2::integer, $3::integer), 4096, 64, true) as geom
	from %[2]s where %[2]s.geom && %[3]s) t where geom is not null`

// envelope is the ground of the tile with its buffer: what an index is asked for.
const envelope = "ST_TileEnvelope($1::integer, $2::integer, $3::integer, margin => 64.0 / 4096)"

// loadPostGIS keeps tracks as they are in gis, and simplified for each zoom, without
// those that are smaller than a pixel, in gis_z<zoom>.
func loadPostGIS(b *testing.B, pool *pgxpool.Pool, tracks []gpstracks.Track) {
	b.Helper()
	exec := func(query string) {
		_, err := pool.Exec(b.Context(), query)
		require.NoError(b, err)
	}
	exec("create table raw (id bigint, name text, activity text, source text, length_m bigint, recorded_on text, url text, attribution text, wkb bytea)")
	_, err := pool.CopyFrom(b.Context(), pgx.Identifier{"raw"}, []string{"id", "name", "activity", "source", "length_m", "recorded_on", "url", "attribution", "wkb"},
		pgx.CopyFromSlice(len(tracks), func(i int) ([]any, error) {
			t := tracks[i]
			line, err := wkb.Marshal(t.Lines)
			return []any{int64(i + 1), t.Name, string(t.Activity), t.Source, int64(t.LengthM), t.RecordedOn.Format(time.DateOnly), t.URL, t.Attribution, line}, err
		}))
	require.NoError(b, err)
	const columns = "select id, name, activity, source, length_m, recorded_on, url, attribution, "
	exec("create table gis as " + columns + "ST_LineMerge(ST_GeomFromWKB(wkb, 4326)) as geom from raw")
	exec("create index on gis using gist (geom)")
	exec("create table mercator as " + columns + "ST_Transform(geom, 3857) as geom from gis")
	for z := 5; z <= 14; z++ {
		unit := 40075016.685578488 / (tile.Extent * math.Exp2(float64(z)))
		exec(fmt.Sprintf(`create table gis_z%d as %s ST_Simplify(geom, %g) as geom from mercator
			where greatest(ST_XMax(geom) - ST_XMin(geom), ST_YMax(geom) - ST_YMin(geom)) >= %g`, z, columns, 2*unit, tile.Visible*unit))
		exec(fmt.Sprintf("create index on gis_z%d using gist (geom)", z))
	}
	exec("vacuum analyze")
}

// plainTiles serves tiles as a plain tile server does: of the geometry as it was
// stored, one query a tile, with gzip.
func plainTiles(pool *pgxpool.Pool) http.Handler {
	query := fmt.Sprintf(asMVT, "ST_Transform(geom, 3857)", "gis", "ST_Transform("+envelope+", 4326)")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var id tile.ID
		var body []byte
		_, err := fmt.Sscanf(r.URL.Path, "/api/gps-tracks/tiles/%d/%d/%d.mvt", &id.Z, &id.X, &id.Y)
		if err == nil {
			err = pool.QueryRow(r.Context(), query, id.Z, id.X, id.Y).Scan(&body)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = z.Write(body) // whoever asks sees a break
		_ = z.Close()
	})
}

// fetch asks for a tile and returns the bytes that came.
func fetch(b *testing.B, url string) int {
	r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, url, nil)
	require.NoError(b, err)
	r.Header.Set("Accept-Encoding", "gzip") // so that nobody unpacks it here
	answer, err := http.DefaultClient.Do(r)
	require.NoError(b, err)
	defer answer.Body.Close()
	n, err := io.Copy(io.Discard, answer.Body)
	require.NoError(b, err)
	require.Equal(b, http.StatusOK, answer.StatusCode)
	return int(n)
}

// tilesOf are some tiles of a zoom where tracks are.
func tilesOf(tracks []gpstracks.Track, z int) (ids []tile.ID) {
	for i := range 8 {
		line := tracks[i*len(tracks)/8].Lines[0]
		t := maptile.At(line[len(line)/2], maptile.Zoom(z))
		if id := (tile.ID{Z: z, X: int(t.X), Y: int(t.Y)}); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// aRound is how long a round of one way lasts at least, so that each is warm.
const aRound = 30 * time.Millisecond

// inTurns makes all tiles in each way, after a warm round, in turns: the median of the
// rounds' mean times of a tile, in nanoseconds, and its mean bytes.
func inTurns(rounds int, ids []tile.ID, ways ...func(tile.ID) int) (perTile, bytes []float64) {
	spent := make([][]float64, len(ways))
	bytes = make([]float64, len(ways))
	for round := range rounds + 1 {
		for i := range ways {
			way := (i + round) % len(ways) // nobody is always the first
			sum, n, begun := 0, 0, time.Now()
			for n == 0 || time.Since(begun) < aRound {
				for _, id := range ids {
					sum += ways[way](id)
				}
				n += len(ids)
			}
			if round > 0 {
				spent[way] = append(spent[way], float64(time.Since(begun))/float64(n))
			}
			bytes[way] = float64(sum) / float64(n)
		}
	}
	for _, s := range spent {
		slices.Sort(s)
		perTile = append(perTile, s[len(s)/2])
	}
	return perTile, bytes
}
