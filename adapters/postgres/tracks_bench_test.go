package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/memtracks"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
)

// BenchmarkTracksUpsert keeps batches of tracks on a server that forgets nothing:
// new ones of 3 and of 200 to 3,000 points, known ones, and known ones that were
// seen later. The preparation for tiles is part of it.
func BenchmarkTracksUpsert(b *testing.B) {
	bring := func(tracks []gpstracks.Track, batch int, known, seen bool) func(*testing.B) {
		return func(b *testing.B) {
			db, url := benchDB(b)
			s, err := db.Tracks(b.Context())
			require.NoError(b, err)
			c, err := pgx.Connect(b.Context(), url)
			require.NoError(b, err)
			defer c.Close(b.Context())
			all := func() {
				for from := 0; from < len(tracks); from += batch {
					_, err := s.Upsert(b.Context(), tracks[from:from+batch])
					require.NoError(b, err)
				}
			}
			if known {
				all()
			}
			b.ResetTimer()
			for b.Loop() {
				b.StopTimer()
				if !known {
					_, err := c.Exec(b.Context(), "truncate signalbox.tracks, signalbox.track_geometries, signalbox.track_blocks, signalbox.track_tiers, signalbox.track_changes")
					require.NoError(b, err)
				}
				for i := range tracks {
					if seen {
						tracks[i].LastSeenAt = tracks[i].LastSeenAt.Add(time.Hour)
					}
				}
				b.StartTimer()
				all()
			}
			b.ReportMetric(float64(len(tracks)*b.N)/b.Elapsed().Seconds(), "tracks/s")
		}
	}
	small, long := short(b, 20_000), memtracks.Generate(4000, 1)
	for _, batch := range []int{1000, 5000} {
		b.Run(fmt.Sprintf("short/%d", batch), bring(small, batch, false, false))
		b.Run(fmt.Sprintf("known/%d", batch), bring(small, batch, true, false))
		b.Run(fmt.Sprintf("seen/%d", batch), bring(small, batch, true, true))
	}
	b.Run("long/1000", bring(long, 1000, false, false))
}

// BenchmarkTracksTile reads and encodes cold tiles of 4,000 tracks.
func BenchmarkTracksTile(b *testing.B) {
	db, _ := benchDB(b)
	s, err := db.Tracks(b.Context())
	require.NoError(b, err)
	_, err = s.Upsert(b.Context(), memtracks.Generate(4000, 1))
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
