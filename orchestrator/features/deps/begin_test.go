package deps_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features/deps"
	"github.com/signalbox-dev/signalbox/orchestrator/memstore"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// late is a store whose list of unfinished tasks was made a moment before the second of them began.
type late struct {
	*memstore.Store
	seen *bool
}

func (l late) Tasks(ctx context.Context, f task.Filter) ([]task.Task, error) {
	list, err := l.Store.Tasks(ctx, f)
	switch {
	case f.Live && f.AfterID == 0 && len(list) > 1: // one at a time
		list = list[:1]
	case f.Live && f.AfterID == 1 && len(list) > 0 && !*l.seen:
		list, *l.seen = nil, true
	}
	return list, err
}

// A prerequisite that becomes a task while all are looked at holds who waits for it.
func TestDependencyThatBegins(t *testing.T) {
	Run(t, func(r *Rig) {
		r.Features = func() []orchestrator.Feature {
			d, err := deps.New(deps.Options{
				Store: late{r.Store, new(bool)}, Table: r.Store, Queue: r.Store, Inspector: r.Store, Relations: r.Board, Items: r.Board,
			})
			require.NoError(r, err)
			return []orchestrator.Feature{d.Feature()}
		}
	}, func(r *Rig) {
		waits, first := r.Card(App, "waits"), r.Card(App, "first")
		r.Board.Block(waits, first)
		r.Set(waits, stage.StatusToAnalyse)
		r.Settle(time.Second)
		r.Set(first, stage.StatusToAnalyse)
		r.Settle(10 * time.Minute)
		require.Equal(r, 1, r.Ran(stage.Analyst), "that of the first")
	})
}
