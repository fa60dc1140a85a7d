package tile

import (
	"context"
	"maps"
	"slices"

	"github.com/paulmach/orb"

	"github.com/signalbox-dev/signalbox/gpstracks"
)

// Through returns the ids of tracks that pass within some eight pixels of a point at a zoom, in any order:
// what a finger is on.
func (e *Encoder) Through(ctx context.Context, src Source, p orb.Point, zoom int, f gpstracks.Filter) (ids []int64, err error) {
	const side = 6 // 2^side tiles in a row of one of the zoom: 8 pixels of 512 each
	z := min(zoom+side, MaxZoom)
	through := map[int64]bool{}
	gpstracks.Walk(orb.MultiLineString{{p}}, z, func(x, y int64) {
		for i := range 9 {
			t := ID{z, int(x) + i%3 - 1, int(y) + i/3 - 1}
			if !t.Valid() || err != nil {
				continue
			}
			e.Begin(t, f)
			for band := range bands {
				if err == nil && (band == 0 || t.Z <= DensityZoom) {
					err = src.Blocks(ctx, bandLevel(t.Level(), band), e.window, e.add)
				}
			}
			slices.SortFunc(e.candidates, placed)
			for at := 0; at < len(e.candidates) && err == nil; {
				var drawn bool
				track := e.track(at)
				if drawn, err = e.feature(track); drawn {
					through[int64(track[0].id)] = true
				}
				at += len(track)
			}
		}
	})
	return slices.Collect(maps.Keys(through)), err
}
