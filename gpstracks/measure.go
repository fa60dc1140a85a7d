package gpstracks

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"strconv"

	"github.com/paulmach/orb"
)

// earthRadius is the mean radius of the earth in metres (IUGG).
const earthRadius = 6_371_008.8

// Distance is the length in metres of the great circle between two points, by
// the haversine formula.
func Distance(a, b orb.Point) float64 {
	lat1, lat2 := a[1]*math.Pi/180, b[1]*math.Pi/180
	dLat, dLon := math.Sin((lat2-lat1)/2), math.Sin((b[0]-a[0])*math.Pi/360)
	h := dLat*dLat + math.Cos(lat1)*math.Cos(lat2)*dLon*dLon
	return 2 * earthRadius * math.Asin(math.Sqrt(min(h, 1)))
}

// Length is the length of a line in metres.
func length(line orb.LineString) float64 {
	var m float64
	for i := 1; i < len(line); i++ {
		m += Distance(line[i-1], line[i])
	}
	return m
}

// Buckets of dedupeKey.
const (
	keyDegrees = 10_000 // units of 1e-7 degrees: 0.001 degrees
	keyMetres  = 50
)

// dedupeKey returns the key by which a track is another one's duplicate before any cell is looked at: the SHA-256 of the box
// rounded outward, the length rounded and the day. Databases hold it, and removals of earlier versions.
func dedupeKey(t *Track) string {
	day := "unknown"
	if !t.RecordedOn.IsZero() {
		day = t.RecordedOn.UTC().Format("2006-01-02")
	}
	b := append(make([]byte, 0, 96), 'v', '1')
	for _, edge := range [...]int64{
		bucket(t.Bounds.Min[0]), bucket(t.Bounds.Min[1]), -bucket(-t.Bounds.Max[0]), -bucket(-t.Bounds.Max[1]),
		int64(math.Floor(t.LengthM/keyMetres + 0.5)),
	} {
		b = strconv.AppendInt(append(b, '|'), edge, 10)
	}
	b = append(append(b, '|'), day...)
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// fixed is a coordinate in units of 1e-7 degrees.
func fixed(deg float64) int64 { return int64(math.Round(deg * 1e7)) }

// bucket is the one of keyDegrees that a coordinate is in.
func bucket(deg float64) int64 { return int64(math.Floor(float64(fixed(deg)) / keyDegrees)) }
