package tile_test

import (
	"crypto/sha256"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/paulmach/orb"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/sample"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
)

// The bytes of tiles do not change: clients keep them by their hash.
func TestGolden(t *testing.T) {
	t.Parallel()
	tracks := append(sample.Tracks(150, 7), odd(t)...)
	store := sourceOf(t, tracks)
	want := [...]string{
		"a2c5d7c342409652", "0ff771c1b58c88d7", "c7025edf05a4a72c", "6dbe50db4d720c6e", "cfc569c60debf76f", "21ad41e7191571ed",
		"a6f3dc8ef3293c3c", "7da396c66cd308d7", "63021de463beed75", "f1e0d4669f73f568",
		"d3414586cd2f74c4", "4964293bb8bfea3b", "6ec22bf4ac1a597b", "dd36e1c6f5c3bb4d", "65a75ee1b5dfd537", "a80c5b75f5af870c",
		"1bcbbb40b4e503d1", "2f00f7d27d4ea9a4", "45afceb94267e713", "dff7f787ace5af3b",
	}
	all := tile.Limits{Features: math.MaxInt32, Bytes: math.MaxInt32} // what a cap drops depends on the pieces of tracks
	for z := range want {
		h := sha256.New()
		for i := range tracks {
			line := tracks[i].Lines[0]
			id := at(z, line[i*7%len(line)])
			var f gpstracks.Filter
			if i%4 == 2 {
				f = gpstracks.Filter{Activities: []gpstracks.Activity{gpstracks.Hiking, gpstracks.Unknown},
					Sources: []string{"osm", "club"}}
			}
			body, stats, err := tile.NewEncoder(all).Encode(t.Context(), nil, &store, id, f)
			require.NoError(t, err)
			fmt.Fprintln(h, id, stats.Features, len(body))
			_, _ = h.Write(body)
		}
		require.Equal(t, want[z], fmt.Sprintf("%x", h.Sum(nil)[:8]), "zoom %d", z)
	}
}

// odd tracks have several lines, of which some begin where another ended, few or many points,
// steps of any size, and few or many properties.
func odd(t *testing.T) (out []gpstracks.Track) {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 3))
	for i := range 120 {
		p := orb.Point{6 + 4*rng.Float64(), 45 + 3*rng.Float64()}
		k := gpstracks.Track{Source: "osm", ExternalID: fmt.Sprint("odd", i)}
		if i%2 == 0 {
			k.Name, k.Attribution, k.Activity = fmt.Sprintf("odd %d ☃", i), fmt.Sprint("© ", i%40), gpstracks.Activities()[i%4]
		}
		if i%3 == 0 {
			k.URL, k.RecordedOn = fmt.Sprintf("https://example.org/%d", i), time.Date(2024, 1, 1+i, 0, 0, 0, 0, time.UTC)
		}
		scale := math.Pow(10, -5+4.5*rng.Float64())
		for range 1 + i%5 {
			line := orb.LineString{p}
			for range 1 + rng.IntN(1+i*i/8) {
				p = orb.Point{max(-179, min(179, p[0]+scale*rng.NormFloat64())), max(-84, min(84, p[1]+scale*rng.NormFloat64()))}
				line = append(line, p)
			}
			k.Lines = append(k.Lines, line)
			if rng.IntN(2) == 0 {
				p[0] += 0.01
			}
		}
		out = append(out, prepared(t, k)...)
	}
	return out
}
