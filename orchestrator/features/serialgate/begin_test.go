package serialgate_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features/serialgate"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// slowNumbers gives the first number a while before the beginning that it is for goes on.
type slowNumbers struct{ orchestrator.Storing }

func (s slowNumbers) NewTaskID(ctx context.Context) (int64, error) {
	id, err := s.Storing.NewTaskID(ctx)
	if id == 1 {
		time.Sleep(2 * time.Second)
	}
	return id, err
}

// A beginning that was overtaken stands behind the one that has overtaken it, and waits: the earlier number does not count.
func TestBeginningThatIsOvertaken(t *testing.T) {
	Run(t, func(r *Rig) {
		r.Deps = func(d *orchestrator.Deps) { d.Store = slowNumbers{d.Store} }
		r.Features = func() []orchestrator.Feature {
			gate, err := serialgate.New(serialgate.Options{Parts: r.Parts(), Repos: []string{"*"}})
			require.NoError(r, err)
			return []orchestrator.Feature{gate.Feature()}
		}
	}, func(r *Rig) {
		r.Place.SetScript(Instead(stage.Analyst, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			time.Sleep(time.Minute)
			return GoodAgent(ctx, c, files)
		}))
		first, second := r.Card(App, "one"), r.Card(App, "two")
		r.Set(first, stage.StatusToAnalyse)
		r.Settle(time.Second)
		r.Set(second, stage.StatusToAnalyse)
		r.Settle(10 * time.Second)
		require.Len(r, r.Place.Runs(), 1)
		require.Equal(r, r.Task(second).ID, r.Place.Runs()[0].TaskID)
		require.Contains(r, r.Explain(first).Summary, "one task at a time")
	})
}
