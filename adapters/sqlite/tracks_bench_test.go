package sqlite_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/memtracks"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
)

// BenchmarkTracksUpsert keeps batches of 1000 tracks: new ones of 3 and of 200 to
// 3,000 points, and known ones. The preparation for tiles is part of it.
func BenchmarkTracksUpsert(b *testing.B) {
	bring := func(tracks []gpstracks.Track, known bool) func(*testing.B) {
		return func(b *testing.B) {
			s, err := benchDB(b).Tracks(b.Context())
			require.NoError(b, err)
			n := 0
			next := func() {
				from := n % len(tracks)
				_, err := s.Upsert(b.Context(), tracks[from:from+1000])
				require.NoError(b, err)
				n += 1000
			}
			if known {
				for n < len(tracks) {
					next()
				}
			}
			b.ResetTimer()
			n = 0
			for b.Loop() {
				if n == len(tracks) && !known {
					b.StopTimer()
					s, err = benchDB(b).Tracks(b.Context())
					require.NoError(b, err)
					n = 0
					b.StartTimer()
				}
				next()
			}
			b.ReportMetric(1000*float64(b.N)/b.Elapsed().Seconds(), "tracks/s")
		}
	}
	small, long := short(b, 20_000), memtracks.Generate(4000, 1)
	b.Run("short", bring(small, false))
	b.Run("long", bring(long, false))
	b.Run("known", bring(long, true))
}

// BenchmarkTracksTile reads and encodes cold tiles of 4,000 tracks.
func BenchmarkTracksTile(b *testing.B) {
	s, err := benchDB(b).Tracks(b.Context())
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
