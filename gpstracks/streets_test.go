package gpstracks_test

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/paulmach/orb"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gpstracks"
)

// Undated rides on the streets of one town are told apart by their ways alone. Streets, not cells, say here which are one.
func TestFalseMerges(t *testing.T) {
	t.Parallel()
	const side, far = 120, 300 / 111_000. // crossings each way, and how far apart
	rides, rng := 20_000, rand.New(rand.NewPCG(7, 8))
	if os.Getenv("SOAK") != "" {
		rides = 1_000_000
	}
	at := func(x, y, wide float64) orb.Point {
		return orb.Point{7 + far*1.44*(x+wide*(rng.Float64()-0.5)), 46 + far*(y+wide*(rng.Float64()-0.5))}
	}
	var crossings [side * side]orb.Point
	var bends [2 * side * side]orb.Point // of the streets to the east and to the north
	for i := range crossings {
		x, y := float64(i%side), float64(i/side)
		crossings[i] = at(x, y, 0.6)
		bends[2*i], bends[2*i+1] = at(x+0.5, y, 0.3), at(x, y+0.5, 0.3)
	}
	var index gpstracks.Index
	var streets [][]int
	merged, wrong, worst := 0, 0, 1.
	for range rides {
		place, heading := rng.IntN(side*side), rng.IntN(4)
		line, way := orb.LineString{crossings[place]}, []int(nil)
		for range 6 + rng.IntN(75) {
			if turn := rng.IntN(10); turn < 3 {
				heading = (heading + 1 + 2*(turn%2)) % 4
			}
			next := place + []int{1, side, -1, -side}[heading]
			if x := place%side + []int{1, 0, -1, 0}[heading]; x < 0 || x == side || next < 0 || next >= side*side {
				heading = (heading + 1) % 4
				continue
			}
			street := 2*min(place, next) + heading%2
			line, way, place = append(line, bends[street], crossings[next]), append(way, street), next
		}
		slices.Sort(way)
		if way = slices.Compact(way); len(way) < 5 {
			continue
		}
		k, err := gpstracks.Prepare(gpstracks.Track{Source: "osm", Lines: orb.MultiLineString{line}})
		require.NoError(t, err)
		k.Key, k.Lines = "", nil
		i := index.Find(&k)
		if i < 0 {
			index.Add(&k)
			streets = append(streets, way)
			continue
		}
		both := 0
		for _, s := range way {
			if _, ok := slices.BinarySearch(streets[i], s); ok {
				both++
			}
		}
		share := float64(both) / float64(max(len(way), len(streets[i])))
		if merged, worst = merged+1, math.Min(worst, share); share < 0.8 {
			wrong++
		}
	}
	t.Logf("of %d rides %d are merged, %d of them with less than eight of ten streets in common, the least with %.2f", rides, merged, wrong, worst)
	require.LessOrEqual(t, wrong, rides/100_000)
}
