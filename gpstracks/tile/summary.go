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
	Bounds       orb.Bound // of all tracks, in degrees, up to 20 metres too large; empty without any
	Attributions []string  // those of the tracks, the most frequent first
}

// Summarize reads the dots of the tracks whose source passes the filter.
func Summarize(ctx context.Context, src Source, of gpstracks.Filter) (s Summary, err error) {
	const size = Extent << DensityZoom
	all, names := nowhere(), map[string]int{}
	err = src.Blocks(ctx, Dots, Window{0, 0, size, size}, func(data []byte) error {
		features, err := BlockFeatures(data)
		for i := range features {
			f := &features[i]
			if !of.HasSource(f.words[1]) {
				continue
			}
			s.Tracks++
			all.grow(f.Bounds.MinX, f.Bounds.MinY)
			all.grow(f.Bounds.MaxX, f.Bounds.MaxY)
			if f.words[2] != "" {
				names[f.words[2]]++
			}
		}
		return err
	})
	if s.Tracks > 0 {
		degrees := func(x, y int32) orb.Point { return orb.Point{float64(x)/size*360 - 180, latitude(float64(y) / size)} }
		s.Bounds = orb.Bound{Min: degrees(all.MinX, all.MaxY+1), Max: degrees(all.MaxX+1, all.MinY)}
	}
	s.Attributions = slices.SortedFunc(maps.Keys(names), func(a, b string) int {
		return cmp.Or(cmp.Compare(names[b], names[a]),
			strings.Compare(a, b))
	})
	return s, err
}
