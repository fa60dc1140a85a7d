package tile_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/mvt"
	"github.com/paulmach/orb/geojson"
	"github.com/paulmach/orb/maptile"
	"github.com/paulmach/orb/simplify"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/sample"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
)

// stock makes tiles by orb's documented path, of geometry in memory.
type stock struct {
	tracks []gpstracks.Track
	props  []geojson.Properties
}

func newStock(tracks []gpstracks.Track) *stock {
	s := &stock{tracks: tracks}
	for i, t := range tracks {
		s.props = append(s.props, geojson.Properties{
			"id": i + 1, "name": t.Name, "activity": string(t.Activity), "source": t.Source, "length_m": int(t.LengthM),
			"recorded_on": t.RecordedOn.Format("2006-01-02"), "url": t.URL, "attribution": t.Attribution,
		})
	}
	return s
}

// small reports tracks that the Encoder does not draw, so that both draw the same.
func small(id tile.ID, b orb.Bound) bool {
	west, south := mercator(b.Min)
	east, north := mercator(b.Max)
	return max(east-west, south-north)*math.Exp2(float64(id.Z))*tile.Extent < tile.Visible
}

func (s *stock) encode(id tile.ID) ([]byte, error) {
	bounds := id.Bounds()
	fc := geojson.NewFeatureCollection()
	for i, t := range s.tracks {
		if !t.Bounds.Intersects(bounds) || small(id, t.Bounds) {
			continue
		}
		var f *geojson.Feature
		if len(t.Lines) == 1 {
			f = geojson.NewFeature(t.Lines[0].Clone())
		} else {
			f = geojson.NewFeature(t.Lines.Clone())
		}
		f.ID, f.Properties = i+1, s.props[i]
		fc.Append(f)
	}
	layer := mvt.NewLayer(tile.Layer, fc)
	layer.Version = 2
	layer.ProjectToTile(maptile.New(uint32(id.X), uint32(id.Y), maptile.Zoom(id.Z)))
	layer.Clip(orb.Bound{Min: orb.Point{-tile.Buffer, -tile.Buffer}, Max: orb.Point{tile.Extent + tile.Buffer, tile.Extent + tile.Buffer}})
	layer.Simplify(simplify.DouglasPeucker(2))
	layer.RemoveEmpty(1, 1)
	return mvt.Marshal(mvt.Layers{layer})
}

// BenchmarkEncode makes the tiles of each zoom cold, from a store in memory, and
// beside it the same tiles by orb's stock path in the same run: ratio is how many
// times longer that takes. All tracks are drawn by both; there is no cap.
func BenchmarkEncode(b *testing.B) {
	const n = 4000
	tracks := sample.Tracks(n, 1)
	store, ids := loaded(b, n)
	anchor := newStock(tracks)
	e := tile.NewEncoder(tile.Limits{Features: math.MaxInt32, Bytes: math.MaxInt32})
	logs, zooms := 0.0, 0.0
	for z := 5; z <= 14; z++ {
		var at []tile.ID
		for _, id := range ids {
			if id.Z == z {
				at = append(at, id)
			}
		}
		b.Run(fmt.Sprintf("z%d", z), func(b *testing.B) {
			body, bytes := []byte{}, 0
			one := func(id tile.ID) {
				var err error
				body, _, err = e.Encode(b.Context(), body[:0], store, id, gpstracks.Filter{})
				require.NoError(b, err)
			}
			for _, id := range at { // warm
				one(id)
				bytes += len(body)
			}
			stockTime, stockBytes := timed(b, anchor, at)
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				one(at[i%len(at)])
			}
			perTile := float64(b.Elapsed()) / float64(b.N)
			ratio := stockTime / perTile
			b.ReportMetric(ratio, "ratio")
			b.ReportMetric(stockTime, "stock-ns/op")
			b.ReportMetric(float64(bytes/len(at)), "bytes/tile")
			b.ReportMetric(float64(stockBytes/len(at)), "stock-bytes/tile")
			if b.N > 1 {
				b.Logf("z%d: %.0f times orb's stock path, %d tiles", z, ratio, len(at))
			}
			if b.N > 100 {
				logs, zooms = logs+math.Log(ratio), zooms+1
			}
		})
	}
	b.Logf("geometric mean of the ratios: %.0f", math.Exp(logs/zooms))
}

// timed is the mean time and the bytes of the anchor's tiles, the best of three
// rounds.
func timed(b *testing.B, s *stock, ids []tile.ID) (perTile float64, bytes int) {
	best := time.Duration(math.MaxInt64)
	for range 3 {
		bytes = 0
		start := time.Now()
		for _, id := range ids {
			body, err := s.encode(id)
			require.NoError(b, err)
			bytes += len(body)
		}
		best = min(best, time.Since(start))
	}
	return float64(best) / float64(len(ids)), bytes
}
