package reconcile_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/fault/faulttest"
	"github.com/signalbox-dev/signalbox/orchestrator/features/reconcile"
	"github.com/signalbox-dev/signalbox/orchestrator/features/stop"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/memtracker"
)

// reconciled makes a rig with the reconciler and STOP on.
func reconciled(t *testing.T, f func(*Rig, *reconcile.Reconciler)) {
	t.Helper()
	var rec *reconcile.Reconciler
	reconciledAs(t, &rec, func(r *Rig) { f(r, rec) })
}

// reconciledAs keeps in rec which reconciler is at work.
func reconciledAs(t *testing.T, rec **reconcile.Reconciler, f func(*Rig), prepare ...func(*Rig)) {
	t.Helper()
	Run(t, func(r *Rig) {
		for _, p := range prepare {
			p(r)
		}
		r.Features = func() []orchestrator.Feature {
			var err error
			*rec, err = reconcile.New(reconcile.Options{Tracker: r.Board, Board: r.Board, Brake: 5, Sources: []string{"plane"}})
			require.NoError(r, err)
			s, err := stop.Feature(r.Parts())
			require.NoError(r, err)
			return []orchestrator.Feature{s, (*rec).Feature()}
		}
	}, f)
}

// Every webhook is lost; the boards are enough.
func TestBoardWithoutWebhooks(t *testing.T) {
	reconciled(t, func(r *Rig, rec *reconcile.Reconciler) {
		item := r.Card(App, "x")
		for _, step := range []struct {
			to   stage.Status
			want func(task.Task) bool
		}{
			{stage.StatusToAnalyse, func(t task.Task) bool { return t.State.Hold == stage.HoldApproval && t.State.Run == 1 }},
			{stage.StatusRejected, func(t task.Task) bool { return t.State.Hold == stage.HoldApproval && t.State.Run == 2 }},
			{stage.StatusRejected, func(t task.Task) bool { return t.State.Hold == stage.HoldApproval && t.State.Run == 3 }},
			{stage.StatusInProgress, func(t task.Task) bool { return t.State.Hold == stage.HoldApproval && t.State.Run == 4 }},
			{stage.StatusApproved, func(t task.Task) bool { return t.State.Stage == stage.Done }},
		} {
			r.MoveUnseen(App, item, step.to)
			r.Settle(3 * time.Minute)
			require.True(r, step.want(r.Task(item)), "%s: %+v", step.to, r.Task(item).State)
		}
		require.ErrorContains(r, rec.Webhooks(context.Background()), "without webhooks")
		again := r.Card(App, "y")
		r.MoveUnseen(App, again, stage.StatusToAnalyse)
		r.Settle(3 * time.Minute)
		r.MoveUnseen(App, again, stage.StatusStop)
		r.Settle(3 * time.Minute)
		require.Equal(r, stage.Cancelled, r.Cancelled(again).State.Stage, "a STOP that was lost")
	})
}

// A task that was stopped by an operator is not begun again because the board, which takes
// no writes at the time or refuses them for good, still shows the word that began it.
func TestStopIsNotUndoneByTheBoard(t *testing.T) {
	for name, how := range map[string]faulttest.Kind{"for a while": faulttest.Passing, "for good": faulttest.Final} {
		t.Run(name, func(t *testing.T) {
			reconciled(t, func(r *Rig, _ *reconcile.Reconciler) {
				item := r.Card(App, "x")
				r.Board.FailCall("SetStatus", faulttest.Error(how))
				r.Set(item, stage.StatusToAnalyse)
				r.Settle(10 * time.Second)
				require.NoError(r, admin.Stop(context.Background(), r.Engine, r.Task(item).ID, admin.OperatorBy(stage.ViaAPI)))
				r.Settle(20 * time.Minute)
				require.Equal(r, stage.StatusToAnalyse, r.Status(App, item))
				tasks, err := r.Store.Tasks(context.Background(), task.Filter{})
				require.NoError(r, err)
				require.Len(r, tasks, 1, "nobody has set To Analyse again")
				require.Equal(r, stage.Cancelled, tasks[0].State.Stage)
				r.Board.FailCall("SetStatus", nil)
				r.Settle(3 * time.Hour)
				r.Set(item, stage.StatusApproved)
				r.Settle(time.Minute)
				r.Set(item, stage.StatusToAnalyse)
				r.Settle(time.Minute)
				r.Waits(item, stage.HoldApproval)
			})
		})
	}
}

// swallowing is a board that loses a status although it says that it was set.
type swallowing struct {
	*memtracker.Board

	lost   stage.Status
	mended atomic.Bool
}

func (s *swallowing) SetStatus(ctx context.Context, project, item string, status stage.Status) error {
	if status == s.lost && !s.mended.Load() {
		return nil
	}
	return s.Board.SetStatus(ctx, project, item, status)
}

// A column that is owed and does not stand is set, once; where a person has put the card it stays.
func TestColumnIsRestored(t *testing.T) {
	for name, c := range map[string]struct {
		lost stage.Status
		move func(r *Rig, item string)
		want stage.Status
	}{
		"another process's write comes late": {"", func(r *Rig, item string) {
			require.NoError(r, r.Board.SetStatus(context.Background(), App, item, stage.StatusDeploying))
		}, stage.StatusDone},
		"it stands in the column of a trigger": {"", func(r *Rig, item string) {
			require.NoError(r, r.Board.SetStatus(context.Background(), App, item, stage.StatusInProgress))
		}, stage.StatusDone},
		"a person has moved it": {"", func(r *Rig, item string) {
			r.MoveUnseen(App, item, stage.StatusDeploying)
		}, stage.StatusDeploying},
		"while the task waits":     {stage.StatusInReview, nil, stage.StatusInReview},
		"the write was never made": {stage.StatusDone, nil, stage.StatusDone},
		"a column nobody has written": {"", func(r *Rig, item string) {
			require.NoError(r, r.Board.SetStatus(context.Background(), App, item, stage.StatusBlocked))
		}, stage.StatusBlocked},
	} {
		t.Run(name, func(t *testing.T) {
			board := &swallowing{lost: c.lost}
			Run(t, func(r *Rig) {
				board.Board = r.Board
				r.Tracker = board
				r.Features = alone(r)
			}, func(r *Rig) {
				item := r.Begin("x")
				r.Settle(time.Minute)
				if c.lost != stage.StatusInReview {
					r.Set(item, stage.StatusApproved)
					r.Settle(time.Minute)
					r.Stands(item, stage.Done)
				}
				if c.move != nil {
					c.move(r, item)
				}
				board.mended.Store(true)
				r.Settle(10 * time.Minute)
				require.Equal(r, c.want, r.Status(App, item))
				before := written(r, item)
				r.Settle(5 * time.Hour)
				require.Equal(r, before, written(r, item), "it is at rest")
			})
		})
	}
}

// alone is the reconciler without other features.
func alone(r *Rig) func() []orchestrator.Feature {
	return func() []orchestrator.Feature {
		rec, err := reconcile.New(reconcile.Options{Tracker: r.Board, Board: r.Board})
		require.NoError(r, err)
		return []orchestrator.Feature{rec.Feature()}
	}
}

// written is how many entries a task's journal and how many jobs the queue have.
func written(r *Rig, item string) [2]int {
	entries, err := r.Store.Journal(context.Background(), r.Task(item).ID)
	require.NoError(r, err)
	jobs, err := r.Store.Jobs(context.Background(), queue.Filter{Limit: 100_000})
	require.NoError(r, err)
	return [2]int{len(entries), len(jobs)}
}

// A word is heard that a write of the service has replaced, and whose webhook was lost.
func TestOverwrittenWordIsFound(t *testing.T) {
	for word, want := range map[stage.Status]func(task.Task) bool{
		stage.StatusApproved: func(t task.Task) bool { return t.State.Stage == stage.Done },
		stage.StatusRejected: func(t task.Task) bool { return t.State.Hold == stage.HoldApproval && t.State.Run == 2 },
		stage.StatusStop:     func(t task.Task) bool { return t.State.Stage == stage.Cancelled },
	} {
		t.Run(string(word), func(t *testing.T) {
			reconciled(t, func(r *Rig, _ *reconcile.Reconciler) {
				item := r.Card(App, "x")
				r.Set(item, stage.StatusToAnalyse)
				r.Settle(time.Minute)
				shows := r.Status(App, item)
				r.MoveUnseen(App, item, word)
				require.NoError(r, r.Board.SetStatus(context.Background(), App, item, shows))
				r.Settle(5 * time.Minute)
				newest, err := orchestrator.NewestTask(context.Background(), r.Store, item)
				require.NoError(r, err)
				require.True(r, want(newest), "%+v", newest.State)
			})
		})
	}
}

// What stands still is not touched again and again.
func TestReconcilerIsQuiet(t *testing.T) {
	reconciled(t, func(r *Rig, _ *reconcile.Reconciler) {
		item := r.Begin("x")
		r.Settle(10 * time.Minute)
		before := written(r, item)
		r.Settle(5 * time.Hour)
		require.Equal(r, before, written(r, item))
		require.Len(r, r.Roles(), 1)
	})
}

// A board with few columns shows our own statuses in the column of a trigger:
// they are not taken for a person's word.
func TestFallbackColumnsAreOurOwn(t *testing.T) {
	Run(t, func(r *Rig) {
		r.Board.AddProject(App, stage.StatusToAnalyse, stage.StatusInProgress, stage.StatusApproved, stage.StatusDone)
		r.Features = alone(r)
	}, func(r *Rig) {
		item := r.Begin("x")
		r.Settle(time.Hour)
		require.Equal(r, stage.StatusInProgress, r.Status(App, item))
		require.Len(r, r.Roles(), 1)
	})
}

// A task that waits for an answer is not advanced past its question.
func TestQuestionsAreNotPassedOver(t *testing.T) {
	reconciled(t, func(r *Rig, _ *reconcile.Reconciler) {
		r.Place.SetScript(Instead(stage.Architect, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			files[c.Env["SIGNALBOX_DOCS"]+"/questions.md"] = "Which?"
			return GoodAgent(ctx, c, files)
		}))
		item := r.Finish("x")
		r.Settle(2 * time.Hour)
		r.Waits(item, stage.HoldNeedsInput)
	})
}

// Many are few on a large board.
func TestBrakeIsAShare(t *testing.T) {
	reconciled(t, func(r *Rig, _ *reconcile.Reconciler) {
		r.SetCI("") // nobody gets further than In Progress
		for range 25 {
			item := r.Begin("at work")
			r.Settle(3 * time.Second)
			r.Set(item, stage.StatusApproved)
		}
		r.Settle(time.Minute)
		for range 6 {
			r.MoveUnseen(App, r.Card(App, "lost"), stage.StatusToAnalyse)
		}
		r.Settle(5 * time.Minute)
		list, err := r.Store.Tasks(context.Background(), task.Filter{})
		require.NoError(r, err)
		require.Len(r, list, 31)
	})
}

// outcome is where a card stands, for people.
func outcome(r *Rig, item string) string {
	list, err := r.Store.Tasks(context.Background(), task.Filter{})
	require.NoError(r, err)
	text := ""
	for _, t := range list {
		if original, _ := task.ParseTombstone(t.TrackerIssueID); original == item {
			text += fmt.Sprintf("%s %s run %d; ", t.State.Stage, t.State.Hold, t.State.Run)
		}
	}
	return text
}

// schedule plays a person's moves, chosen by a seed; fate delivers each webhook.
// It returns where the card stood after each.
func schedule(t *testing.T, seed uint64, fate func(r *Rig, rng *rand.Rand, h tracker.Hook)) (out []string) {
	t.Helper()
	reconciled(t, func(r *Rig, _ *reconcile.Reconciler) {
		moves, chance := rand.New(rand.NewPCG(seed, 1)), rand.New(rand.NewPCG(seed, 2))
		item := r.Card(App, "x")
		choices := []stage.Status{
			stage.StatusToAnalyse, stage.StatusApproved, stage.StatusRejected, stage.StatusInProgress, stage.StatusStop, stage.StatusApproved, stage.StatusToAnalyse,
		}
		for range 5 {
			to := choices[moves.IntN(len(choices))]
			r.MoveUnseen(App, item, to)
			fate(r, chance, tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: App, ItemID: item, ActorID: "kim", Status: true})
			r.Settle(6 * time.Minute)
			out = append(out, fmt.Sprint(to, ": ", outcome(r, item)))
		}
		r.Replays()
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
		want := schedule(t, seed, func(r *Rig, _ *rand.Rand, h tracker.Hook) { r.Hook(h) })
		got := schedule(t, seed, func(r *Rig, rng *rand.Rand, h tracker.Hook) {
			for range rng.IntN(4) { // none: lost
				delay := time.Duration(rng.IntN(120)) * time.Second
				time.AfterFunc(delay, func() { r.Hook(h) })
			}
		})
		require.Equal(t, want, got, "seed %d", seed)
	}
}

// A pull request that is ready again, of which no webhook has come, is seen within minutes, and is not read all the while.
func TestPullRequestIsReadAgain(t *testing.T) {
	reconciled(t, func(r *Rig, _ *reconcile.Reconciler) {
		hanging := Instead(stage.Reviewer, Hang)
		r.Place.SetScript(hanging)
		item := r.Finish("x")
		at := r.Task(item)
		draft := func(is bool) {
			r.Host.ChangePull(AppRepo, at.Branch, func(p *githost.PullRequest) { p.Draft = is })
		}
		draft(true)
		r.HostHook(githost.Hook{Kind: githost.HookPullRequest, Action: "converted_to_draft", Repo: AppRepo, Branch: at.Branch, Number: at.State.PR})
		r.Settle(10 * time.Second)
		require.Contains(r, r.Explain(item).Summary, "is a draft")
		r.Settle(20 * time.Minute)
		require.Contains(r, r.Explain(item).Summary, "is a draft")
		draft(false)
		r.Settle(7 * time.Minute)
		require.NotContains(r, r.Explain(item).Summary, "is a draft")
	})
}

// What a person has rejected, and no agent could work on, goes on by no green gate.
func TestRejectedWorkStays(t *testing.T) {
	Run(t, func(r *Rig) {
		r.Features = func() []orchestrator.Feature {
			rec, err := reconcile.New(reconcile.Options{})
			require.NoError(r, err)
			return []orchestrator.Feature{rec.Feature()}
		}
	}, func(r *Rig) {
		r.Place.SetScript(Instead(stage.Tester, Hang))
		item := r.Finish("x")
		r.Place.SetScript(Instead(stage.Developer, func(context.Context, work.Command, map[string]string) work.Result {
			return work.Result{Kind: work.ResultFailed, Reason: "no such model"}
		}))
		r.Board.Say(item, "kim", "it deletes data")
		r.Set(item, stage.StatusRejected)
		r.Settle(20 * time.Minute)
		r.Waits(item, stage.HoldBlocked)
		r.Settle(time.Hour)
		require.Zero(r, r.Host.Merges())
	})
}
