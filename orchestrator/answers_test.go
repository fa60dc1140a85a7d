package orchestrator_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features/reconcile"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
)

// withReconciler makes a rig whose boards are read every minute.
func withReconciler(r *rig) {
	r.features = func() []orchestrator.Feature {
		rec, err := reconcile.New(reconcile.Options{Tracker: r.board, Board: r.board})
		require.NoError(r, err)
		return []orchestrator.Feature{rec.Feature()}
	}
}

// What a person moves on the board and what means nothing there is answered in one
// line, once, and the column goes back; nothing of the task changes.
func TestMovesThatMeanNothing(t *testing.T) {
	for _, c := range []struct {
		project string
		at      stage.Stage
		to      stage.Status
		back    stage.Status
		says    string
	}{
		{appProject, stage.Analysis, stage.StatusConfirmDeploy, stage.StatusInReview, "Confirm Deploy means nothing at the stage analysis."},
		{appProject, stage.Analysis, stage.StatusDone, stage.StatusInReview, "Done moves nothing: the task is at analysis, and the service sets that column itself. The card goes back to In Review; STOP ends the task."},
		{appProject, stage.Review, stage.StatusInProgress, stage.StatusCodeReview, "In Progress relaunches the analyst only."},
		{appProject, stage.Review, stage.StatusApproved, stage.StatusCodeReview, "Approved means nothing at the stage review."},
		{appProject, stage.Review, stage.StatusDone, stage.StatusCodeReview, "Done moves nothing: the task is at review, and the service sets that column itself. The card goes back to Code Review; STOP ends the task."},
		{selfProject, stage.Deploy, stage.StatusApproved, stage.StatusAwaitingDeploy, "Approved is never a deploy trigger."},
		{selfProject, stage.Deploy, stage.StatusToAnalyse, stage.StatusAwaitingDeploy, "To Analyse means nothing at the stage deploy."},
	} {
		runWith(t, withReconciler, func(r *rig) {
			item := r.card(c.project, "x")
			if c.at == stage.Review {
				r.place.SetScript(instead(stage.Reviewer, hang))
			}
			if c.at == stage.Analysis {
				r.move(c.project, item, stage.StatusToAnalyse)
				r.settle(10 * time.Second)
			} else {
				r.toDone(c.project, item)
			}
			before := r.task(item).State
			require.Equal(r, c.at, before.Stage)
			r.place0(c.project, item, c.to)
			i, err := r.board.Item(context.Background(), c.project, item)
			require.NoError(r, err)
			for range 3 { // the webhook comes again and again, as another delivery each time
				r.hook(tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: c.project, ItemID: item, ActorID: "kim", Status: true, To: string(c.to), At: i.UpdatedAt})
				r.settle(3 * time.Second)
			}
			r.settle(20 * time.Minute) // the reconciler looks, too
			require.Equal(r, c.back, r.status(c.project, item), c.says)
			require.Equal(r, 1, strings.Count(strings.Join(r.comments(c.project, item), "\n"), c.says), "%s: %v", c.says, r.comments(c.project, item))
			after := r.task(item).State
			require.Equal(r, []any{before.Stage, before.Phase, before.Hold, before.Active, before.Run}, []any{after.Stage, after.Phase, after.Hold, after.Active, after.Run})
			r.replays()
		})
	}
}

// A word on a card without a task is answered once, and starts nothing.
func TestMoveOfACardWithoutATask(t *testing.T) {
	runWith(t, withReconciler, func(r *rig) {
		for _, to := range []stage.Status{stage.StatusInProgress, stage.StatusApproved, stage.StatusRejected, stage.StatusConfirmDeploy} {
			item := r.card(appProject, "x")
			r.move(appProject, item, to)
			r.settle(time.Second)
			i, err := r.board.Item(context.Background(), appProject, item)
			require.NoError(r, err)
			r.hook(tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: appProject, ItemID: item, ActorID: "kim", Status: true, To: string(to), At: i.UpdatedAt})
			r.hook(tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: appProject, ItemID: item, ActorID: "kim"}) // an edit of its text
			r.settle(10 * time.Minute)
			info, _ := stage.StatusNamed(to)
			require.Equal(r, []string{info.Name + " moves nothing: there is no task of this card. To Analyse starts one."}, r.comments(appProject, item))
			require.Equal(r, to, r.status(appProject, item))
		}
		require.Empty(r, r.roles())
	})
}
