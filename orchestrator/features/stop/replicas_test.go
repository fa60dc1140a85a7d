package stop_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/effects"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
	"github.com/signalbox-dev/signalbox/tracker"
)

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
	stoppableWith(t, func(r *Rig) {
		r.Options.EventWorkers = 1
		ear = &deaf{Tracking: r.Board}
		r.Tracker = ear
		r.Effects = func(d *effects.Deps) { d.Tracker = r.Board } // only the worker of events is caught
	}, func(r *Rig) {
		r.Place.SetScript(Instead(stage.Architect, Hang))
		item := r.Finish("x")
		r.Stands(item, stage.Architecture)
		checkouts := r.Place.Checkouts()
		require.Len(r, checkouts, 1)
		here := r.Place
		r.Place, r.Tracker = memwork.New(GoodAgent), nil
		r.Start() // a second process over the same store, on another machine
		ear.shut.Store(true)
		for n := 0; !ear.caught.Load(); n++ {
			r.Set(r.Card(App, fmt.Sprint("other ", n)), stage.StatusToAnalyse)
			r.Settle(time.Second)
		}
		r.Set(item, stage.StatusStop)
		r.Settle(time.Minute)
		r.Cancelled(item)
		require.NotContains(r, here.Checkouts(), checkouts[0], "where the agent was")
	})
}
