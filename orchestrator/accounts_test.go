package orchestrator_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features/reconcile"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/tracker"
)

// Webhooks that come before it is known which accounts are ours are kept, and judged
// then: a person's is acted upon, and one of our own is not.
func TestWebhooksWaitForOurAccounts(t *testing.T) {
	run(t, func(r *rig) {
		r.board.SetIdentified(false)
		persons, ours := r.card(appProject, "x"), r.card(appProject, "y")
		r.move(appProject, persons, stage.StatusToAnalyse)
		r.place0(appProject, ours, stage.StatusToAnalyse)
		r.hook(tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: appProject, ItemID: ours, ActorID: "service/", Status: true})
		r.settle(5 * time.Hour)
		require.Empty(r, r.roles())
		require.Len(r, r.open(), 2)
		for _, j := range r.open() {
			require.Equal(r, tracker.ErrUnidentified.Error(), j.Error, "it is said why it waits")
		}
		r.board.SetIdentified(true)
		r.settle(time.Minute)
		require.Equal(r, []stage.Role{stage.Analyst}, r.roles())
		require.Equal(r, stage.Analysis, r.task(persons).State.Stage)
		tasks, err := r.store.Tasks(context.Background(), orchestrator.TaskFilter{TrackerIssueID: ours})
		require.NoError(r, err)
		require.Empty(r, tasks, "our own change begins nothing")
	})
}

// An agent is not started without what people have answered, and never with our own
// comments as if people had written them.
func TestAgentsWaitForOurAccounts(t *testing.T) {
	runWith(t, nil, func(r *rig) {
		attempts := 0
		r.place.SetScript(instead(stage.Analyst, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			if attempts++; attempts == 1 { // the tracker is gone from here on
				r.board.SetIdentified(false)
				return work.Result{Kind: work.ResultFailed, Reason: "fell over"}
			}
			return goodAgent(ctx, c, files)
		}))
		item := r.card(appProject, "x")
		r.board.Say(item, "kim", "The colour is green.")
		_, err := r.board.AddComment(context.Background(), tracker.NewComment{ProjectID: appProject, ItemID: item, Key: "k", Body: "Our own word."})
		require.NoError(r, err)
		r.move(appProject, item, stage.StatusToAnalyse)
		r.settle(5 * time.Hour)
		require.Len(r, r.roles(), 1)
		r.board.SetIdentified(true)
		r.settle(time.Minute)
		runs := r.place.Runs()
		require.Len(r, runs, 2)
		require.Contains(r, runs[1].Prompt, "The colour is green.")
		require.NotContains(r, runs[1].Prompt, "Our own word.")
	})
}

// While webhooks wait for our accounts the board is no sign that they were lost.
func TestReconcilerWaitsForOurAccounts(t *testing.T) {
	reconciled(t, func(r *rig, rec *reconcile.Reconciler) {
		r.board.SetIdentified(false)
		r.move(appProject, r.card(appProject, "x"), stage.StatusToAnalyse)
		r.lose(1)
		r.settle(time.Hour)
		require.NoError(r, rec.Webhooks(context.Background()))
		require.Empty(r, r.titles("Webhooks have stopped"))
		require.Len(r, r.open(), 1, "nothing is replayed")
		r.board.SetIdentified(true)
		r.settle(5 * time.Minute)
		require.Equal(r, 2, count(r.roles(), stage.Analyst), "and what was lost is found then")
	})
}
