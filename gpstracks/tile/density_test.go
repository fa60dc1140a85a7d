package tile_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/mvt"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/sample"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
)

// crowd makes tracks of any size: wanderings, odd ones of several lines, many that
// are smaller than a pixel, and some at the edges of the world.
func crowd(t *testing.T) (source, []gpstracks.Track) {
	t.Helper()
	tracks := append(sample.Tracks(200, 5), odd(t)...)
	for i := range 1500 {
		at := orb.Point{8 + float64(i*7919%1500)/3000, 47 + float64(i*104729%1500)/4000}
		k := gpstracks.Track{Source: [...]string{"osm", "club"}[i%2], ExternalID: fmt.Sprint(i), Activity: gpstracks.Activities()[i%3],
			Attribution: "© all"}
		k.Lines = orb.MultiLineString{{at, {at[0] + 1e-4, at[1] + 1e-4}}, {{at[0], at[1] + 2e-4}, {at[0] + 3e-4, at[1]}}}
		if i < 4 { // at the corners of the world
			x, y := [...]float64{-180, 179.999}[i%2], [...]float64{-89, 88}[i/2]
			k.Lines = orb.MultiLineString{{{x, y}, {x + 1e-3, y + 1e-3}}}
		}
		tracks = append(tracks, prepared(t, k)...)
	}
	return sourceOf(t, tracks), tracks
}

// cellsOf are the cells of a zoom that a track passes through, the first one first: of the middle of each piece
// between two edges of cells.
func cellsOf(k *gpstracks.Track, z int) (all [][2]int) {
	n, seen := math.Exp2(float64(z))*64, map[[2]int]bool{}
	cell := func(x, y float64) {
		at := [2]int{int(max(0, min(n-1, math.Floor(x)))), int(max(0, min(n-1, math.Floor(y))))}
		if !seen[at] {
			seen[at], all = true, append(all, at)
		}
	}
	inside := func(p orb.Point) (x, y float64) {
		x, y = mercator(orb.Point{p[0], max(-85.0511287798, min(85.0511287798, p[1]))})
		return x * n, y * n
	}
	for _, line := range k.Lines {
		for i := 1; i < len(line); i++ {
			x0, y0 := inside(line[i-1])
			x1, y1 := inside(line[i])
			cuts := []float64{0, 1}
			for _, d := range [][2]float64{{x0, x1}, {y0, y1}} {
				for edge := math.Ceil(min(d[0], d[1])); edge <= max(d[0], d[1]) && d[0] != d[1]; edge++ {
					cuts = append(cuts, (edge-d[0])/(d[1]-d[0]))
				}
			}
			slices.Sort(cuts)
			for j := 1; j < len(cuts); j++ {
				if m := (cuts[j-1] + cuts[j]) / 2; j == 1 || cuts[j]-cuts[j-1] > 1e-12 {
					cell(x0+m*(x1-x0), y0+m*(y1-y0))
				}
			}
		}
	}
	return all
}

// A cell counts the tracks that pass through it, each once, by activity and source, and those that start in it; also
// under a filter, and after tracks have gone.
func TestDensity(t *testing.T) {
	t.Parallel()
	_, all := crowd(t)
	testDensity(t, all[:900], tile.DensityZoom+1)
	testDensity(t, prepared(t, along(-80, 10, 10, 60, 90, -20),
		along(-180, 1.1, -10.2, -88.7, 179.99, 88),
		along(-80, 10, 9, 61)), 3)
}

func testDensity(t *testing.T, all []gpstracks.Track, zoom int) {
	t.Helper()
	few := min(150, len(all)/3)
	gone, tracks := all[:few], all[few:]
	came, err := tile.Build(t.Context(), nil, all, nil)
	require.NoError(t, err)
	went, err := tile.Build(t.Context(), nil, nil, gone)
	require.NoError(t, err)
	var store source
	for _, b := range slices.Concat(came, went) {
		store[b.Level] = append(store[b.Level], b)
	}
	for level := tile.Totals; level < len(store)/2; level++ { // some of them are put together
		var features []tile.Feature
		for _, b := range store[level] {
			own, err := tile.BlockFeatures(b.Data)
			require.NoError(t, err)
			if own[0].Level == level && level%2 == 0 {
				features = append(features, own...)
			}
		}
		if len(features) > 0 {
			store[level] = tile.Blocks(level, 1, features)
		}
	}
	for _, f := range []gpstracks.Filter{{}, {Activities: []gpstracks.Activity{gpstracks.Hiking}, Sources: []string{"club", "osm"}}} {
		for z := range zoom + 1 {
			want, got := map[[2]int]map[string]int{}, map[[2]int]map[string]int{}
			ids, starts := map[tile.ID]bool{}, 0
			for i := range tracks {
				if !f.Match(&tracks[i]) {
					continue
				}
				starts++
				kind := string(tracks[i].Activity) + "/" + tracks[i].Source
				for j, at := range cellsOf(&tracks[i], z) {
					ids[tile.ID{Z: z, X: at[0] / 64, Y: at[1] / 64}] = true
					if z <= tile.DensityZoom {
						tally(want, at, kind, 1)
						if j == 0 {
							tally(want, at, kind+"/starts", 1)
						}
					}
				}
			}
			for id := range ids {
				body, _, err := tile.NewEncoder(tile.Limits{}).Encode(t.Context(), nil, &store, id, f)
				require.NoError(t, err)
				layers, err := mvt.Unmarshal(body)
				require.NoError(t, err)
				for _, l := range layers {
					if l.Name != tile.DensityLayer {
						continue
					}
					require.EqualValues(t, tile.Extent, l.Extent)
					require.EqualValues(t, 2, l.Version)
					for _, one := range l.Features {
						p, ok := one.Geometry.(orb.Point)
						require.True(t, ok)
						require.Equal(t, orb.Point{32, 32}, orb.Point{math.Mod(p[0], 64), math.Mod(p[1], 64)})
						at := [2]int{id.X*64 + int(p[0])/64, id.Y*64 + int(p[1])/64}
						require.Nil(t, got[at], "a cell has one point")
						sum := 0
						for key, n := range one.Properties {
							if strings.Contains(key, "/") {
								tally(got, at, key, int(n.(float64)))
							}
							if strings.Count(key, "/") == 1 {
								sum += int(n.(float64))
							} else if strings.HasSuffix(key, "/starts") {
								starts -= int(n.(float64))
							}
						}
						require.EqualValues(t, sum, one.Properties["count"])
						require.Equal(t, strongest(got[at]), one.Properties["activity"])
					}
				}
			}
			require.Equal(t, want, got, "zoom %d", z)
			require.True(t, starts == 0 || z > tile.DensityZoom, "each track starts in one cell: %d of zoom %d do not", starts, z)
		}
	}
}

func tally[K comparable](all map[K]map[string]int, at K, key string, n int) {
	if all[at] == nil {
		all[at] = map[string]int{}
	}
	all[at][key] += n
}

// strongest is the most frequent activity of a cell, of equal ones the first by name.
func strongest(kinds map[string]int) string {
	n := map[string]int{}
	for key, tracks := range kinds {
		if activity, source, _ := strings.Cut(key, "/"); !strings.Contains(source, "/") {
			n[activity] += tracks
		}
	}
	return slices.MaxFunc(slices.Sorted(maps.Keys(n)), func(a, b string) int { return n[a] - n[b] })
}

// A crowd in every cell of a tile, of many kinds, stays within bytes and loses nobody.
func TestDensityIsBounded(t *testing.T) {
	t.Parallel()
	var tracks []gpstracks.Track
	for x := range 128 {
		for y := range 128 {
			at := orb.Point{(float64(x)+0.5)/128*360/16 - 180, 60 + float64(y)/128*5}
			tracks = append(tracks, prepared(t, gpstracks.Track{
				Source: fmt.Sprint("s", (x*31+y*17)%97), Activity: gpstracks.Activities()[(x+y)%8],
				Lines: orb.MultiLineString{{at, {at[0] + 1e-3, at[1] + 1e-3}}},
			})...)
		}
	}
	store := sourceOf(t, tracks)
	for z := range tile.DensityZoom {
		id := at(z, orb.Point{-170, 62})
		body, stats, err := tile.NewEncoder(tile.Limits{}).Encode(t.Context(), nil, &store, id, gpstracks.Filter{})
		require.NoError(t, err)
		if stats.Features > 0 {
			continue
		}
		require.LessOrEqual(t, len(body), 1<<17+1<<15) // values and names of keys apart
		layers, err := mvt.Unmarshal(body)
		require.NoError(t, err)
		n, want := 0, 0
		for _, f := range layers[0].Features {
			for key, starts := range f.Properties {
				if strings.HasSuffix(key, "/starts") {
					n += int(starts.(float64))
				}
			}
		}
		for i := range tracks {
			if at(z, tracks[i].Lines[0][0]) == id {
				want++
			}
		}
		require.Equal(t, want, n)
	}
}

func TestSummarize(t *testing.T) {
	t.Parallel()
	_, tracks := crowd(t)
	near, err := gpstracks.Prepare(gpstracks.Track{Source: "near", Lines: orb.MultiLineString{{{12, 48}, {12.002, 48.002}}}})
	require.NoError(t, err)
	tracks = append(tracks, near)
	store := sourceOf(t, tracks)
	s, err := tile.Summarize(t.Context(), &store, gpstracks.Filter{})
	require.NoError(t, err)
	want := tracks[0].Bounds
	names := map[string]bool{}
	for i := range tracks {
		want = want.Union(tracks[i].Bounds)
		if tracks[i].Attribution != "" {
			names[tracks[i].Attribution] = true
		}
	}
	require.Len(t, tracks, s.Tracks)
	require.ElementsMatch(t, slices.Collect(maps.Keys(names)), s.Attributions)
	require.Equal(t, "© all", s.Attributions[0], "the most frequent one")
	require.InDelta(t, want.Min[0], s.Bounds.Min[0], 6)
	require.InDelta(t, min(180, want.Max[0]), s.Bounds.Max[0], 6)
	few, err := tile.Summarize(t.Context(), &store, gpstracks.Filter{Sources: []string{"near"}})
	require.NoError(t, err)
	require.Equal(t, 1, few.Tracks)
	require.True(t, few.Bounds.Contains(orb.Point{12, 48}) && few.Bounds.Contains(orb.Point{12.002, 48.002}), few.Bounds)
	require.Less(t, few.Bounds.Max[0]-few.Bounds.Min[0], 0.03)
	none, err := tile.Summarize(t.Context(), &source{}, gpstracks.Filter{})
	require.NoError(t, err)
	require.Zero(t, none)
}
