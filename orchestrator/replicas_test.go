package orchestrator_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features/serialgate"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/queue"
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
