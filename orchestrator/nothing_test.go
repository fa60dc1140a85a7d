package orchestrator_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/explain"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
)

// An analyst that ends well and writes nothing: nobody has to approve what does
// not exist, an Approved all the same is refused, and each place says what is missing
// and what works.
func TestNothingToApprove(t *testing.T) {
	const missing = "requirements.md does not exist, acceptance.md does not exist"
	idle := true
	lazy := func(r *Rig) {
		r.Place.SetScript(Instead(stage.Analyst, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			if idle {
				return work.Result{Kind: work.ResultOK, Usage: memwork.Usage()}
			}
			return GoodAgent(ctx, c, files)
		}))
	}
	Run(t, lazy, func(r *Rig) {
		item := r.Card(App, "Cache the tiles")
		explained := func() explain.Explanation {
			row := r.Task(item)
			x, err := explain.One(t.Context(), r.Engine, row.ID)
			require.NoError(r, err)
			all, err := explain.All(t.Context(), r.Engine, []task.Task{row})
			require.NoError(r, err)
			require.Equal(r, x.Blockers, all[0].Blockers)
			require.Contains(r, x.Refused, missing)
			require.Contains(r, x.Summary, missing)
			require.NotContains(r, x.Blockers[0].Do, "Approved")
			require.Contains(r, x.Blockers[0].Do, "In Progress")
			for _, m := range x.Moves {
				require.NotEqual(r, stage.OnApproved, m.On, "it would be refused once more")
			}
			return x
		}
		r.Set(item, stage.StatusToAnalyse)
		r.Settle(10 * time.Second)
		require.Equal(r, stage.StatusInReview, r.Status(App, item))
		explained()
		require.Contains(r, r.Notices(), missing)
		require.Contains(r, r.Notices(), "In Progress runs it again")
		require.NotContains(r, r.Notices(), "approval needed")
		comments := r.Comments(App, item)
		require.True(r, contains(comments, missing))
		require.False(r, contains(comments, "The requirements are ready"))
		require.False(r, contains(comments, "/requirements.md"), "no link to what is not there")

		r.Set(item, stage.StatusApproved)
		r.Settle(10 * time.Second)
		r.Stands(item, stage.Analysis)
		require.Contains(r, explained().LastNote, missing)
		require.True(r, r.Commented(App, item, "The approval cannot be taken yet: missing: "+missing))

		idle = false
		r.Set(item, stage.StatusInProgress)
		r.Settle(10 * time.Second)
		require.Empty(r, r.Task(item).State.Refused)
		require.Contains(r, r.Notices(), "approval needed")
		r.Set(item, stage.StatusApproved)
		r.Settle(time.Minute)
		r.Stands(item, stage.Done)
	})
}
