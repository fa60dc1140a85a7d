package tile_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/paulmach/orb"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
)

// exact is the reference encoder: the track in units of the tile, neither
// simplified nor rounded nor clipped.
func exact(id tile.ID, track orb.MultiLineString) orb.MultiLineString {
	size := math.Exp2(float64(id.Z)) * tile.Extent
	var out orb.MultiLineString
	for _, line := range track {
		var l orb.LineString
		for _, p := range line {
			x, y := mercator(p)
			l = append(l, orb.Point{x*size - float64(id.X)*tile.Extent, y*size - float64(id.Y)*tile.Extent})
		}
		out = append(out, l)
	}
	return out
}

// samples are points along the lines, at most a unit apart, that are in the tile.
func samples(all orb.MultiLineString) []orb.Point {
	var out []orb.Point
	for _, line := range all {
		for i := 1; i < len(line); i++ {
			a, b, ok := inTile(line[i-1], line[i])
			if !ok {
				continue
			}
			n := math.Ceil(math.Hypot(b[0]-a[0], b[1]-a[1])/8) + 1
			for s := 0.0; s <= n; s++ {
				out = append(out, orb.Point{a[0] + (b[0]-a[0])*s/n, a[1] + (b[1]-a[1])*s/n})
			}
		}
	}
	return out
}

// inTile cuts a segment to the tile by Liang and Barsky's algorithm.
func inTile(a, b orb.Point) (orb.Point, orb.Point, bool) {
	from, to := 0.0, 1.0
	for axis := range 2 {
		d := b[axis] - a[axis]
		lo, hi := -a[axis], tile.Extent-a[axis]
		if d == 0 {
			if lo > 0 || hi < 0 {
				return a, b, false
			}
			continue
		}
		from, to = max(from, min(lo/d, hi/d)), min(to, max(lo/d, hi/d))
	}
	at := func(t float64) orb.Point { return orb.Point{a[0] + (b[0]-a[0])*t, a[1] + (b[1]-a[1])*t} }
	return at(from), at(to), from <= to
}

// away is the distance of a point from the nearest line.
func away(p orb.Point, all orb.MultiLineString) float64 {
	best := math.Inf(1)
	for _, line := range all {
		for i := 1; i < len(line); i++ {
			a, b := line[i-1], line[i]
			dx, dy := b[0]-a[0], b[1]-a[1]
			t := 0.0
			if l := dx*dx + dy*dy; l > 0 {
				t = max(0, min(1, ((p[0]-a[0])*dx+(p[1]-a[1])*dy)/l))
			}
			best = min(best, math.Hypot(p[0]-a[0]-t*dx, p[1]-a[1]-t*dy))
		}
	}
	return best
}

// someTrack draws a walk of any scale, almost anywhere.
func someTrack(t *rapid.T) gpstracks.Track {
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	at := orb.Point{rapid.Float64Range(-179, 179).Draw(t, "lon"), rapid.Float64Range(-80, 80).Draw(t, "lat")}
	step := math.Pow(10, rapid.Float64Range(-5, -0.5).Draw(t, "step"))
	var all orb.MultiLineString
	for range rapid.IntRange(1, 2).Draw(t, "lines") {
		var line orb.LineString
		heading := rng.Float64() * 2 * math.Pi
		for range rapid.IntRange(2, 250).Draw(t, "points") {
			heading += rng.NormFloat64()
			at = orb.Point{max(-180, min(180, at[0]+step*math.Cos(heading))), max(-84, min(84, at[1]+step*math.Sin(heading)))}
			line = append(line, at)
		}
		all = append(all, line)
	}
	return gpstracks.Track{Source: "osm", Lines: all}
}

// The tile shows what the track is: each point of a visible track that lies in
// the tile has a line within the tolerance, and the other way about.
func TestCovers(t *testing.T) {
	t.Parallel()
	compared := 0
	rapid.Check(t, func(t *rapid.T) {
		track := prepared(t, someTrack(t))[0]
		z := rapid.IntRange(0, 19).Draw(t, "zoom")
		line := track.Lines[rapid.IntRange(0, len(track.Lines)-1).Draw(t, "line")]
		id := at(z, line[rapid.IntRange(0, len(line)-1).Draw(t, "point")])
		want := exact(id, track.Lines)
		tolerance := tile.Tolerance * math.Exp2(float64(z-id.Level()))
		body, _ := encode(t, tile.Limits{Bytes: 1 << 30}, id, track)
		if len(body) == 0 {
			b := want.Bound()
			small := max(b.Max[0]-b.Min[0], b.Max[1]-b.Min[1]) < tolerance+tile.Visible*math.Exp2(float64(z-id.Level()))
			require.True(t, small || !touches(want), "a visible track is missing in %v", id)
			return
		}
		got := lines(decode(t, body)[0].Geometry)
		compared++
		for _, p := range samples(large(want, tolerance)) {
			require.LessOrEqual(t, away(p, got), tolerance, "%v has no line near %v", id, p)
		}
		for _, p := range samples(got) {
			require.LessOrEqual(t, away(p, want), tolerance, "%v has a line at %v where nobody was", id, p)
		}
		for _, l := range got {
			b := l.Bound()
			require.True(t, b.Min[0] >= -tile.Buffer && b.Min[1] >= -tile.Buffer && b.Max[0] <= tile.Extent+tile.Buffer &&
				b.Max[1] <= tile.Extent+tile.Buffer)
		}
	})
	least := 30
	if testing.Short() { // rapid draws a fifth then
		least = 6
	}
	require.Greater(t, compared, least)
}

// touches reports whether a line comes well into the tile.
func touches(all orb.MultiLineString) bool { return len(samples(all)) > 1 }

// large leaves out lines that are as small as the tolerance.
func large(all orb.MultiLineString, tolerance float64) (out orb.MultiLineString) {
	for _, l := range all {
		if b := l.Bound(); max(b.Max[0]-b.Min[0], b.Max[1]-b.Min[1]) > tolerance {
			out = append(out, l)
		}
	}
	return out
}

// Neighbours meet: where a line leaves a tile, the next tile has it too.
func TestNeighboursMeet(t *testing.T) {
	t.Parallel()
	met := [2]int{}
	rapid.Check(t, func(t *rapid.T) {
		track := prepared(t, someTrack(t))[0]
		z := rapid.IntRange(3, 15).Draw(t, "zoom")
		line := track.Lines[0]
		left := at(z, line[rapid.IntRange(0, len(line)-1).Draw(t, "point")])
		axis := rapid.IntRange(0, 1).Draw(t, "axis") // to the right, or below
		right := tile.ID{Z: z, X: left.X + 1 - axis, Y: left.Y + axis}
		if !right.Valid() {
			return
		}
		a, _ := encode(t, tile.Limits{Bytes: 1 << 30}, left, track)
		b, _ := encode(t, tile.Limits{Bytes: 1 << 30}, right, track)
		if len(a) == 0 {
			return
		}
		there := lines(features(t, b))
		for _, y := range crossings(lines(features(t, a)), tile.Extent, axis) {
			p := orb.Point{}
			p[1-axis] = y
			require.LessOrEqual(t, away(p, there), 1.0, "%v leaves at %v, %v has %v", left, y, right, there)
			met[axis]++
		}
	})
	if !testing.Short() { // a few draws may have none
		require.Positive(t, met[0])
		require.Positive(t, met[1])
	}
}

// features is the geometry of the only feature, if there is one.
func features(t require.TestingT, body []byte) orb.Geometry {
	if len(body) == 0 {
		return nil
	}
	return decode(t, body)[0].Geometry
}

// crossings are the heights at which lines cross a column within the tile, or with
// axis 1 the places along a row.
func crossings(all orb.MultiLineString, column float64, axis int) (out []float64) {
	for _, l := range all {
		for i := 1; i < len(l); i++ {
			a, b := l[i-1], l[i]
			if (a[axis]-column)*(b[axis]-column) >= 0 {
				continue
			}
			if y := a[1-axis] + (b[1-axis]-a[1-axis])*(column-a[axis])/(b[axis]-a[axis]); y > 0 && y < tile.Extent {
				out = append(out, y)
			}
		}
	}
	return out
}
