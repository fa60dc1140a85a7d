package signals_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/features/signals"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// gauges keeps the last value of each.
type gauges struct {
	mu     sync.Mutex
	values map[string]float64
}

func (g *gauges) Add(string, float64, ...string)     {}
func (g *gauges) Observe(string, float64, ...string) {}
func (g *gauges) Set(name string, v float64, labels ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.values[strings.Join(append([]string{name}, labels...), " ")] = v
}

func (g *gauges) get(t *Rig, name string) float64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	require.Contains(t, g.values, name)
	return g.values[name]
}

// A task that waits for a person, a comment that the board does not take and what a repository has
// spent are measured, and go back to nothing.
func TestWhatIsUnderWay(t *testing.T) {
	meter := &gauges{values: map[string]float64{}}
	Run(t, func(r *Rig) {
		r.Deps = func(d *orchestrator.Deps) { d.Meter = meter }
		r.Features = func() []orchestrator.Feature {
			f, err := signals.Feature(signals.Options{Parts: r.Parts(), Limit: 5e6, Spent: func(context.Context, string) (int64, error) { return 1_250_000, nil }})
			require.NoError(r, err)
			return []orchestrator.Feature{f}
		}
	}, func(r *Rig) {
		r.Board.FailCall("AddComment", &fault.Error{Text: "away", Again: true})
		item := r.Begin("x")
		r.Settle(10 * time.Minute)
		r.Waits(item, stage.HoldApproval)
		require.EqualValues(r, 1, meter.get(r, "tasks stage analysis"))
		require.EqualValues(r, 0, meter.get(r, "tasks stage review"))
		require.EqualValues(r, 1, meter.get(r, "person_waits hold approval"))
		require.InDelta(r, 9*60, meter.get(r, "person_wait_oldest_seconds hold approval"), 60)
		require.Positive(r, meter.get(r, "owed lane comments"))
		require.InDelta(r, 9*60, meter.get(r, "owed_oldest_seconds lane comments"), 70)
		require.EqualValues(r, 1.25, meter.get(r, "budget_spent_usd repo "+AppRepo))
		require.EqualValues(r, 5, meter.get(r, "budget_limit_usd"))
		require.EqualValues(r, 0, meter.get(r, "merge_lease_held repo "+AppRepo))
		require.EqualValues(r, 0, meter.get(r, "effects_given_up"))

		r.Board.FailCall("AddComment", nil)
		r.Set(item, stage.StatusApproved)
		r.Settle(time.Hour)
		r.Stands(item, stage.Done)
		for _, name := range []string{"tasks stage analysis", "person_waits hold approval", "person_wait_oldest_seconds hold approval", "owed lane comments", "owed_oldest_seconds lane comments"} {
			require.Zero(r, meter.get(r, name), name)
		}
	})
}
