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

	"github.com/signalbox-dev/signalbox/adapters/trackpostgres"
	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/sample"
	"github.com/signalbox-dev/signalbox/gpstracks/storetest"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
	"github.com/signalbox-dev/signalbox/gpstracks/trackhttp"
	"github.com/signalbox-dev/signalbox/internal/pgtest"
)

// BenchmarkPeers makes the same cold tiles in several ways, on one server, in one run, in turns. All
// tracks are drawn by each. Times are medians of as many rounds; each ratio is to the way of this layer
// that it names. encoder is it with blocks in memory; prepared/encoder is PostGIS by ST_AsMVT on geometry
// that was simplified for the zoom beforehand. The others are whole requests over HTTP with gzip: own is
// this layer's; transforming/own and projected/own are plain tile servers, written for this after what
// well-known ones do by themselves: one sends the statement of pg_tileserv (geometry as it was stored, in
// degrees, a margin of 256 units, at most 10,000 tracks), the other that of a layer of tegola of the kind
// mvt_postgis (geometry stored in the map's projection, a margin of 64).
func BenchmarkPeers(b *testing.B) {
	for name, tracks := range map[string][]gpstracks.Track{
		"long": sample.Tracks(4000, 1), "short": gpstracks.PlanUpsert(sample.Short(47_000, 1, 100), nil).New,
	} {
		kept, pool := withPostGIS(b, tracks)
		ours, err := trackhttp.New(trackhttp.Options{Store: kept, Tiles: kept, Limits: everyTrack()})
		require.NoError(b, err)
		memory := storetest.Memory(b)
		_, err = memory.Upsert(b.Context(), tracks)
		require.NoError(b, err)
		e := tile.NewEncoder(everyTrack())
		ways := []func(tile.ID) int{func(id tile.ID) int {
			body, _, err := e.Encode(b.Context(), nil, memory, id, gpstracks.Filter{})
			require.NoError(b, err)
			return len(body)
		}, nil}
		for _, h := range []http.Handler{
			ours,
			plainTiles(pool, fmt.Sprintf(asMVT, "ST_Transform(geom, 3857)", 256, "gis",
				"ST_Intersects(geom, ST_Transform("+envelope(256)+", 4326)) limit 10000")),
			plainTiles(pool, fmt.Sprintf(asMVT, "geom", 64, "mercator", "geom && "+envelope(64))),
		} {
			server := httptest.NewServer(h)
			b.Cleanup(server.Close)
			ways = append(ways, func(id tile.ID) int {
				ours.Invalidate(orb.Bound{Min: orb.Point{-180, -90}, Max: orb.Point{180, 90}})
				return fetch(b, fmt.Sprintf("%s/api/gps-tracks/tiles/%d/%d/%d.mvt", server.URL, id.Z, id.X, id.Y))
			})
		}
		var logs [3]float64
		for z := 5; z <= 14; z++ {
			ids := tilesOf(tracks, z)
			if z < 9 { // one takes seconds
				ids = ids[:1]
			}
			unit := mercatorWidth / (tile.Extent * math.Exp2(float64(z)))
			execute(b, pool, fmt.Sprintf(`create table gis_z%d as %s ST_Simplify(geom, %g) as geom from mercator
				where greatest(ST_XMax(geom) - ST_XMin(geom), ST_YMax(geom) - ST_YMin(geom)) >= %g`, z, gisColumns, 2*unit,
				tile.Visible*unit),
				fmt.Sprintf("create index on gis_z%d using gist (geom)", z), fmt.Sprintf("vacuum analyze gis_z%d", z))
			prepared := fmt.Sprintf(asMVT, "geom", 64, fmt.Sprintf("gis_z%d", z), "geom && "+envelope(64))
			if z > 10 { // tiles are a small part of the ground
				requireIndex(b, pool, prepared, ids[0])
			}
			ways[1] = func(id tile.ID) int {
				var body []byte
				require.NoError(b, pool.QueryRow(b.Context(), prepared, id.Z, id.X, id.Y).Scan(&body))
				return len(body)
			}
			b.Run(fmt.Sprintf("%s/z%d", name, z), func(b *testing.B) {
				for range b.N {
					times, bytes := inTurns(5, ids, ways...)
					b.ReportMetric(0, "ns/op")
					ratios := [...]float64{times[1] / times[0], times[3] / times[2], times[4] / times[2]}
					for i, name := range []string{"prepared/encoder", "transforming/own", "projected/own"} {
						b.ReportMetric(ratios[i], name)
						logs[i] += math.Log(ratios[i]) / float64(10*b.N)
					}
					for i, way := range []string{"encoder", "prepared", "own", "transforming", "projected"} {
						b.ReportMetric(times[i]/1000, way+"-µs")
						b.ReportMetric(bytes[i], way+"-bytes")
					}
				}
			})
		}
		b.Logf("geometric means of the ratios of %s: %.1f, %.1f, %.1f", name, math.Exp(logs[0]), math.Exp(logs[1]), math.Exp(logs[2]))
	}
}

func everyTrack() tile.Limits { return tile.Limits{Features: math.MaxInt32, Bytes: math.MaxInt32} }

// withPostGIS keeps tracks in a store, and on the same server as they are in gis, and projected
// in mercator.
func withPostGIS(b *testing.B, tracks []gpstracks.Track) (*trackpostgres.Tracks, *pgxpool.Pool) {
	b.Helper()
	server := pgtest.Start(b, pgtest.Options{Durable: true})
	pool, err := pgxpool.New(b.Context(), server.URL("postgres"))
	require.NoError(b, err)
	b.Cleanup(pool.Close)
	if _, err := pool.Exec(b.Context(), "create extension postgis"); err != nil {
		b.Skip("PostGIS is not installed (Debian: postgresql-15-postgis-3)")
	}
	kept := open(b, trackpostgres.Options{URL: server.URL("postgres")})
	for part := range slices.Chunk(tracks, 5000) {
		_, err = kept.Upsert(b.Context(), part)
		require.NoError(b, err)
	}
	require.NoError(b, kept.Build(b.Context()))
	loadPostGIS(b, pool, tracks)
	return kept, pool
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
		ST_AsMVTGeom(%s, ST_TileEnvelope($1::integer, $2::integer, $3::integer), 4096, %d, true) as geom
	from %s where %s) t where geom is not null`

// envelope is the ground of the tile with its margin in units: what an index is asked for.
func envelope(margin int) string {
	return fmt.Sprintf("ST_TileEnvelope($1::integer, $2::integer, $3::integer, margin => %d / 4096.0)", margin)
}

const (
	gisColumns    = "select id, name, activity, source, length_m, recorded_on, url, attribution, "
	mercatorWidth = 40075016.685578488 // metres
)

func execute(b *testing.B, pool *pgxpool.Pool, queries ...string) {
	b.Helper()
	for _, query := range queries {
		_, err := pool.Exec(b.Context(), query)
		require.NoError(b, err)
	}
}

func loadPostGIS(b *testing.B, pool *pgxpool.Pool, tracks []gpstracks.Track) {
	b.Helper()
	execute(b, pool, "create table raw (id bigint, name text, activity text, source text, length_m bigint, recorded_on text, url text, "+
		"attribution text, wkb bytea)")
	_, err := pool.CopyFrom(b.Context(), pgx.Identifier{"raw"}, []string{"id", "name", "activity", "source", "length_m", "recorded_on",
		"url", "attribution", "wkb"},
		pgx.CopyFromSlice(len(tracks), func(i int) ([]any, error) {
			t := tracks[i]
			line, err := wkb.Marshal(t.Lines)
			return []any{int64(i + 1), t.Name, string(t.Activity), t.Source, int64(t.LengthM), t.RecordedOn.Format(time.DateOnly), t.URL,
				t.Attribution, line}, err
		}))
	require.NoError(b, err)
	execute(b, pool, "create table gis as "+gisColumns+"ST_LineMerge(ST_GeomFromWKB(wkb, 4326)) as geom from raw",
		"create index on gis using gist (geom)",
		"create table mercator as "+gisColumns+"ST_Transform(geom, 3857) as geom from gis", "create index on mercator using gist (geom)",
		"vacuum analyze")
}

// plainTiles serves tiles with one query each, and gzip.
func plainTiles(pool *pgxpool.Pool, query string) http.Handler {
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
		_, _ = z.Write(body) // a client that is cut off sees it
		_ = z.Close()
	})
}

// fetch gets a tile and returns how many bytes came.
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

// aRound is the least duration of a round of one way, so that each is warm.
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
