package queuetest

import (
	"context"
	"math/rand/v2"
	"sync"

	"github.com/signalbox-dev/signalbox/internal/intercept"
)

// InTurns is one queue by several handles, as several processes have them: some
// calls go to one, then some to another. What a handle caches must not be what
// another has changed since.
func InTurns(seed uint64, handles ...Queue) Queue {
	var mu sync.Mutex
	chance, at := rand.New(rand.NewPCG(seed, 1)), 0
	return intercept.Queue(handles[0], func(_ context.Context, c *intercept.Call, next func() error) error {
		mu.Lock()
		if chance.IntN(6) == 0 {
			at = chance.IntN(len(handles))
		}
		c.To = handles[at]
		mu.Unlock()
		return next()
	})
}
