package orchestrator_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

// The commit of a decision takes the next event for its worker: when the features
// are told of it, that event is at work already. It is done like any other.
func TestDecisionTakesNextEvent(t *testing.T) {
	t.Parallel()
	var atWork []int64
	runWith(t, func(r *rig) {
		r.opt.EventWorkers = 1
		r.features = func() []orchestrator.Feature {
			return []orchestrator.Feature{{Name: "watch", Committed: func(c orchestrator.Change) {
				if !c.Began() {
					return
				}
				jobs, err := r.store.Jobs(context.Background(), queue.Filter{Pool: orchestrator.TrackerJob(tracker.Hook{}).Pool, Open: true})
				require.NoError(r, err)
				for _, j := range jobs {
					if j.Status == queue.Running {
						atWork = append(atWork, j.ID)
					}
				}
			}}}
		}
	}, func(r *rig) {
		r.shutdown()
		var items []string
		for range 3 {
			items = append(items, r.card(appProject, "Draw the line"))
			r.move(appProject, items[len(items)-1], stage.StatusToAnalyse)
		}
		events, err := r.store.Jobs(context.Background(), queue.Filter{Pool: orchestrator.TrackerJob(tracker.Hook{}).Pool, Open: true})
		require.NoError(r, err)
		require.Len(r, events, 3)
		r.start()
		r.settle(time.Second)
		require.Equal(r, []int64{events[1].ID, events[2].ID}, atWork[:2])
		for _, item := range items {
			tasks, err := r.store.Tasks(context.Background(), orchestrator.TaskFilter{TrackerIssueID: item})
			require.NoError(r, err)
			require.Len(r, tasks, 1)
		}
	})
}
