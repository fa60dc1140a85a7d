package trackhttp

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/paulmach/orb"
	"golang.org/x/sync/singleflight"

	"github.com/signalbox-dev/signalbox/gpstracks/tile"
)

// key names a tile of a filter, as it is compressed.
type key struct {
	id     tile.ID
	coding coding
	filter string // activities | sources, sorted
}

// entry is a finished tile. Nothing of it is changed.
type entry struct {
	body    []byte // nil for an empty tile
	coding  coding
	sum     string // of what is in the body, for tags
	dropped int
}

// cache keeps the tiles of the last requests. Its generation rises with
// every loss, so that a tile that was begun before is not kept afterwards.
type cache struct {
	mu           sync.Mutex
	generation   uint64
	tiles        *lru.Cache[key, *entry]
	capacity     int
	hits, misses atomic.Int64
}

// get finds a tile, or the generation in which it is to be made.
func (c *cache) get(k key) (e *entry, generation uint64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok = c.tiles.Get(k); ok {
		c.hits.Add(1)
	} else {
		c.misses.Add(1)
	}
	return e, c.generation, ok
}

func (c *cache) put(k key, e *entry, generation uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if generation == c.generation {
		c.tiles.Add(k, e)
	}
}

func (c *cache) clear() (cleared int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	cleared = c.tiles.Len()
	c.generation++
	c.tiles.Purge()
	return cleared
}

func (c *cache) forget(changed []orb.Bound) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.generation++
	for _, k := range c.tiles.Keys() {
		if slices.ContainsFunc(changed, k.id.Bounds().Intersects) {
			c.tiles.Remove(k)
		}
	}
}

// flights share the work for one thing among all requests of it at one time. The
// work ends when the last of them has gone away.
type flights struct {
	mu      sync.Mutex
	group   singleflight.Group
	running map[string]*flight
}

type flight struct {
	ctx     context.Context
	cancel  context.CancelFunc
	waiting int
}

func (f *flights) do(ctx context.Context, name string, work func(context.Context) (*entry, error)) (*entry, error) {
	f.mu.Lock()
	own, ok := f.running[name]
	if !ok {
		own = &flight{}
		own.ctx, own.cancel = context.WithCancel(context.WithoutCancel(ctx))
		f.running[name] = own
	}
	own.waiting++
	done := f.group.DoChan(name, func() (any, error) { return work(own.ctx) })
	f.mu.Unlock()
	defer f.leave(name, own)
	select {
	case r := <-done:
		e, _ := r.Val.(*entry) // nil with an error
		return e, r.Err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// leave ends the work if no request waits for it any more; a later request begins
// anew.
func (f *flights) leave(name string, own *flight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if own.waiting--; own.waiting == 0 {
		own.cancel()
		f.group.Forget(name)
		delete(f.running, name)
	}
}

func (k key) name(generation uint64) string { return fmt.Sprint(generation, k) }
