package tracksqlite_test

import (
	"database/sql"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/tracksqlite"
	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/memtracks"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
)

// BenchmarkTracksUpsert keeps batches of 1,000 tracks: new ones of 3 and of 200 to
// 3,000 points, in turns with the same rows in plain SQL; known ones, and known ones
// that were seen later. tracks/s is the rate of the calls, after which lists and tiles
// show the tracks; built/s that of the calls and of building every block.
func BenchmarkTracksUpsert(b *testing.B) {
	upsert := func(b *testing.B, s *tracksqlite.Tracks, tracks []gpstracks.Track) (calls, built time.Duration) {
		begun := time.Now()
		for part := range slices.Chunk(tracks, 1000) {
			_, err := s.Upsert(b.Context(), part)
			require.NoError(b, err)
		}
		calls = time.Since(begun)
		require.NoError(b, s.Build(b.Context()))
		return calls, time.Since(begun)
	}
	report := func(b *testing.B, n int, spent map[string]time.Duration) {
		b.ReportMetric(0, "ns/op")
		for unit, d := range spent {
			b.ReportMetric(float64(n*b.N)/d.Seconds(), unit)
		}
	}
	fresh := func(tracks []gpstracks.Track) func(*testing.B) {
		return func(b *testing.B) {
			spent := map[string]time.Duration{}
			for range b.N {
				s := openTracks(b)
				calls, built := upsert(b, s, tracks)
				spent["tracks/s"] += calls
				spent["built/s"] += built
				spent["anchor/s"] += plainRows(b, tracks)
			}
			report(b, len(tracks), spent)
		}
	}
	again := func(tracks []gpstracks.Track, later time.Duration) func(*testing.B) {
		return func(b *testing.B) {
			s := openTracks(b)
			mine := slices.Clone(tracks)
			upsert(b, s, mine)
			spent := map[string]time.Duration{}
			for range b.N {
				for i := range mine {
					mine[i].LastSeenAt = mine[i].LastSeenAt.Add(later)
				}
				calls, _ := upsert(b, s, mine)
				spent["tracks/s"] += calls
			}
			report(b, len(tracks), spent)
		}
	}
	seen := map[string]bool{}
	small := slices.DeleteFunc(short(b, 22_000), func(k gpstracks.Track) bool {
		was := seen[k.Key]
		seen[k.Key] = true
		return was
	})[:20_000]
	b.Run("short", fresh(small))
	b.Run("known", again(small, 0))
	b.Run("seen", again(small, time.Hour))
	b.Run("long", fresh(memtracks.Generate(2000, 1)))
}

// plainRows keeps the rows of tracks as plain SQL does: 1,000 in a transaction, a
// prepared statement for each, a unique key and an R*Tree. No tile can be made of them
// quickly.
func plainRows(b *testing.B, tracks []gpstracks.Track) time.Duration {
	b.Helper()
	path := filepath.Join(b.TempDir(), "anchor.db")
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	require.NoError(b, err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	_, err = db.ExecContext(b.Context(), `create table track (id integer primary key, name text, source text, activity text, url text, attribution text, key text unique,
		length real, seen integer, geometry blob); create virtual table bounds using rtree (id, min_lon, max_lon, min_lat, max_lat)`)
	require.NoError(b, err)
	begun := time.Now()
	for from := 0; from < len(tracks); from += 1000 {
		tx, err := db.BeginTx(b.Context(), nil)
		require.NoError(b, err)
		row, err := tx.PrepareContext(b.Context(), "insert into track values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict (key) do nothing")
		require.NoError(b, err)
		box, err := tx.PrepareContext(b.Context(), "insert into bounds values (?, ?, ?, ?, ?)")
		require.NoError(b, err)
		for i := from; i < from+1000; i++ {
			k := &tracks[i]
			_, err := row.ExecContext(b.Context(), i, k.Name, k.Source, string(k.Activity), k.URL, k.Attribution, k.Key, k.LengthM, k.LastSeenAt.UnixMicro(), gpstracks.AppendLines(nil, k.Lines))
			require.NoError(b, err)
			_, err = box.ExecContext(b.Context(), i, k.Bounds.Min[0], k.Bounds.Max[0], k.Bounds.Min[1], k.Bounds.Max[1])
			require.NoError(b, err)
		}
		require.NoError(b, tx.Commit())
	}
	return time.Since(begun)
}

// BenchmarkTracksTile reads and encodes cold tiles of 4,000 tracks.
func BenchmarkTracksTile(b *testing.B) {
	s := openTracks(b)
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
