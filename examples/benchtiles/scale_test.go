package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/paulmach/orb"
	"github.com/paulmach/orb/maptile"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/postgres/pgtest"
	"github.com/signalbox-dev/signalbox/adapters/trackpostgres"
	"github.com/signalbox-dev/signalbox/adapters/tracksqlite"
	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
)

// A million is behind a flag: it takes long and gigabytes of disk.
var (
	million = flag.Bool("million", false, "measure a million tracks too")
	tracks  = flag.Int("tracks", 200_000, "measure so many tracks")
)

// store is what is measured, and where its bytes are.
type store interface {
	gpstracks.Store
	tile.Source
	Build(context.Context) error
}

// BenchmarkScale fills stores with many tracks of 7 to 100 points in eight valleys,
// 5,000 at a time, and reads from them what a map requests. Memory is bounded by a
// part and by the store.
func BenchmarkScale(b *testing.B) {
	sizes := []int{*tracks}
	if *million {
		sizes = append(sizes, 1_000_000)
	}
	for _, n := range sizes {
		b.Run(fmt.Sprintf("sqlite/%d", n), func(b *testing.B) {
			dir := b.TempDir()
			s, err := tracksqlite.Open(b.Context(), tracksqlite.Options{Path: filepath.Join(dir, "x.db")})
			require.NoError(b, err)
			defer s.Close()
			scale(b, s, n, func() (bytes int64) {
				for _, name := range []string{"x.db", "x.db-wal"} {
					if info, err := os.Stat(filepath.Join(dir, name)); err == nil {
						bytes += info.Size()
					}
				}
				return bytes
			})
		})
		b.Run(fmt.Sprintf("postgresql/%d", n), func(b *testing.B) {
			url := pgtest.Start(b, pgtest.Options{Durable: true}).URL("postgres")
			pool, err := pgxpool.New(b.Context(), url)
			require.NoError(b, err)
			defer pool.Close()
			s, err := trackpostgres.Open(b.Context(), trackpostgres.Options{URL: url})
			require.NoError(b, err)
			defer s.Close()
			scale(b, s, n, func() (bytes int64) {
				require.NoError(b, pool.QueryRow(b.Context(), "select pg_database_size(current_database())").Scan(&bytes))
				return bytes
			})
		})
	}
}

func scale(b *testing.B, s store, n int, disk func() int64) {
	var spent time.Duration
	some := []gpstracks.Track(nil)
	for kept, seed := 0, uint64(1); kept < n; seed++ {
		part := walks(b, min(5000, n-kept), seed)
		begun := time.Now()
		u, err := s.Upsert(b.Context(), part)
		spent += time.Since(begun)
		require.NoError(b, err)
		kept += u.Inserted + u.Duplicates
		some = part
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(n)/spent.Seconds(), "tracks/s")
	begun := time.Now()
	require.NoError(b, s.Build(b.Context()))
	spent += time.Since(begun)
	b.ReportMetric(float64(n)/spent.Seconds(), "built/s")
	b.ReportMetric(float64(disk())/(1<<20), "disk-MB")
	begun = time.Now()
	_, err := s.Upsert(b.Context(), some)
	require.NoError(b, err)
	b.ReportMetric(float64(len(some))/time.Since(begun).Seconds(), "known/s")
	e := tile.NewEncoder(tile.Limits{})
	var body []byte
	for _, z := range []int{5, 8, 11, 14} {
		b.ReportMetric(median(b, some, func(p orb.Point) {
			body, _, err = e.Encode(b.Context(), body[:0], s, at(z, p), gpstracks.Filter{})
			require.NoError(b, err)
		}), fmt.Sprintf("z%d-ms", z))
	}
	b.ReportMetric(median(b, some, func(p orb.Point) {
		view := orb.Bound{Min: orb.Point{p[0] - 0.05, p[1] - 0.03}, Max: orb.Point{p[0] + 0.05, p[1] + 0.03}}
		for _, err := range s.List(b.Context(), gpstracks.Filter{Bounds: []orb.Bound{view}, Limit: 200}) {
			require.NoError(b, err)
		}
	}), "list-ms")
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.HeapInuse)/(1<<20), "heap-MB")
}

// walks makes tracks of 7 to 100 points, 90 to 360 metres apart, that begin near one of
// eight valleys: as memtracks.Generate does with every thirtieth point, without the
// others. Tracks of different seeds are different.
func walks(b *testing.B, n int, seed uint64) []gpstracks.Track {
	rng := rand.New(rand.NewPCG(seed, 1))
	valleys := [...]orb.Point{{7.91, 46.59}, {6.87, 45.92}, {7.75, 46.02}, {11.40, 47.27}, {11.35, 46.50}, {13.55, 46.34}, {6.64, 44.90}, {11.10, 47.49}}
	out := make([]gpstracks.Track, 0, n)
	for i := range n {
		at := valleys[rng.IntN(len(valleys))]
		at[0], at[1] = at[0]+0.15*rng.NormFloat64(), at[1]+0.1*rng.NormFloat64()
		line := make(orb.LineString, 7+rng.IntN(94))
		heading, metres := rng.Float64()*2*math.Pi, 90+270*rng.Float64()
		for j := range line {
			line[j] = orb.Point{math.Round(at[0]*1e7) / 1e7, math.Round(at[1]*1e7) / 1e7}
			heading += rng.NormFloat64()
			step := metres * (0.8 + 0.4*rng.Float64()) / 111_000
			at[0] += step * math.Sin(heading) / 0.69
			at[1] += step * math.Cos(heading)
		}
		activity := gpstracks.Activities()[rng.IntN(4)]
		k, err := gpstracks.Prepare(gpstracks.Track{
			Source: [...]string{"osm", "club", "upload"}[rng.IntN(3)], ExternalID: fmt.Sprintf("%d-%d", seed, i), Activity: activity,
			Name: fmt.Sprintf("%s %d-%d", activity, seed, i), URL: fmt.Sprintf("https://tracks.example/%d/%d", seed, i),
			Attribution: "Generated, in the public domain", RecordedOn: time.Date(2024, 1, 1+rng.IntN(700), 0, 0, 0, 0, time.UTC),
			Lines: orb.MultiLineString{line},
		})
		require.NoError(b, err)
		out = append(out, k)
	}
	return out
}

// median is that of 41 looks at places of tracks, in milliseconds, after a few
// others.
func median(b *testing.B, tracks []gpstracks.Track, look func(orb.Point)) float64 {
	b.Helper()
	var took []float64
	for i := range 49 {
		begun := time.Now()
		look(tracks[i*len(tracks)/49].Lines[0][3])
		if i >= 8 {
			took = append(took, float64(time.Since(begun))/1e6)
		}
	}
	slices.Sort(took)
	return took[len(took)/2]
}

// at is the tile that shows a point.
func at(z int, p orb.Point) tile.ID {
	t := maptile.At(p, maptile.Zoom(z))
	return tile.ID{Z: z, X: int(t.X), Y: int(t.Y)}
}
