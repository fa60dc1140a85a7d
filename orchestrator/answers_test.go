package orchestrator_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features/reconcile"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
)

// withReconciler makes a rig whose boards are read every minute.
func withReconciler(r *Rig) {
	r.Features = func() []orchestrator.Feature {
		rec, err := reconcile.New(reconcile.Options{Tracker: r.Board, Board: r.Board})
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
		{App, stage.Analysis, stage.StatusConfirmDeploy, stage.StatusInReview, "Confirm Deploy means nothing at the stage analysis."},
		{App, stage.Analysis, stage.StatusDone, stage.StatusInReview, "Done moves nothing: the task is at analysis, and the service sets that column itself. The card goes back to In Review; STOP ends the task."},
		{App, stage.Review, stage.StatusInProgress, stage.StatusCodeReview, "In Progress relaunches the analyst only."},
		{App, stage.Review, stage.StatusApproved, stage.StatusCodeReview, "Approved means nothing at the stage review."},
		{App, stage.Review, stage.StatusDone, stage.StatusCodeReview, "Done moves nothing: the task is at review, and the service sets that column itself. The card goes back to Code Review; STOP ends the task."},
		{Self, stage.Deploy, stage.StatusApproved, stage.StatusAwaitingDeploy, "Approved is never a deploy trigger."},
		{Self, stage.Deploy, stage.StatusToAnalyse, stage.StatusAwaitingDeploy, "To Analyse means nothing at the stage deploy."},
	} {
		Run(t, withReconciler, func(r *Rig) {
			item := r.Card(c.project, "x")
			if c.at == stage.Review {
				r.Place.SetScript(Instead(stage.Reviewer, Hang))
			}
			if c.at == stage.Analysis {
				r.Move(c.project, item, stage.StatusToAnalyse)
				r.Settle(10 * time.Second)
			} else {
				r.ToDone(c.project, item)
			}
			before := r.Task(item).State
			require.Equal(r, c.at, before.Stage)
			r.MoveUnseen(c.project, item, c.to)
			i, err := r.Board.Item(context.Background(), c.project, item)
			require.NoError(r, err)
			for range 3 { // the webhook comes again and again, as another delivery each time
				r.Hook(tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: c.project, ItemID: item, ActorID: "kim", Status: true, To: string(c.to), At: i.UpdatedAt})
				r.Settle(3 * time.Second)
			}
			r.Settle(20 * time.Minute) // the reconciler looks, too
			require.Equal(r, c.back, r.Status(c.project, item), c.says)
			require.Equal(r, 1, strings.Count(strings.Join(r.Comments(c.project, item), "\n"), c.says), "%s: %v", c.says, r.Comments(c.project, item))
			after := r.Task(item).State
			require.Equal(r, []any{before.Stage, before.Phase, before.Hold, before.Active, before.Run}, []any{after.Stage, after.Phase, after.Hold, after.Active, after.Run})
			r.Replays()
		})
	}
}

// To Analyse has the analyst run again where the analysis waits for people, also when its webhook is lost.
func TestToAnalyseResumes(t *testing.T) {
	Run(t, withReconciler, func(r *Rig) {
		item := r.Begin("x")
		r.Settle(10 * time.Second)
		require.Equal(r, 1, r.Ran(stage.Analyst))
		r.MoveUnseen(App, item, stage.StatusToAnalyse)
		r.Settle(20 * time.Minute)
		require.Equal(r, 2, r.Ran(stage.Analyst))
		r.Stands(item, stage.Analysis)
	})
}

// A word on a card without a task is answered once, and starts nothing.
func TestMoveOfACardWithoutATask(t *testing.T) {
	Run(t, withReconciler, func(r *Rig) {
		for _, to := range []stage.Status{
			stage.StatusInProgress, stage.StatusApproved, stage.StatusRejected, stage.StatusConfirmDeploy, stage.StatusStop,
		} {
			said := to
			if to == stage.StatusStop { // of the service, written over a person's word
				said = stage.StatusToAnalyse
			}
			item := r.Card(App, "x")
			r.Set(item, to)
			r.Settle(time.Second)
			at := cardOf(r, item).UpdatedAt
			r.Hook(tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: App, ItemID: item, ActorID: "kim", Status: true, To: string(said), At: at})
			r.Hook(tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: App, ItemID: item, ActorID: "kim"}) // an edit of its text
			r.Settle(10 * time.Minute)
			info, _ := stage.StatusNamed(to)
			require.Equal(r, []string{info.Name + " moves nothing: there is no task of this card. To Analyse starts one."}, r.Comments(App, item))
			require.Equal(r, to, r.Status(App, item))
		}
		require.Empty(r, r.Roles())
	})
}
