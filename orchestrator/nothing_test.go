package orchestrator_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// An analyst that ends well and writes nothing: nobody is asked to approve what does
// not exist, an Approved all the same is refused, and each place says what is missing
// and what works.
func TestNothingToApprove(t *testing.T) {
	const missing = "requirements.md does not exist, acceptance.md does not exist"
	idle := true
	lazy := func(r *rig) {
		r.place.SetScript(instead(stage.Analyst, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			if idle {
				return work.Result{Kind: work.ResultOK, Usage: usage()}
			}
			return goodAgent(ctx, c, files)
		}))
	}
	runWith(t, lazy, func(r *rig) {
		item := r.card(appProject, "Cache the tiles")
		explained := func() orchestrator.Explanation {
			task := r.task(item)
			x, err := r.engine.Explain(t.Context(), task.ID)
			require.NoError(r, err)
			all, err := r.engine.ExplainAll(t.Context(), []orchestrator.Task{task})
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
		r.move(appProject, item, stage.StatusToAnalyse)
		r.settle(10 * time.Second)
		require.Equal(r, stage.StatusInReview, r.status(appProject, item))
		explained()
		require.Contains(r, r.notices(), missing)
		require.Contains(r, r.notices(), "In Progress runs it again")
		require.NotContains(r, r.notices(), "approval needed")
		comments := r.comments(appProject, item)
		require.True(r, contains(comments, missing))
		require.False(r, contains(comments, "The requirements are ready"))
		require.False(r, contains(comments, "/requirements.md"), "no link to what is not there")

		r.move(appProject, item, stage.StatusApproved)
		r.settle(10 * time.Second)
		require.Equal(r, stage.Analysis, r.task(item).State.Stage)
		require.Contains(r, explained().LastNote, missing)
		require.True(r, contains(r.comments(appProject, item), "The approval cannot be taken yet: missing: "+missing))

		idle = false
		r.move(appProject, item, stage.StatusInProgress)
		r.settle(10 * time.Second)
		require.Empty(r, r.task(item).State.Refused)
		require.Contains(r, r.notices(), "approval needed")
		r.move(appProject, item, stage.StatusApproved)
		r.settle(time.Minute)
		require.Equal(r, stage.Done, r.task(item).State.Stage)
	})
}
