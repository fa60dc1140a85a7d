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
		k, err := gpstracks.Prepare(k)
		require.NoError(t, err)
		tracks = append(tracks, k)
	}
	return sourceOf(t, tracks), tracks
}

// middle is the point that a track is counted at.
func middle(k *gpstracks.Track) orb.Point { return slices.Concat(k.Lines...)[k.Points/2] }

// Every track is counted in one cell of each zoom, the one that holds its middle point, by
// activity and source; also under a filter.
func TestDensity(t *testing.T) {
	t.Parallel()
	store, tracks := crowd(t)
	for _, f := range []gpstracks.Filter{{}, {Activities: []gpstracks.Activity{gpstracks.Hiking}, Sources: []string{"club", "osm"}}} {
		for z := range tile.DensityZoom + 3 {
			type cell struct {
				id   tile.ID
				x, y int
			}
			want, got := map[cell]map[string]int{}, map[cell]map[string]int{}
			ids := map[tile.ID]bool{}
			for i := range tracks {
				p := middle(&tracks[i])
				id := at(z, p)
				ids[id] = true
				x, y := mercator(p)
				unit := func(v float64, corner int) int {
					return min(63, max(0, int(math.Floor((v*math.Exp2(float64(z))-float64(corner))*64))))
				}
				if f.Match(&tracks[i]) && z <= tile.DensityZoom {
					tally(want, cell{id, unit(x, id.X), unit(y, id.Y)}, string(tracks[i].Activity)+"/"+tracks[i].Source, 1)
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
						at := cell{id, int(p[0]) / 64, int(p[1]) / 64}
						require.NotContains(t, got, at, "a cell has one point")
						sum := 0
						for key, n := range one.Properties {
							if key != "count" && key != "activity" {
								tally(got, at, key, int(n.(float64)))
								sum += int(n.(float64))
							}
						}
						require.EqualValues(t, sum, one.Properties["count"])
						require.Equal(t, strongest(got[at]), one.Properties["activity"])
					}
				}
			}
			require.Equal(t, want, got, "zoom %d", z)
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
		activity, _, _ := strings.Cut(key, "/")
		n[activity] += tracks
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
			k, err := gpstracks.Prepare(gpstracks.Track{
				Source: fmt.Sprint("s", (x*31+y*17)%97), Activity: gpstracks.Activities()[(x+y)%8],
				Lines: orb.MultiLineString{{at, {at[0] + 1e-3, at[1] + 1e-3}}},
			})
			require.NoError(t, err)
			tracks = append(tracks, k)
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
		require.LessOrEqual(t, len(body), 1<<17+1<<14) // values and names of keys apart
		layers, err := mvt.Unmarshal(body)
		require.NoError(t, err)
		n, want := 0, 0
		for _, f := range layers[0].Features {
			n += int(f.Properties["count"].(float64))
		}
		for i := range tracks {
			if at(z, middle(&tracks[i])) == id {
				want++
			}
		}
		require.Equal(t, want, n)
	}
}

func TestSummarize(t *testing.T) {
	t.Parallel()
	store, tracks := crowd(t)
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
	require.Equal(t, len(tracks), s.Tracks)
	require.ElementsMatch(t, slices.Collect(maps.Keys(names)), s.Attributions)
	require.Equal(t, "© all", s.Attributions[0], "the most frequent one")
	require.InDelta(t, want.Min[0], s.Bounds.Min[0], 2e-4)
	require.InDelta(t, min(180, want.Max[0]), s.Bounds.Max[0], 2e-4)
	none, err := tile.Summarize(t.Context(), &source{}, gpstracks.Filter{})
	require.NoError(t, err)
	require.Zero(t, none)
}
