package mergegate_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/explain"
	"github.com/signalbox-dev/signalbox/orchestrator/features/livemessage"
	"github.com/signalbox-dev/signalbox/orchestrator/features/mergegate"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/tracker"
)

// lineRig is a gate whose re-tests end when pass says so, with live messages.
type lineRig struct{ *gateRig }

func mergeLine(t *testing.T, f func(lineRig)) {
	t.Helper()
	mergeGate(t, func(g *gateRig) {
		g.Shutdown()
		gate := g.Features
		g.Features = func() []orchestrator.Feature {
			live, err := livemessage.Feature(livemessage.Options{Parts: g.Parts(), Messenger: g.Chat})
			require.NoError(g, err)
			return append(gate(), live)
		}
		g.Start()
		told := g.Place.OnPush
		g.Place.OnPush = func(repo, branch, sha string) {
			list, _ := g.Store.Tasks(context.Background(), task.Filter{Branch: branch})
			if len(list) > 0 && list[0].State.Phase == stage.PhaseCatchUp {
				g.Host.Push(repo, branch, sha) // CI of what was rebased says nothing yet
				return
			}
			told(repo, branch, sha)
		}
		f(lineRig{g})
	})
}

// pass ends the re-test of a task well.
func (l lineRig) pass(item string) {
	l.Helper()
	require.Equal(l, stage.PhaseRetest, l.Task(item).State.Phase)
	l.green(item)
}

// Tasks have the merge lease in the order in which they came to it, each as soon as the
// one before it has no use for it any more; each place is shown, and a stopped task
// leaves the line.
func TestMergeLine(t *testing.T) {
	mergeLine(t, func(l lineRig) {
		one, two, three, four := l.Finish("one"), l.Finish("two"), l.Finish("three"), l.Finish("four")
		l.Settle(3 * time.Hour) // longer than any lease, and than the waiting was capped
		require.Equal(l, stage.PhaseRetest, l.Task(one).State.Phase)
		v, err := explain.ReadQueue(context.Background(), l.Engine)
		require.NoError(l, err)
		for item, want := range map[string]string{
			two:   "number 2 in line to merge in acme/app, behind " + l.Task(one).WorkItemID,
			three: "number 3 in line to merge in acme/app, behind " + l.Task(two).WorkItemID,
			four:  "number 4 in line to merge in acme/app, behind " + l.Task(three).WorkItemID,
		} {
			x := l.Explain(item)
			require.Equal(l, "The merge gate: "+want+".", x.Summary)
			require.Contains(l, x.Blockers[0].Do, "is merged or sent back, or stop it")
			require.Contains(l, fmt.Sprintf("%+v", l.Silent()), "waits: "+want, "the live message")
			require.Contains(l, fmt.Sprint(v.Features["merge_gate"]), want)
		}

		l.Set(three, stage.StatusStop)
		l.Settle(10 * time.Second)
		require.Contains(l, l.summary(four), "number 3 in line to merge in acme/app, behind "+l.Task(two).WorkItemID)

		l.pass(one)
		for l.Task(one).State.Stage != stage.Done {
			l.Settle(time.Second)
		}
		l.Settle(3 * time.Second) // at once, and not at the next look
		require.Equal(l, stage.PhaseRetest, l.Task(two).State.Phase)
		require.Contains(l, l.summary(four), "number 2 in line to merge in acme/app, behind "+l.Task(two).WorkItemID)

		l.Set(two, stage.StatusRejected)
		l.Settle(4 * time.Second)
		require.Equal(l, stage.PhaseRetest, l.Task(four).State.Phase, "the one before it was sent back")
		l.pass(four)
		l.Settle(time.Minute)
		l.Stands(four, stage.Done)
		l.Settle(2 * time.Minute)
		require.Equal(l, stage.PhaseRetest, l.Task(two).State.Phase, "it came again, to the end of the line")
		held, err := l.Store.Holds(context.Background())
		require.NoError(l, err)
		require.Empty(l, held)
	})
}

// The first to come is first, whatever the numbers of the tasks; and a service that was down
// meanwhile has not lost it.
func TestMergeLineIsDurable(t *testing.T) {
	mergeLine(t, func(l lineRig) {
		late := l.Begin("late")
		l.Settle(10 * time.Second)
		one, two := l.Finish("one"), l.Finish("two")
		l.Set(late, stage.StatusApproved)
		l.Settle(time.Minute)
		require.Contains(l, l.summary(late), "number 3 in line to merge in acme/app, behind "+l.Task(two).WorkItemID)
		l.Shutdown()
		time.Sleep(time.Hour) // the lease of one has ended by itself
		l.Start()
		l.Settle(10 * time.Second)
		if l.Task(one).State.Phase == stage.PhaseRetest {
			l.pass(one)
		}
		l.Settle(2 * time.Minute)
		l.Stands(one, stage.Done)
		require.Equal(l, stage.PhaseRetest, l.Task(two).State.Phase)
		require.Contains(l, l.summary(late), "number 2 in line to merge in acme/app, behind "+l.Task(two).WorkItemID)
	})
}

// A holder that died before it let the next one have the lease: the line goes on within a
// minute of the lease's end.
func TestMergeLineOutlivesAHolder(t *testing.T) {
	mergeLine(t, func(l lineRig) {
		_, err := l.leases.Acquire(context.Background(), mergeLease, "APP-9 (task 9)", time.Hour)
		require.NoError(l, err)
		one := l.Finish("one")
		require.Contains(l, l.summary(one), "behind APP-9")
		l.Settle(61 * time.Minute)
		require.Equal(l, stage.PhaseRetest, l.Task(one).State.Phase)
	})
}

// What takes something back stands before all others in the line, which may be held for it, and who has the lease is not held.
func TestUndoIsFirstInLine(t *testing.T) {
	at := func(lane string, minute int) task.Task {
		return task.Task{State: stage.State{Lane: lane, MergeGate: stage.MergeGate{LinedUp: time.Unix(int64(60*minute), 0)}}}
	}
	require.Negative(t, mergegate.First(at("undo", 2), at("", 1)))
	require.Positive(t, mergegate.First(at("", 1), at("undo", 2)))
	require.Negative(t, mergegate.First(at("", 1), at("fix", 2)))
	require.Negative(t, mergegate.First(at("undo", 1), at("undo", 2)))
	for _, kind := range []stage.EffectKind{orchestrator.EffectCatchUp, stage.EffectMerge} {
		held := func(t task.Task) []string {
			return orchestrator.EffectJob(t, task.Project{Repo: AppRepo}, stage.Effect{Kind: kind}, "k").Holds
		}
		leased := at("", 1)
		leased.State.Leased = true
		require.Contains(t, held(at("", 1)), orchestrator.MergesIn(AppRepo))
		require.NotContains(t, held(at("undo", 1)), orchestrator.MergesIn(AppRepo))
		require.NotContains(t, held(leased), orchestrator.MergesIn(AppRepo))
	}
}

// Who waits for an approval is not in the line: others are merged before it, and its turn comes when it is approved.
func TestUnapprovedLeavesTheLine(t *testing.T) {
	mergeLine(t, func(l lineRig) {
		unapproved := func(item string, is githost.Readiness) {
			l.Host.ChangePull(AppRepo, l.Task(item).Branch, func(p *githost.PullRequest) { p.Readiness = is })
		}
		l.Place.SetScript(func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			if t, err := l.Store.Task(ctx, c.TaskID); err == nil && c.Role == stage.Tester && t.ID == 1 {
				l.Host.ChangePull(AppRepo, t.Branch, func(p *githost.PullRequest) {
					p.Readiness = githost.Readiness{Standing: githost.StandingBlocked, Required: 1}
				})
			}
			return GoodAgent(ctx, c, files)
		})
		one := l.Finish("one")
		two := l.Finish("two")
		l.Settle(time.Minute)
		require.Contains(l, l.summary(one), "waits for 1 approval by somebody with write access")
		require.Equal(l, stage.PhaseCatchUp, l.Task(one).State.Phase)
		require.False(l, l.Task(one).State.Leased)
		l.pass(two)
		l.Settle(time.Minute)
		l.Stands(two, stage.Done)
		unapproved(one, githost.Readiness{})
		l.HostHook(githost.Hook{Kind: githost.HookReview, Repo: AppRepo, Branch: l.Task(one).Branch, Number: 1, State: string(githost.ReviewApproved), Sender: "kim"})
		l.Settle(10 * time.Second)
		l.pass(one)
		l.Settle(time.Minute)
		l.Stands(one, stage.Done)
	})
}

// A task without its card leaves the line as well, and the lease that it has goes to the next one.
func TestGoneLeavesTheLine(t *testing.T) {
	mergeLine(t, func(l lineRig) {
		one, two, three := l.Finish("one"), l.Finish("two"), l.Finish("three")
		for _, item := range []string{one, two} {
			l.Board.Remove(App, item)
			l.Hook(tracker.Hook{Kind: tracker.HookItemRemoved, ProjectID: App, ItemID: item, ActorID: "kim"})
		}
		l.Settle(time.Hour)
		l.pass(three)
		l.Settle(time.Minute)
		l.Stands(three, stage.Done)
		l.Board.Put(tracker.Item{ID: one, ProjectID: App, Status: l.Task(one).State.Set})
		l.Hook(tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: App, ItemID: one, ActorID: "kim"})
		for range 2 { // what it was tested on is not main any more
			l.Settle(time.Minute)
			l.pass(one)
		}
		l.Settle(time.Minute)
		l.Stands(one, stage.Done)
	})
}

// A pull request that changes while its task has the lease is not merged: the refusal gives the lease back.
func TestRetargetedWithTheLease(t *testing.T) {
	mergeLine(t, func(l lineRig) {
		one, two := l.Finish("one"), l.Finish("two")
		require.True(l, l.Task(one).State.Leased)
		l.Host.ChangePull(AppRepo, l.Task(one).Branch, func(p *githost.PullRequest) { p.BaseRef = "release" })
		l.HostHook(githost.Hook{Kind: githost.HookPullRequest, Action: "edited", Repo: AppRepo, Branch: l.Task(one).Branch, Number: 1})
		l.Settle(time.Second)
		l.pass(one)
		l.Settle(time.Minute)
		l.Waits(one, stage.HoldBlocked)
		require.Contains(l, l.Task(one).State.HoldReason, "goes into release, and not into main: set its base back")
		require.True(l, l.Task(two).State.Leased)
		l.Host.ChangePull(AppRepo, l.Task(one).Branch, func(p *githost.PullRequest) { p.BaseRef = "main" })
		l.pass(two)
		l.Settle(time.Minute)
		l.Set(one, stage.StatusInProgress)
		l.Settle(10 * time.Second)
		l.pass(one)
		l.Settle(time.Minute)
		l.Stands(one, stage.Done)
	})
}

// Whose branch a person has pushed to while it stood in the line does not take the lease, whether that was heard of or not: the
// next one does.
func TestPushedInLine(t *testing.T) {
	mergeLine(t, func(l lineRig) {
		one, two, three := l.Finish("one"), l.Finish("two"), l.Finish("three")
		sha := l.PushUnheard(two, "", map[string]string{"theirs.go": "package theirs"})
		l.Set(one, stage.StatusStop) // main stays where it is, so that nothing is rebased
		l.Settle(time.Minute)
		require.True(l, l.Task(three).State.Leased)
		held, _, err := l.leases.Holder(l.Context(), mergeLease)
		require.NoError(l, err)
		require.EqualValues(l, 2, held.Epoch, "one had it, and three has")
		require.True(l, l.Place.Contains(l.Task(two).State.Head, sha))
		l.green(two)
		l.Settle(2 * time.Minute)
		require.Contains(l, l.summary(two), "number 2 in line to merge in acme/app, behind "+l.Task(three).WorkItemID, "it was judged again")
	})
}

// A lease that cannot be given back is, once it can be: it keeps nobody from merging until it ends by itself.
func TestMergeGateGivesBack(t *testing.T) {
	mergeGate(t, func(g *gateRig) {
		g.Shutdown()
		g.Place.SetRemote(AppRepo, "main", "")
		g.repos = []string{"acme/other"} // others have the lease for the moment of the merge
		g.Start()
		g.full.Store(true)
		item := g.Finish("x")
		g.full.Store(false)
		g.Settle(time.Minute)
		g.Stands(item, stage.Done)
		g.free()
		require.Len(g, g.forge.bases(), 1, "merged once")
	})
}
