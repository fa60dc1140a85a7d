package tile

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/paulmach/orb"

	"github.com/signalbox-dev/signalbox/gpstracks"
)

// Summary holds the facts that a map needs before it shows any track of a store.
type Summary struct {
	Tracks       int
	Bounds       orb.Bound // of all tracks, in degrees, up to a cell of 1.2 kilometres too large, or a 50th; empty without any
	Attributions []string  // those of the tracks, the most frequent first
}

// Summarize reads how many tracks there are whose source passes the filter, and where.
func Summarize(ctx context.Context, src Source, of gpstracks.Filter) (s Summary, err error) {
	names := map[string]int{}
	err = eachCount(ctx, src, Totals, of, func(f *Feature, _ int, tracks int32) {
		if s.Tracks += int(tracks); f.words[2] != "" {
			names[f.words[2]] += int(tracks)
		}
	})
	maps.DeleteFunc(names, func(_ string, n int) bool { return n <= 0 })
	s.Attributions = slices.SortedFunc(maps.Keys(names), func(a, b string) int {
		return cmp.Or(cmp.Compare(names[b], names[a]), strings.Compare(a, b))
	})
	if s.Tracks == 0 || err != nil {
		return s, err
	}
	const manyCells = 50 // across, from which a finer grid is not read
	for grid := coarsestGrid; grid <= finestGrid; grid++ {
		cells, all := map[[2]int32]int32{}, nowhere()
		if err := eachCount(ctx, src, gridLevel(grid), of, func(f *Feature, cell int, tracks int32) {
			cells[[2]int32{f.Bounds.MinX + int32(cell%cellsInRow), f.Bounds.MinY + int32(cell/cellsInRow)}] += tracks
		}); err != nil {
			return s, err
		}
		for at, n := range cells {
			if n > 0 {
				all.grow(at[0], at[1])
			}
		}
		degrees := func(x, y int32) orb.Point {
			size := float64(int32(1) << grid)
			return orb.Point{float64(x)/size*360 - 180, latitude(float64(y) / size)}
		}
		s.Bounds = orb.Bound{Min: degrees(all.MinX, all.MaxY+1), Max: degrees(all.MaxX+1, all.MinY)}
		if all.MaxX-all.MinX > manyCells && all.MaxY-all.MinY > manyCells {
			break
		}
	}
	return s, nil
}

// Sources lists the names of the sources of a store's tracks.
func Sources(ctx context.Context, src Source) ([]string, error) {
	tracks := map[string]int{}
	err := eachCount(ctx, src, Totals, gpstracks.Filter{}, func(f *Feature, _ int, n int32) { tracks[f.words[1]] += int(n) })
	maps.DeleteFunc(tracks, func(_ string, n int) bool { return n <= 0 })
	return slices.Sorted(maps.Keys(tracks)), err
}

// eachCount reads the counts of a level of sources that pass a filter.
func eachCount(ctx context.Context, src Source, level int, of gpstracks.Filter, visit func(f *Feature, cell int, tracks int32)) error {
	return src.Blocks(ctx, level, Window{0, 0, 1<<finestGrid - 1, 1<<finestGrid - 1}, func(data []byte) error {
		features, err := BlockFeatures(data)
		for i := range features {
			f := &features[i]
			if !of.HasSource(f.words[1]) {
				continue
			}
			r := cellReader{rest: f.geometry}
			for r.next() {
				visit(f, r.cell, r.tracks)
			}
			if r.damaged {
				return errBlock
			}
		}
		return err
	})
}
