package mergegate_test

import (
	"context"
	"fmt"
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
	without := func(features) features { return nil }
	with := func(gate features) features { return func() []orchestrator.Feature { return gate()[1:] } }
	for name, want := range map[string]struct {
		from, to  func(gate features) features
		conflicts []string
		outcome   admin.Outcome
		runs      int
	}{
		"clean":                      {without, with, nil, admin.OutcomeLater, 0},
		"conflicts":                  {without, with, []string{"src/a.go"}, admin.OutcomeLater, 4},
		"conflicts without the gate": {with, without, []string{"src/a.go"}, admin.OutcomeLater, 4},
	} {
		t.Run(name, func(t *testing.T) {
			quarter(t, 1, func(g *gateRig, gate features) { g.Features = want.from(gate) }, func(g *gateRig, gate features, _ map[string]ended) {
				g.Shutdown()
				g.Features = want.to(gate)
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
						require.Equal(g, want.outcome, p.Outcome, "%v", p)
						require.Equal(g, want.runs, p.Runs, "%v", p)
						require.NotContains(g, fmt.Sprint(p.Assumed), "git has not")
					}
				}
			})
		})
	}
}
