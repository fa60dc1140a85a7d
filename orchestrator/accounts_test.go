package orchestrator_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features/reconcile"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/memtracker"
	"github.com/signalbox-dev/signalbox/tracker/mux"
)

// Webhooks that come before it is known which accounts are ours are kept, and judged
// then: a person's is acted upon, and one of our own is not.
func TestWebhooksWaitForOurAccounts(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		r.Board.SetIdentified(false)
		persons, ours := r.Card(App, "x"), r.Card(App, "y")
		r.Set(persons, stage.StatusToAnalyse)
		r.MoveUnseen(App, ours, stage.StatusToAnalyse)
		r.Hook(tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: App, ItemID: ours, ActorID: "service/", Status: true})
		r.Settle(5 * time.Hour)
		require.Empty(r, r.Roles())
		require.Len(r, r.Open(), 2)
		for _, j := range r.Open() {
			require.Equal(r, tracker.ErrUnidentified.Error(), j.Error, "it is said why it waits")
		}
		r.Board.SetIdentified(true)
		r.Settle(time.Minute)
		require.Equal(r, []stage.Role{stage.Analyst}, r.Roles())
		r.Stands(persons, stage.Analysis)
		require.Empty(r, read(r, r.Store.Tasks, task.Filter{TrackerIssueID: ours}), "our own change begins nothing")
	})
}

// An agent is not started without what people have answered, and never with our own
// comments as if people had written them.
func TestAgentsWaitForOurAccounts(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		attempts := 0
		r.Place.SetScript(Instead(stage.Analyst, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			if attempts++; attempts == 1 { // the tracker is gone from here on
				r.Board.SetIdentified(false)
				return work.Result{Kind: work.ResultFailed, Reason: "fell over"}
			}
			return GoodAgent(ctx, c, files)
		}))
		item := r.Card(App, "x")
		r.Board.Say(item, "kim", "The colour is green.")
		_, err := r.Board.AddComment(context.Background(), tracker.NewComment{ProjectID: App, ItemID: item, Key: "k", Body: "Our own word."})
		require.NoError(r, err)
		r.Set(item, stage.StatusToAnalyse)
		r.Settle(5 * time.Hour)
		require.Len(r, r.Roles(), 1)
		r.Board.SetIdentified(true)
		r.Settle(time.Minute)
		runs := r.Place.Runs()
		require.Len(r, runs, 2)
		require.Contains(r, runs[1].Prompt, "The colour is green.")
		require.NotContains(r, runs[1].Prompt, "Our own word.")
	})
}

// A tracker that has not said which accounts are ours keeps its own projects waiting, and no other's.
func TestOneTrackerIsUnidentified(t *testing.T) {
	known, silent := memtracker.New(time.Now), memtracker.New(time.Now)
	silent.SetIdentified(false)
	e := &orchestrator.Engine{Deps: orchestrator.Deps{Tracker: mux.New(map[string]mux.Whole{"": known, "forge": silent})}}
	require.NoError(t, e.Identified(task.Project{}))
	require.ErrorIs(t, e.Identified(task.Project{Board: "forge"}), tracker.ErrUnidentified)
	silent.SetIdentified(true)
	require.NoError(t, e.Identified(task.Project{Board: "forge"}))
}

// Our own fallback column counts as nobody's word when the board has the column again that it stood for.
func TestColumnThatComesBack(t *testing.T) {
	reconciled(t, func(r *Rig, rec *reconcile.Reconciler) {
		var few []stage.Status
		for _, info := range stage.Statuses() {
			if info.Key != stage.StatusInReview {
				few = append(few, info.Key)
			}
		}
		r.Board.AddProject(App, few...)
		item := r.Begin("x")
		r.Settle(time.Minute)
		require.Equal(r, stage.StatusInProgress, r.Status(App, item))
		r.Waits(item, stage.HoldApproval)
		r.Board.AddProject(App)
		for range 3 {
			r.Settle(time.Hour)
			require.NoError(r, rec.Pass(r.Context(), r.Engine))
		}
		require.Equal(r, 1, r.Ran(stage.Analyst))
		r.Waits(item, stage.HoldApproval)
	})
}
