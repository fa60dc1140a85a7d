package tile

import (
	"context"
	"log/slog"
	"runtime"
	"slices"
	"sync"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/internal/run"
)

// PackAll packs tracks on all processors and returns their features by level, in no
// order. When ctx ends it returns what is packed.
func PackAll(ctx context.Context, log *slog.Logger, tracks []gpstracks.Track) (levels [MaxLevel + 1][]Feature) {
	var mu sync.Mutex
	g := run.New(ctx, log)
	for part := range slices.Chunk(tracks, max(len(tracks)/(4*runtime.GOMAXPROCS(0)), 64)) {
		g.Go("pack tracks", func(ctx context.Context) {
			var packer Packer
			var own []Feature
			for i := 0; i < len(part) && ctx.Err() == nil; i++ {
				own = append(own, packer.Pack(&part[i])...)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, f := range own {
				levels[f.Level] = append(levels[f.Level], f)
			}
		})
	}
	g.Wait()
	g.Stop()
	return levels
}
