package trackpostgres_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/postgres/pgtest"
	"github.com/signalbox-dev/signalbox/adapters/trackpostgres"
	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/memtracks"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
)

// benchTracks is a store on a server of its own that keeps what it commits.
func benchTracks(b *testing.B) (*trackpostgres.Tracks, string) {
	b.Helper()
	url := pgtest.Start(b, pgtest.Options{Durable: true}).URL("postgres")
	return open(b, trackpostgres.Options{URL: url}), url
}

// upsertBench measures one kind of upsert on a server that forgets nothing.
type upsertBench struct {
	*testing.B
	s      *trackpostgres.Tracks
	c      *pgx.Conn
	tracks []gpstracks.Track
	batch  int
}

// upsert keeps all tracks and returns how long the calls took, and how long it was
// until every block was built too.
func (b *upsertBench) upsert() (calls, built time.Duration) {
	begun := time.Now()
	for part := range slices.Chunk(b.tracks, b.batch) {
		_, err := b.s.Upsert(b.Context(), part)
		require.NoError(b, err)
	}
	calls = time.Since(begun)
	require.NoError(b, b.s.Build(b.Context()))
	return calls, time.Since(begun)
}

// anchor keeps the rows of all tracks as plain SQL does: COPY to a temporary table,
// then what the indexes of a table do not know yet. No tile can be made of them
// quickly.
func (b *upsertBench) anchor() time.Duration {
	b.exec("truncate anchor")
	begun := time.Now()
	for from := 0; from < len(b.tracks); from += b.batch {
		err := pgx.BeginFunc(b.Context(), b.c, func(tx pgx.Tx) error {
			if _, err := tx.Exec(b.Context(), "create temp table brought (like anchor including defaults) on commit drop"); err != nil {
				return err
			}
			columns := []string{"id", "source", "external_id", "name", "activity", "url", "attribution", "min_lon", "min_lat", "max_lon", "max_lat", "length_m",
				"metres", "dedupe_key", "points", "last_seen_at", "run_id", "geometry"}
			_, err := tx.CopyFrom(b.Context(), pgx.Identifier{"brought"}, columns, pgx.CopyFromSlice(min(b.batch, len(b.tracks)-from), func(i int) ([]any, error) {
				k := &b.tracks[from+i]
				return []any{int64(from + i), k.Source, k.ExternalID, k.Name, string(k.Activity), k.URL, k.Attribution, k.Bounds.Min[0], k.Bounds.Min[1], k.Bounds.Max[0],
					k.Bounds.Max[1], k.LengthM, k.Cursor().Metres, k.Key, int64(k.Points), k.LastSeenAt, k.RunID, gpstracks.AppendLines(nil, k.Lines)}, nil
			}))
			if err == nil {
				_, err = tx.Exec(b.Context(), "insert into anchor select * from brought on conflict (dedupe_key) do nothing")
			}
			return err
		})
		require.NoError(b, err)
	}
	return time.Since(begun)
}

func (b *upsertBench) exec(query string) {
	_, err := b.c.Exec(b.Context(), query)
	require.NoError(b, err)
}

// BenchmarkTracksUpsert keeps batches of tracks on a server that forgets nothing:
// new ones of 3 and of 200 to 3,000 points, in turns with the same rows in plain SQL;
// known ones, and known ones that were seen later. tracks/s is the rate of the calls,
// after which lists and tiles show the tracks; built/s that of the calls and of
// building every block.
func BenchmarkTracksUpsert(b *testing.B) {
	open := func(b *testing.B, tracks []gpstracks.Track, batch int) *upsertBench {
		s, url := benchTracks(b)
		c, err := pgx.Connect(b.Context(), url)
		require.NoError(b, err)
		b.Cleanup(func() { _ = c.Close(context.Background()) })
		return &upsertBench{b, s, c, tracks, batch}
	}
	report := func(b *testing.B, n int, spent map[string]time.Duration) {
		b.ReportMetric(0, "ns/op")
		for unit, d := range spent {
			b.ReportMetric(float64(n*b.N)/d.Seconds(), unit)
		}
	}
	fresh := func(tracks []gpstracks.Track, batch int) func(*testing.B) {
		return func(bench *testing.B) {
			b := open(bench, tracks, batch)
			b.exec("create table anchor (like signalbox.tracks including defaults including indexes)")
			spent := map[string]time.Duration{}
			for range bench.N {
				b.exec("truncate signalbox.tracks, signalbox.track_geometries, signalbox.track_blocks, signalbox.track_changes")
				b.exec("checkpoint")
				calls, built := b.upsert()
				b.exec("checkpoint")
				spent["tracks/s"] += calls
				spent["built/s"] += built
				spent["anchor/s"] += b.anchor()
			}
			report(bench, len(tracks), spent)
		}
	}
	again := func(tracks []gpstracks.Track, batch int, later time.Duration) func(*testing.B) {
		return func(bench *testing.B) {
			b := open(bench, slices.Clone(tracks), batch)
			b.upsert()
			spent := map[string]time.Duration{}
			for range bench.N {
				for i := range b.tracks {
					b.tracks[i].LastSeenAt = b.tracks[i].LastSeenAt.Add(later)
				}
				calls, _ := b.upsert()
				spent["tracks/s"] += calls
			}
			report(bench, len(tracks), spent)
		}
	}
	small, long := distinct(short(b, 45_000))[:40_000], memtracks.Generate(4000, 1)
	for _, batch := range []int{1000, 5000} {
		b.Run(fmt.Sprintf("short/%d", batch), fresh(small, batch))
		b.Run(fmt.Sprintf("known/%d", batch), again(small, batch, 0))
		b.Run(fmt.Sprintf("seen/%d", batch), again(small, batch, time.Hour))
	}
	b.Run("long/1000", fresh(long, 1000))
}

// distinct leaves out tracks of a key that was there before.
func distinct(tracks []gpstracks.Track) []gpstracks.Track {
	seen := map[string]bool{}
	return slices.DeleteFunc(tracks, func(k gpstracks.Track) bool {
		was := seen[k.Key]
		seen[k.Key] = true
		return was
	})
}

// BenchmarkTracksTile reads and encodes cold tiles of 4,000 tracks.
func BenchmarkTracksTile(b *testing.B) {
	s, _ := benchTracks(b)
	_, err := s.Upsert(b.Context(), memtracks.Generate(4000, 1))
	require.NoError(b, err)
	e := tile.NewEncoder(tile.Limits{})
	for name, id := range map[string]tile.ID{"z5": {Z: 5, X: 16, Y: 11}, "z8": {Z: 8, X: 133, Y: 90}, "z11": {Z: 11, X: 1069, Y: 723}, "z14": {Z: 14, X: 8552, Y: 5784}} {
		b.Run(name, func(b *testing.B) {
			var body []byte
			for b.Loop() {
				body, _, err = e.Encode(b.Context(), body[:0], s, id, gpstracks.Filter{})
				require.NoError(b, err)
			}
			b.ReportMetric(float64(len(body)), "bytes/tile")
		})
	}
}
