package orchestrator_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features/serialgate"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

// Two processes begin tasks of one repository at the same moment: neither sees
// the other's while it decides, and yet only one begins.
func TestSerialGateOfReplicas(t *testing.T) {
	slow := orchestrator.Feature{Name: "slow", Holds: func(context.Context, orchestrator.Change) ([]queue.Hold, []queue.Hold, error) {
		time.Sleep(50 * time.Millisecond) // after the gate has looked, and before the commit
		return nil, nil, nil
	}}
	runWith(t, func(r *rig) {
		r.opt.MaxConcurrency, r.opt.EventWorkers = 8, 1 // a second worker would wait for the lock of the process, which stops the clock
		r.features = func() []orchestrator.Feature {
			gate, err := serialgate.New(serialgate.Options{Store: r.store, Holds: r.store, Lister: r.store, Repos: []string{"*"}, Every: time.Hour})
			require.NoError(r, err)
			return []orchestrator.Feature{gate.Feature(), slow}
		}
	}, func(r *rig) {
		stop, stopped := r.stop, r.stopped
		r.start() // a second process over the same store
		defer func() { stop(); <-stopped }()
		items := []string{r.card(appProject, "one"), r.card(appProject, "two"), r.card(appProject, "three")}
		for _, item := range items {
			r.move(appProject, item, stage.StatusToAnalyse)
		}
		r.settle(20 * time.Second)
		require.Equal(r, 1, count(r.roles(), stage.Analyst), "one begins")
		held, err := r.store.Holds(context.Background())
		require.NoError(r, err)
		require.Len(r, held, 2, "and two wait for it")
	})
}

// deaf reads no cards while it is shut.
type deaf struct {
	orchestrator.Tracking
	shut, caught atomic.Bool
}

func (d *deaf) Item(ctx context.Context, project, item string) (tracker.Item, error) {
	if d.shut.Load() {
		d.caught.Store(true)
		<-ctx.Done()
		return tracker.Item{}, ctx.Err()
	}
	return d.Tracking.Item(ctx, project, item)
}

// One process decides a STOP while the agent works in another, on another machine:
// the other ends the agent and removes its checkout.
func TestStopOfAnAgentElsewhere(t *testing.T) {
	var ear *deaf
	stoppableWith(t, func(r *rig) {
		r.opt.EventWorkers = 1
		ear = &deaf{Tracking: r.board}
		r.tracker = ear
	}, func(r *rig) {
		r.place.SetScript(instead(stage.Architect, hang))
		item := r.card(appProject, "x")
		r.toDone(appProject, item)
		require.Equal(r, stage.Architecture, r.task(item).State.Stage)
		checkouts := r.place.Checkouts()
		require.Len(r, checkouts, 1)
		here, stop, stopped := r.place, r.stop, r.stopped
		defer func() { stop(); <-stopped }()
		r.place, r.tracker = memwork.New(goodAgent), nil
		r.start() // a second process over the same store, on another machine
		ear.shut.Store(true)
		for n := 0; !ear.caught.Load(); n++ {
			r.move(appProject, r.card(appProject, fmt.Sprint("other ", n)), stage.StatusToAnalyse)
			r.settle(time.Second)
		}
		r.move(appProject, item, stage.StatusStop)
		r.settle(time.Minute)
		require.Equal(r, stage.Cancelled, r.cancelled(item).State.Stage)
		require.NotContains(r, here.Checkouts(), checkouts[0], "where the agent was")
	})
}
