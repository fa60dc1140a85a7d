package trackstore_test

import (
	"flag"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/maptile"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/sample"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
	"github.com/signalbox-dev/signalbox/internal/pgtest"
)

var many = flag.Int("tracks", 200_000, "measure so many tracks of 3 to 100 points; a million takes long and gigabytes of disk")

// atOnce is the number of tracks of a call.
const atOnce = 1000

// BenchmarkStore fills stores that forget nothing with tracks, part by part, brings the last part again,
// and reads what a map requests. tracks/s is the rate of the calls, after which lists and tiles show the
// tracks; built/s that of the calls and of building every block; anchor/s that of the same rows in plain
// SQL, of which no tile can be made quickly.
func BenchmarkStore(b *testing.B) {
	for name, e := range engines() {
		for kind, parts := range map[string]func(yield func([]gpstracks.Track) bool){
			"3 points":            slices.Chunk(sample.Short(20_000, 1, 3), atOnce),
			"200 to 3,000 points": slices.Chunk(sample.Tracks(2000, 1), atOnce),
			fmt.Sprint("of ", *many): func(yield func([]gpstracks.Track) bool) {
				for seed := range *many / atOnce {
					if !yield(sample.Short(atOnce, uint64(seed), 100)) {
						return
					}
				}
			},
		} {
			b.Run(name+"/"+kind, func(b *testing.B) {
				e := e
				e.where = e.place(b)
				if name == "PostgreSQL" {
					e.where = pgtest.Start(b, pgtest.Options{Durable: true}).URL("postgres")
					e.raw = e.query(b, e.where)
				} else {
					e.raw = e.query(b, e.place(b)) // the anchor waits for no other writer
				}
				defer e.raw.Close()
				e.measure(b, parts)
			})
		}
	}
}

func (e engine) measure(b *testing.B, parts func(yield func([]gpstracks.Track) bool)) {
	s := e.reopen(b)
	_, err := e.raw.ExecContext(b.Context(), `create table plain (id bigint primary key, lon float, lat float, name text, source text, `+
		`activity text, url text,
		key text unique, length float, line bytea); create index plain_place on plain (lon, lat)`)
	require.NoError(b, err)
	var some []gpstracks.Track
	var calls, built, anchor time.Duration
	n := 0
	for part := range parts {
		calls += timed(func() { upsert(b, s, part) })
		anchor += timed(func() { require.NoError(b, e.plain(b, n, part)) })
		some, n = part, n+len(part)
	}
	built = calls + timed(func() { require.NoError(b, s.Build(b.Context())) })
	b.ReportMetric(0, "ns/op")
	for unit, d := range map[string]time.Duration{"tracks/s": calls, "built/s": built, "anchor/s": anchor} {
		b.ReportMetric(float64(n)/d.Seconds(), unit)
	}
	b.ReportMetric(float64(len(some))/timed(func() { upsert(b, s, some) }).Seconds(), "known/s")
	encoder := tile.NewEncoder(tile.Limits{})
	var body []byte
	for _, z := range []maptile.Zoom{5, 8, 11, 14} {
		b.ReportMetric(median(some, func(p orb.Point) {
			at := maptile.At(p, z)
			body, _, err = encoder.Encode(b.Context(), body[:0], s, tile.ID{Z: int(z), X: int(at.X), Y: int(at.Y)}, gpstracks.Filter{})
			require.NoError(b, err)
		}), fmt.Sprintf("z%d-ms", z))
	}
	b.ReportMetric(median(some, func(p orb.Point) {
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

func timed(f func()) time.Duration {
	begun := time.Now()
	f()
	return time.Since(begun)
}

// median is that of 41 looks at places of tracks, in milliseconds, after a few others.
func median(tracks []gpstracks.Track, look func(orb.Point)) float64 {
	var took []float64
	for i := range 49 {
		took = append(took, float64(timed(func() { look(tracks[i*len(tracks)/49].Lines[0][1]) }))/1e6)
	}
	took = took[8:]
	slices.Sort(took)
	return took[len(took)/2]
}

// plain keeps the rows of tracks as plain SQL does: in one transaction, with a prepared statement, a
// unique key and an index of places.
func (e engine) plain(b *testing.B, from int, tracks []gpstracks.Track) error {
	tx, err := e.raw.BeginTx(b.Context(), nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // nothing, if it was committed
	const insert = "insert into plain values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) on conflict (key) do nothing"
	row, err := tx.PrepareContext(b.Context(), insert)
	if err != nil {
		return err
	}
	defer row.Close()
	for i := 0; i < len(tracks) && err == nil; i++ {
		k := &tracks[i]
		_, err = row.ExecContext(b.Context(), from+i, k.Bounds.Min[0], k.Bounds.Min[1], k.Name, k.Source, string(k.Activity), k.URL, k.Key,
			k.LengthM, gpstracks.AppendLines(nil, k.Lines))
	}
	if err != nil {
		return err
	}
	return tx.Commit()
}
