package orchestrator_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

// gone is a board without the card.
type gone struct{ orchestrator.Tracking }

func (gone) Item(context.Context, string, string) (tracker.Item, error) {
	return tracker.Item{}, tracker.ErrNotFound
}

type holding interface{ orchestrator.Jobs }

// slowHolds answers each look at the holds a second later than the one before.
type slowHolds struct {
	holding
	looks *atomic.Int32
}

func (s slowHolds) HoldsIn(ctx context.Context, from, to string, limit int) ([]queue.Hold, error) {
	defer func() { time.Sleep(time.Duration(s.looks.Add(1)) * time.Second) }()
	return s.holding.HoldsIn(ctx, from, to, limit)
}

// Several that find a card gone at the same moment notify people once.
func TestGoneCardIsToldOnce(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		item := r.Begin("one")
		r.Settle(time.Minute)
		r.Shutdown()
		r.Tracker = gone{r.Board}
		r.Deps = func(d *orchestrator.Deps) { d.Jobs = slowHolds{d.Jobs, new(atomic.Int32)} }
		r.Start()
		before := r.Task(item)
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() { require.ErrorIs(r, r.Engine.LookAtCard(context.Background(), before), tracker.ErrNotFound) })
		}
		all.Wait()
		r.Settle(time.Minute)
		require.Equal(r, 1, strings.Count(r.Notices(), "The task is held: "), r.Notices())
	})
}
