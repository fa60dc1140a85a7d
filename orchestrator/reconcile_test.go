package orchestrator_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features/reconcile"
	"github.com/signalbox-dev/signalbox/orchestrator/features/stop"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

// reconciled makes a rig with the reconciler and STOP on.
func reconciled(t *testing.T, f func(*rig, *reconcile.Reconciler)) {
	t.Helper()
	var rec *reconcile.Reconciler
	reconciledAs(t, &rec, func(r *rig) { f(r, rec) })
}

// reconciledAs tells at any time which reconciler is at work.
func reconciledAs(t *testing.T, rec **reconcile.Reconciler, f func(*rig)) {
	t.Helper()
	runWith(t, func(r *rig) {
		r.features = func() []orchestrator.Feature {
			var err error
			*rec, err = reconcile.New(reconcile.Options{Tracker: r.board, Board: r.board, Brake: 5, Source: "plane"})
			require.NoError(r, err)
			projects, err := orchestrator.NewProjects(r.project...)
			require.NoError(r, err)
			s, err := stop.Feature(stop.Options{Store: r.store, Projects: projects, Workspaces: r.place, Agents: r.place})
			require.NoError(r, err)
			return []orchestrator.Feature{s, (*rec).Feature()}
		}
	}, f)
}

// Every webhook is lost; the boards are enough.
func TestBoardWithoutWebhooks(t *testing.T) {
	reconciled(t, func(r *rig, rec *reconcile.Reconciler) {
		item := r.card(appProject, "x")
		for _, step := range []struct {
			to   stage.Status
			want func(orchestrator.Task) bool
		}{
			{stage.StatusToAnalyse, func(t orchestrator.Task) bool { return t.State.Hold == stage.HoldApproval && t.State.Run == 1 }},
			{stage.StatusRejected, func(t orchestrator.Task) bool { return t.State.Hold == stage.HoldApproval && t.State.Run == 2 }},
			{stage.StatusRejected, func(t orchestrator.Task) bool { return t.State.Hold == stage.HoldApproval && t.State.Run == 3 }},
			{stage.StatusInProgress, func(t orchestrator.Task) bool { return t.State.Hold == stage.HoldApproval && t.State.Run == 4 }},
			{stage.StatusApproved, func(t orchestrator.Task) bool { return t.State.Stage == stage.Done }},
		} {
			r.place0(appProject, item, step.to)
			r.settle(3 * time.Minute)
			require.True(r, step.want(r.task(item)), "%s: %+v", step.to, r.task(item).State)
		}
		require.ErrorContains(r, rec.Webhooks(context.Background()), "without webhooks")
		again := r.card(appProject, "y")
		r.place0(appProject, again, stage.StatusToAnalyse)
		r.settle(3 * time.Minute)
		r.place0(appProject, again, stage.StatusStop)
		r.settle(3 * time.Minute)
		require.Equal(r, stage.Cancelled, r.cancelled(again).State.Stage, "a STOP that was lost")
	})
}

// What stands still is not touched again and again.
func TestReconcilerIsQuiet(t *testing.T) {
	reconciled(t, func(r *rig, _ *reconcile.Reconciler) {
		item := r.card(appProject, "x")
		r.move(appProject, item, stage.StatusToAnalyse)
		r.settle(10 * time.Minute)
		entries, err := r.store.Journal(context.Background(), r.task(item).ID)
		require.NoError(r, err)
		jobs, err := r.store.Jobs(context.Background(), queue.Filter{Limit: 100_000})
		require.NoError(r, err)
		r.settle(5 * time.Hour)
		later, err := r.store.Journal(context.Background(), r.task(item).ID)
		require.NoError(r, err)
		require.Equal(r, len(entries), len(later))
		more, err := r.store.Jobs(context.Background(), queue.Filter{Limit: 100_000})
		require.NoError(r, err)
		require.Equal(r, len(jobs), len(more))
		require.Len(r, r.roles(), 1)
	})
}

// A board with few columns shows our own statuses in the column of a trigger:
// they are not taken for a person's word.
func TestFallbackColumnsAreOurOwn(t *testing.T) {
	runWith(t, func(r *rig) {
		r.board.AddProject(appProject, stage.StatusToAnalyse, stage.StatusInProgress, stage.StatusApproved, stage.StatusDone)
		r.features = func() []orchestrator.Feature {
			rec, err := reconcile.New(reconcile.Options{Tracker: r.board, Board: r.board})
			require.NoError(r, err)
			return []orchestrator.Feature{rec.Feature()}
		}
	}, func(r *rig) {
		item := r.card(appProject, "x")
		r.move(appProject, item, stage.StatusToAnalyse)
		r.settle(time.Hour)
		require.Equal(r, stage.StatusInProgress, r.status(appProject, item))
		require.Len(r, r.roles(), 1)
	})
}

// F-1: a blocked task whose gate has turned green goes on, and people are told.
func TestUnblocks(t *testing.T) {
	reconciled(t, func(r *rig, _ *reconcile.Reconciler) {
		r.setCI(githost.CheckFailed)
		item := r.card(appProject, "x")
		r.toDone(appProject, item)
		r.settle(10 * time.Minute)
		task := r.task(item)
		require.Equal(r, stage.HoldBlocked, task.State.Hold)
		r.settle(time.Hour)
		require.Equal(r, stage.HoldBlocked, r.task(item).State.Hold, "red is silent")
		r.host.SetChecks(task.State.Head, githost.Check{Name: "build", State: githost.CheckPassed})
		r.settle(15 * time.Minute)
		require.Equal(r, stage.Done, r.task(item).State.Stage)
		require.Contains(r, r.notices(), "unblocked: development is green now; the task goes on to review")
	})
}

// A task that waits for an answer is not advanced past its question.
func TestQuestionsAreNotPassedOver(t *testing.T) {
	reconciled(t, func(r *rig, _ *reconcile.Reconciler) {
		r.place.SetScript(instead(stage.Architect, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			files[c.Env["SIGNALBOX_DOCS"]+"/questions.md"] = "Which?"
			return goodAgent(ctx, c, files)
		}))
		item := r.card(appProject, "x")
		r.toDone(appProject, item)
		r.settle(2 * time.Hour)
		require.Equal(r, stage.HoldNeedsInput, r.task(item).State.Hold)
	})
}

// Too much at once is a misunderstanding; a tracker that does not answer is no
// ground to act on.
func TestBrakeAndOutage(t *testing.T) {
	reconciled(t, func(r *rig, rec *reconcile.Reconciler) {
		for range 6 {
			r.place0(appProject, r.card(appProject, "x"), stage.StatusToAnalyse)
		}
		r.settle(5 * time.Minute)
		list, err := r.store.Tasks(context.Background(), orchestrator.TaskFilter{})
		require.NoError(r, err)
		require.Empty(r, list)
		v, err := r.engine.QueueView(context.Background())
		require.NoError(r, err)
		require.Contains(r, fmt.Sprintf("%+v", v.Features[reconcile.Name]), "6 work items of acme/app would change at once")
		r.board.FailWith(errors.New("503"))
		require.Error(r, rec.Pass(context.Background(), r.engine))
	})
}

// Many are few on a large board.
func TestBrakeIsAShare(t *testing.T) {
	reconciled(t, func(r *rig, _ *reconcile.Reconciler) {
		r.setCI("") // nobody gets further than In Progress
		for range 25 {
			item := r.card(appProject, "at work")
			r.move(appProject, item, stage.StatusToAnalyse)
			r.settle(3 * time.Second)
			r.move(appProject, item, stage.StatusApproved)
		}
		r.settle(time.Minute)
		for range 6 {
			r.place0(appProject, r.card(appProject, "lost"), stage.StatusToAnalyse)
		}
		r.settle(5 * time.Minute)
		list, err := r.store.Tasks(context.Background(), orchestrator.TaskFilter{})
		require.NoError(r, err)
		require.Len(r, list, 31)
	})
}

// outcome is where a card stands, for people.
func (r *rig) outcome(item string) string {
	list, err := r.store.Tasks(context.Background(), orchestrator.TaskFilter{})
	require.NoError(r, err)
	text := ""
	for _, t := range list {
		if original, _ := orchestrator.Untomb(t.TrackerIssueID); original == item {
			text += fmt.Sprintf("%s %s run %d; ", t.State.Stage, t.State.Hold, t.State.Run)
		}
	}
	return text
}

// schedule plays a person's moves, chosen by a seed; fate delivers each webhook.
// It returns where the card stood after each.
func schedule(t *testing.T, seed uint64, fate func(r *rig, rng *rand.Rand, h tracker.Hook)) (out []string) {
	t.Helper()
	reconciled(t, func(r *rig, _ *reconcile.Reconciler) {
		moves, chance := rand.New(rand.NewPCG(seed, 1)), rand.New(rand.NewPCG(seed, 2))
		item := r.card(appProject, "x")
		choices := []stage.Status{
			stage.StatusToAnalyse, stage.StatusApproved, stage.StatusRejected, stage.StatusInProgress, stage.StatusStop, stage.StatusApproved, stage.StatusToAnalyse,
		}
		for range 5 {
			to := choices[moves.IntN(len(choices))]
			r.place0(appProject, item, to)
			fate(r, chance, tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: appProject, ItemID: item, ActorID: "kim", Status: true})
			r.settle(6 * time.Minute)
			out = append(out, fmt.Sprint(to, ": ", r.outcome(item)))
		}
		r.replays()
	})
	return out
}

// For any schedule of lost, doubled, delayed and reordered webhooks, a card
// stands where it would stand if every webhook had come at once and once. The
// journal of every life is decided again as it was.
func TestConvergence(t *testing.T) {
	seeds := uint64(400)
	switch {
	case testing.Short():
		seeds = 100
	case os.Getenv("SOAK") != "":
		seeds = 4000
	}
	for seed := range seeds {
		want := schedule(t, seed, func(r *rig, _ *rand.Rand, h tracker.Hook) { r.hook(h) })
		got := schedule(t, seed, func(r *rig, rng *rand.Rand, h tracker.Hook) {
			for range rng.IntN(4) { // none: lost
				delay := time.Duration(rng.IntN(120)) * time.Second
				time.AfterFunc(delay, func() { r.hook(h) })
			}
		})
		require.Equal(t, want, got, "seed %d", seed)
	}
}
