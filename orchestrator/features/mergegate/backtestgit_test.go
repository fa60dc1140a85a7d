package mergegate_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// A branch that was never brought up to date is merged with what landed before it by git: it is tested again when it lacks
// that, and sent back when it conflicts.
func TestBacktestReadsGit(t *testing.T) {
	for name, want := range map[string]struct {
		conflicts []string
		runs      int
		assumed   string
	}{
		"clean":     {nil, 0, "CI of what is tested again is green, and takes as long as it did last"},
		"conflicts": {[]string{"src/a.go"}, 4, "a further run of the developer is like its last one, and mends what was refused"},
	} {
		t.Run(name, func(t *testing.T) {
			quarter(t, 1, func(*gateRig, features) {}, func(g *gateRig, gate features, _ map[string]ended) {
				g.Shutdown()
				g.Features = func() []orchestrator.Feature { return gate()[1:] }
				rows, err := g.Store.Tasks(context.Background(), task.Filter{})
				require.NoError(g, err)
				last := slices.MaxFunc(rows, func(a, b task.Task) int { return a.StageEnteredAt.Compare(b.StageEnteredAt) })
				g.Place.SetConflict(last.Repo, last.Branch, want.conflicts...)
				g.Start()
				list, err := admin.Backtest(context.Background(), g.Engine, time.Time{})
				require.NoError(g, err)
				for _, p := range list {
					if p.TaskID == last.ID {
						require.Equal(g, stage.Done, p.Stage, p.Why)
						require.Equal(g, admin.OutcomeLater, p.Outcome)
						require.Equal(g, want.runs, p.Runs)
						require.Contains(g, p.Assumed, want.assumed)
					}
				}
			})
		})
	}
}
