package orchestrator_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

// One worker decides on one event after the other, without a hint between them: each
// decision is committed before the next event is claimed.
func TestDecisionThenNextEvent(t *testing.T) {
	t.Parallel()
	var atWork []int
	Run(t, func(r *Rig) {
		r.Options.EventWorkers = 1
		r.Features = func() []orchestrator.Feature {
			return []orchestrator.Feature{{Name: "watch", On: func(_ context.Context, m any) error {
				if c, ok := m.(orchestrator.Change); !ok || c.With != nil || !c.Began() {
					return nil
				}
				jobs := read(r, r.Store.Jobs, queue.Filter{Pool: orchestrator.TrackerJob(tracker.Hook{}).Pool, Open: true})
				n := 0
				for _, j := range jobs {
					if j.Status == queue.Running {
						n++
					}
				}
				atWork = append(atWork, n)
				return nil
			}}}
		}
	}, func(r *Rig) {
		r.Shutdown()
		var items []string
		for range 3 {
			items = append(items, r.Card(App, "Draw the line"))
			r.Set(items[len(items)-1], stage.StatusToAnalyse)
		}
		require.Len(r, read(r, r.Store.Jobs, queue.Filter{Pool: orchestrator.TrackerJob(tracker.Hook{}).Pool, Open: true}), 3)
		r.Start()
		r.Settle(time.Second)
		require.Equal(r, []int{0, 0, 0}, atWork, "when a decision is committed its event has ended, and no other is claimed")
		for _, item := range items {
			require.Len(r, read(r, r.Store.Tasks, task.Filter{TrackerIssueID: item}), 1)
		}
	})
}
