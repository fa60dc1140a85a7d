// Package tiles measures cold vector tiles beside pg_tileserv and tegola on this machine, now: the same
// generated tracks on one PostgreSQL with PostGIS (Debian: postgresql-15-postgis-3), asked for over HTTP
// with gzip, in turns. Its rows have the median times of the rounds and the medians of the rounds' ratios.
//
// Every server draws every track: the most features of a tile are not bounded here, and 50,000 in
// pg_tileserv. Neither peer simplifies, nor caches; the layer forgets its cache before each request, and
// does not draw a track that is smaller than a pixel. The peers read a table of LineStrings in EPSG:3857
// with a GiST index, analyzed.
//
// Without their addresses, plain servers stand in for them, which send the statements that they send
// (tegola by its provider mvt_postgis, set up as its documentation shows), with jit=off, which halves
// the time of pg_tileserv's at low zooms. To ask the programs themselves, start them on the bench's
// database and give it their addresses; it fills the table, and waits for them:
//
//	go install github.com/CrunchyData/pg_tileserv@v1.0.11
//	CGO_ENABLED=0 go install github.com/go-spatial/tegola/cmd/tegola@v0.20.0
//	make bench-tiles ARGS="-database postgres://… -pg_tileserv http://localhost:7800/public.lines/{z}/{x}/{y}.pbf?limit=50000 \
//		-tegola http://localhost:8080/maps/tracks/{z}/{x}/{y}.pbf"
//
// It is a module of its own, as bench/queue is.
package tiles

import (
	"compress/gzip"
	"flag"
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
	"github.com/paulmach/orb/encoding/ewkb"
	"github.com/paulmach/orb/encoding/mvt"
	"github.com/paulmach/orb/maptile"
	"github.com/paulmach/orb/project"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/trackpostgres"
	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/sample"
	"github.com/signalbox-dev/signalbox/gpstracks/storetest"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
	"github.com/signalbox-dev/signalbox/gpstracks/trackhttp"
	"github.com/signalbox-dev/signalbox/internal/pgtest"
)

var (
	quick    = flag.Bool("quick", false, "four zooms, fewer and shorter rounds: about two minutes")
	database = flag.String("database", "", "`URL` of a database that may be filled; a scratch server otherwise")
	peers    = [...]struct {
		statement string
		address   *string
	}{
		{`with tile as (select $TILE as clip, $GROUND margin => 256 / 4096.0) as ground),
			drawn as (select ST_AsMVTGeom(ST_Transform(ST_Force2D(t.geom), 3857), tile.clip, 4096, 256) as geom, $COLUMNS
				from public.lines t, tile where ST_Intersects(t.geom, ST_Transform(tile.ground, 3857)) limit 50000)
			select ST_AsMVT(drawn.*, 'public.lines', 4096, 'geom', 'id') from drawn`,
			flag.String("pg_tileserv", standsIn, "`address` of its tiles, with {z}, {x} and {y}")},
		{`select (select ST_AsMVT(q, 'tracks', 4096, 'geom', 'id') from (select ST_AsMVTGeom(geom, $TILE) as geom, $COLUMNS
			from public.lines where geom && $TILE) q)`,
			flag.String("tegola", standsIn, "`address` of its tiles")},
	}
)

const (
	standsIn   = "stand-in"
	simplified = `select ST_AsMVT(q, 'tracks', 4096, 'geom', 'id') from (select ST_AsMVTGeom(geom, $TILE, 4096, 64) as geom, $COLUMNS
		from simplified where geom && $GROUND margin => 64 / 4096.0)) q where geom is not null`
	columns = "id, name, activity, source, length_m, recorded_on, url, attribution"
)

// way makes a tile, cold.
type way func(tile.ID) ([]byte, error)

// TestPeers prints the table.
func TestPeers(t *testing.T) {
	if *database == "" {
		*database = pgtest.Start(t, pgtest.Options{Durable: true}).URL("postgres")
	}
	config, err := pgxpool.ParseConfig(*database)
	require.NoError(t, err)
	config.ConnConfig.RuntimeParams["jit"] = "off"
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	fmt.Printf("| tile | encoder µs | PostGIS / encoder | HTTP µs | pg_tileserv (%s) / own | tegola (%s) / own | features: own, peers |\n"+
		"|---|---|---|---|---|---|---|\n", *peers[0].address, *peers[1].address)
	compare(t, pool, "long", sample.Tracks(4000, 1))
	compare(t, pool, "short", gpstracks.PlanUpsert(sample.Short(47_000, 1, 100), nil).New)
}

// compare prints the rows of some tracks. The encoder has its blocks in memory, and beside it is PostGIS
// on geometry that was simplified for the zoom beforehand; the others are whole requests.
func compare(t *testing.T, pool *pgxpool.Pool, name string, tracks []gpstracks.Track) {
	all := tile.Limits{Features: math.MaxInt32, Bytes: math.MaxInt32}
	memory, encoder := storetest.Memory(t), tile.NewEncoder(all)
	kept, err := trackpostgres.Open(t.Context(), trackpostgres.Options{URL: *database, Schema: "bench_" + name})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, kept.Close()) })
	for part := range slices.Chunk(tracks, 5000) {
		_, err = memory.Upsert(t.Context(), part)
		require.NoError(t, err)
		_, err = kept.Upsert(t.Context(), part)
		require.NoError(t, err)
	}
	require.NoError(t, memory.Build(t.Context()))
	require.NoError(t, kept.Build(t.Context()))
	fill(t, pool, tracks)
	ours, err := trackhttp.New(trackhttp.Options{Store: kept, Tiles: kept, Limits: all})
	require.NoError(t, err)
	own := request(serve(t, ours) + "/api/gps-tracks/tiles/{z}/{x}/{y}.mvt")
	ways := []way{func(id tile.ID) ([]byte, error) {
		body, _, err := encoder.Encode(t.Context(), nil, memory, id, gpstracks.Filter{})
		return body, err
	}, ask(t, pool, simplified), func(id tile.ID) ([]byte, error) {
		ours.Invalidate(orb.Bound{Min: orb.Point{-180, -90}, Max: orb.Point{180, 90}})
		return own(id)
	}}
	for _, p := range peers {
		address := *p.address
		if address == standsIn {
			address = serve(t, standIn(ask(t, pool, p.statement))) + "/{z}/{x}/{y}"
		}
		peer := request(address)
		require.Eventually(t, func() bool { _, err := peer(pick(tracks, 14)[0]); return err == nil }, 5*time.Minute, time.Second, "%s", address)
		ways = append(ways, peer)
	}
	zooms := []int{5, 6, 7, 8, 9, 10, 11, 12, 13, 14}
	if *quick {
		zooms = []int{5, 8, 11, 14}
	}
	var logs [3]float64
	for _, z := range zooms {
		unit := 40075016.685578488 / (tile.Extent * math.Exp2(float64(z))) // in metres
		execute(t, pool, fmt.Sprintf(`drop table if exists simplified; create table simplified as
			select %s, ST_Simplify(geom, %g) as geom from lines
			where greatest(ST_XMax(geom) - ST_XMin(geom), ST_YMax(geom) - ST_YMin(geom)) >= %g;
			create index on simplified using gist (geom); analyze simplified`, columns, 2*unit, tile.Visible*unit))
		ids := pick(tracks, z)
		if z < 9 { // one takes seconds
			ids = ids[:1]
		}
		features := look(t, ids, ways[2:])
		spent := inTurns(t, ids, ways)
		ratios := [...]float64{ratio(spent[1], spent[0]), ratio(spent[3], spent[2]), ratio(spent[4], spent[2])}
		for i, r := range ratios {
			logs[i] += math.Log(r) / float64(len(zooms))
		}
		fmt.Printf("| %s, z%d | %.0f | %.1f | %.0f | %.2f | %.2f | %d, %d, %d |\n", name, z, median(spent[0]), ratios[0],
			median(spent[2]), ratios[1], ratios[2], features[0], features[1], features[2])
	}
	fmt.Printf("| %s, geometric mean | | %.1f | | %.1f | %.1f | |\n", name, math.Exp(logs[0]), math.Exp(logs[1]), math.Exp(logs[2]))
}

// fill writes the table of the peers.
func fill(t *testing.T, pool *pgxpool.Pool, tracks []gpstracks.Track) {
	execute(t, pool, `create extension if not exists postgis;
		create table if not exists lines (id bigint primary key, name text, activity text, source text, length_m bigint, recorded_on text,
			url text, attribution text, geom geometry(LineString, 3857));
		create index if not exists lines_geom on lines using gist (geom); truncate lines`)
	_, err := pool.CopyFrom(t.Context(), pgx.Identifier{"lines"}, strings.Split(columns+", geom", ", "),
		pgx.CopyFromSlice(len(tracks), func(i int) ([]any, error) {
			k := tracks[i]
			line := project.LineString(k.Lines[0].Clone(), project.WGS84.ToMercator) // the generated have one
			return []any{i + 1, k.Name, string(k.Activity), k.Source, int64(k.LengthM), k.RecordedOn.Format(time.DateOnly), k.URL,
				k.Attribution, ewkb.MustMarshal(line, 3857)}, nil
		}))
	require.NoError(t, err)
	execute(t, pool, "vacuum analyze lines")
}

func execute(t *testing.T, pool *pgxpool.Pool, statements string) {
	_, err := pool.Exec(t.Context(), statements)
	require.NoError(t, err)
}

// ask makes tiles by a statement alone.
func ask(t *testing.T, pool *pgxpool.Pool, statement string) way {
	return func(id tile.ID) (body []byte, err error) {
		ground := fmt.Sprintf("ST_TileEnvelope(%d, %d, %d", id.Z, id.X, id.Y)
		q := strings.NewReplacer("$TILE", ground+")", "$GROUND", ground+",", "$COLUMNS", columns).Replace(statement)
		err = pool.QueryRow(t.Context(), q).Scan(&body)
		return body, err
	}
}

func serve(t *testing.T, h http.Handler) string {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// standIn serves the tiles of a way.
func standIn(tiles way) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var id tile.ID
		_, _ = fmt.Sscanf(r.URL.Path, "/%d/%d/%d", &id.Z, &id.X, &id.Y) // all come from pick
		body, err := tiles(id)
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

// request gets tiles of an address as they are sent.
func request(address string) way {
	return func(id tile.ID) ([]byte, error) {
		url := strings.NewReplacer("{z}", fmt.Sprint(id.Z), "{x}", fmt.Sprint(id.X), "{y}", fmt.Sprint(id.Y)).Replace(address)
		r, err := http.NewRequest(http.MethodGet, url, nil)
		if err != nil {
			return nil, err
		}
		r.Header.Set("Accept-Encoding", "gzip") // so that nobody unpacks it here
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return nil, err
		}
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("%s: %s", url, answer.Status)
		}
		return io.ReadAll(answer.Body)
	}
}

// pick returns some tiles of a zoom where tracks are.
func pick(tracks []gpstracks.Track, z int) (ids []tile.ID) {
	for i := range 8 {
		line := tracks[i*len(tracks)/8].Lines[0]
		at := maptile.At(line[len(line)/2], maptile.Zoom(z))
		if id := (tile.ID{Z: z, X: int(at.X), Y: int(at.Y)}); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// look makes all tiles once, and counts their features: none may be empty.
func look(t *testing.T, ids []tile.ID, servers []way) (features [3]int) {
	for i, way := range servers {
		for _, id := range ids {
			body, err := way(id)
			require.NoError(t, err)
			layers, err := mvt.UnmarshalGzipped(body)
			if err != nil { // what is small may be sent as it is
				layers, err = mvt.Unmarshal(body)
			}
			require.NoError(t, err)
			before := features[i]
			for _, layer := range layers {
				if layer.Name != tile.DensityLayer {
					features[i] += len(layer.Features)
				}
			}
			require.Greater(t, features[i], before, "server %d, %v", i, id)
		}
	}
	return features
}

// inTurns makes all tiles in each way, the first of a round being another each time: the mean
// microseconds of a tile in each round. Fast tiles are made in more rounds, of 30 ms a way.
func inTurns(t *testing.T, ids []tile.ID, ways []way) (spent [5][]float64) {
	least, together := 5, 5*time.Second
	if *quick {
		least, together = 3, time.Second
	}
	for round, begun := 0, time.Now(); round < least || time.Since(begun) < together; round++ {
		for i := range ways {
			at, n, begun := (i+round)%len(ways), 0, time.Now()
			for ; n == 0 || time.Since(begun) < 30*time.Millisecond; n += len(ids) {
				for _, id := range ids {
					_, err := ways[at](id)
					require.NoError(t, err)
				}
			}
			spent[at] = append(spent[at], float64(time.Since(begun).Microseconds())/float64(n))
		}
	}
	return spent
}

// ratio is the median of the rounds' ratios.
func ratio(theirs, ours []float64) float64 {
	all := make([]float64, len(ours))
	for i := range all {
		all[i] = theirs[i] / ours[i]
	}
	return median(all)
}

func median(list []float64) float64 { return slices.Sorted(slices.Values(list))[len(list)/2] }
