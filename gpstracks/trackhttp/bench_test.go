package trackhttp

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/paulmach/orb/geojson"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/sample"
)

// BenchmarkList encodes a list of 200 tracks, and beside it the same tracks with
// orb/geojson and encoding/json in the same run, both with every point: ratio is
// how many times longer that takes.
func BenchmarkList(b *testing.B) {
	tracks := sample.Tracks(200, 1)
	var fc geojson.FeatureCollection
	for i, t := range tracks {
		f := geojson.NewFeature(t.Lines[0])
		f.ID, f.Properties = i, geojson.Properties{
			"id": i, "name": t.Name, "activity": string(t.Activity), "source": t.Source, "length_m": int(t.LengthM),
			"recorded_on": t.RecordedOn.Format("2006-01-02"), "url": t.URL, "attribution": t.Attribution,
		}
		fc.Append(f)
	}
	e := featureEncoder{}
	var buffer []byte
	each := func(tracks []gpstracks.Track) {
		buffer = buffer[:0]
		for i := range tracks {
			e.draw(&tracks[i])
			buffer = e.append(buffer, &tracks[i])
		}
	}
	var anchors, owns []time.Duration
	for range 15 { // in turns, as many rounds of both, and the medians
		start := time.Now()
		if _, err := json.Marshal(&fc); err != nil {
			b.Fatal(err)
		}
		anchors = append(anchors, time.Since(start))
		start = time.Now()
		each(tracks)
		owns = append(owns, time.Since(start))
	}
	written := 0
	for _, t := range tracks {
		written += t.Points
	}
	require.Greater(b, len(buffer), 15*written, "every point is written, in about 20 bytes")
	slices.Sort(anchors)
	slices.Sort(owns)
	anchor, own := anchors[len(anchors)/2], owns[len(owns)/2]
	b.ReportAllocs()
	b.SetBytes(int64(len(buffer)))
	b.ResetTimer()
	for range b.N {
		each(tracks)
	}
	b.ReportMetric(float64(anchor)/float64(own), "ratio")
	b.ReportMetric(float64(anchor), "orb-ns/op")
	b.ReportMetric(float64(own), "own-ns/op")
}
