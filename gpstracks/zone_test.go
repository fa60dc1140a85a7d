package gpstracks_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/paulmach/orb"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gpstracks"
)

// wander is a track of steps of up to some metres that begins near a point.
func wander(t *testing.T, rng *rand.Rand, from orb.Point, around, step float64) gpstracks.Track {
	t.Helper()
	const degree = 111_195
	around /= degree
	line := orb.LineString{{math.Remainder(from[0]+(rng.Float64()-0.5)*around, 360), from[1] + (rng.Float64()-0.5)*around}}
	heading := rng.Float64() * 2 * math.Pi
	for range 60 {
		last := line[len(line)-1]
		heading += rng.Float64() - 0.5
		if math.Abs(last[1]) > 86 {
			break
		}
		lon := last[0] + step*math.Cos(heading)/degree/math.Cos(from[1]*math.Pi/180)
		line = append(line, orb.Point{math.Remainder(lon, 360), last[1] + step*math.Sin(heading)/degree})
	}
	var profile []gpstracks.ProfilePoint
	along := 0.0
	for i, p := range line {
		if i > 0 {
			along += gpstracks.Distance(line[i-1], p)
		}
		profile = append(profile, gpstracks.ProfilePoint{AlongM: along, EleM: 100 + 10*float64(i)})
	}
	at := time.Date(2026, 5, 1, 8, 0, 0, 0, time.UTC)
	k, err := gpstracks.Prepare(gpstracks.Track{
		Source: "osm", Lines: orb.MultiLineString{line}, RecordedOn: at, StartedAt: at, EndedAt: at.Add(time.Hour), Moving: time.Hour,
		Elevation: gpstracks.MeasureElevation([][]gpstracks.ProfilePoint{profile}),
	})
	require.NoError(t, err)
	return k
}

// nearest is the least distance of lines from a point, looked for in small steps.
func nearest(lines orb.MultiLineString, p orb.Point) float64 {
	least := math.Inf(1)
	for _, line := range lines {
		for i := 1; i < len(line); i++ {
			a, b := line[i-1], line[i]
			for s := range 101 {
				share := float64(s) / 100
				least = min(least, gpstracks.Distance(p, orb.Point{a[0] + share*(b[0]-a[0]), a[1] + share*(b[1]-a[1])}))
			}
		}
	}
	return least
}

// No line that is left comes into a zone, however sparse its points are, at every latitude and
// across the antimeridian; what lies elsewhere stays.
func TestCut(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 5))
	cuts, gone := 0, 0
	for n := range 600 {
		center := orb.Point{[]float64{7, 180, -179.999, -70}[n%4], []float64{46, 0, 69, -84}[n/4%4]}
		z := gpstracks.Zone{Name: "z", Center: center, RadiusM: []float64{60, 400, 9000}[n%3], Secret: fmt.Sprint(n)}
		require.NoError(t, z.Check())
		k := wander(t, rng, center, 9*z.RadiusM, z.RadiusM*[]float64{0.05, 0.4, 5}[n/3%3])
		cut, changed := gpstracks.Cut(k, []gpstracks.Zone{z})
		again, _ := gpstracks.Cut(k, []gpstracks.Zone{z})
		require.Equal(t, cut, again, "always alike")
		if !changed {
			require.Equal(t, k, cut)
			require.Greater(t, nearest(k.Lines, center), z.RadiusM)
			continue
		}
		cuts++
		require.True(t, cut.StartedAt.IsZero() && cut.EndedAt.IsZero() && cut.Moving == 0)
		if len(cut.Lines) == 0 {
			gone++
			continue
		}
		require.Greater(t, nearest(cut.Lines, center), z.RadiusM)
		require.Less(t, cut.LengthM, k.LengthM)
		left, changed := gpstracks.Cut(cut, []gpstracks.Zone{z})
		require.False(t, changed)
		require.Equal(t, cut, left, "a track that was cut stays as it is")
		if e := cut.Elevation; e != nil {
			require.LessOrEqual(t, e.Profile[len(e.Profile)-1].AlongM, cut.LengthM+2)
			for _, p := range e.Profile {
				require.Contains(t, heights(k), p.EleM)
			}
			require.LessOrEqual(t, e.AscentM, k.Elevation.AscentM+0.1)
		}
	}
	require.Greater(t, cuts, 100)
	require.Greater(t, gone, 3)
}

func heights(t gpstracks.Track) (all []float64) {
	for _, p := range t.Elevation.Profile {
		all = append(all, p.EleM)
	}
	return all
}

// The ends of many tracks that lead to a place do not give the place away: the middle of the
// circle that fits them best is elsewhere, and elsewhere for each secret.
func TestZoneMiddleIsHidden(t *testing.T) {
	t.Parallel()
	const degree, radius = 111_195.0, 500.0
	home := orb.Point{7, 0.001}
	far := 0
	for n := range 20 {
		z := gpstracks.Zone{Name: "z", Center: home, RadiusM: radius, Secret: fmt.Sprint(n)}
		var x, y float64
		for turn := 0; turn < 360; turn += 3 { // straight to the door, a point each five metres
			dx, dy := math.Cos(float64(turn)*math.Pi/180), math.Sin(float64(turn)*math.Pi/180)
			line := orb.LineString{}
			for m := 3000.0; m >= 0; m -= 5 {
				line = append(line, orb.Point{home[0] + m*dx/degree, home[1] + m*dy/degree})
			}
			k, err := gpstracks.Prepare(gpstracks.Track{Source: "osm", Lines: orb.MultiLineString{line}})
			require.NoError(t, err)
			cut, changed := gpstracks.Cut(k, []gpstracks.Zone{z})
			require.True(t, changed)
			line = cut.Lines[0]
			end := line[len(line)-1]
			require.Greater(t, gpstracks.Distance(end, home), radius)
			require.Less(t, gpstracks.Distance(end, home), 2.4*radius)
			x, y = x+(end[0]-home[0])*degree/120, y+(end[1]-home[1])*degree/120
		}
		if math.Hypot(x, y) > 0.05*radius {
			far++
		}
	}
	require.Greater(t, far, 15, "of 20 secrets")
}

// A track that leads to a door ends before it.
func ExampleCut() {
	home := gpstracks.Zone{Name: "home", Center: orb.Point{7, 46}, RadiusM: 300, Secret: "drawn by the store"}
	way := orb.LineString{{7.03, 46}, {7.02, 46}, {7.01, 46}, {7, 46}}
	track, err := gpstracks.Prepare(gpstracks.Track{Source: "local", Lines: orb.MultiLineString{way}})
	if err != nil {
		fmt.Println(err)
		return
	}
	cut, changed := gpstracks.Cut(track, []gpstracks.Zone{home})
	fmt.Println(changed, cut.Lines)
	// Output: true [[[7.03 46] [7.02 46] [7.01 46]]]
}
