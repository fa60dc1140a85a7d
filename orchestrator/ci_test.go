package orchestrator_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// atCI takes a card to where CI is waited for.
func (r *rig) atCI() (item string) {
	r.Helper()
	r.setCI(githost.CheckPending)
	item = r.card(appProject, "x")
	r.toDone(appProject, item)
	require.Equal(r, stage.Development, r.task(item).State.Stage)
	require.Empty(r, r.task(item).State.Active)
	return item
}

// A wait for CI ends, whatever CI does: a person is told, once, and can go on.
func TestCIThatNeverEnds(t *testing.T) {
	runWith(t, func(r *rig) { r.opt.CIWait = 2 * time.Hour }, func(r *rig) {
		item := r.atCI()
		r.settle(110 * time.Minute)
		require.Empty(r, r.task(item).State.Hold)
		r.settle(20 * time.Minute)
		task := r.task(item)
		require.Equal(r, stage.HoldBlocked, task.State.Hold)
		require.Contains(r, task.State.HoldReason, "has not finished for 2 h:")
		require.Equal(r, stage.StatusBlocked, r.status(appProject, item))
		require.Contains(r, r.notices(), "blocked: CI of ")
		r.settle(5 * time.Hour)
		require.Equal(r, 1, count(r.comments(appProject, item), "Blocked: "+task.State.HoldReason+".\nSet the status In Progress to try again."))
		r.setCI(githost.CheckPassed)
		r.move(appProject, item, stage.StatusInProgress)
		r.settle(time.Minute)
		require.Equal(r, stage.Done, r.task(item).State.Stage)
		r.replays()
	})
}

// Hearing of CI again and again does not prolong the wait.
func TestCIThatIsTalkedOf(t *testing.T) {
	runWith(t, func(r *rig) { r.opt.CIWait = time.Hour }, func(r *rig) {
		item := r.atCI()
		for range 8 {
			task := r.task(item)
			r.hostHook(githost.Hook{Kind: githost.HookCI, Repo: appRepo, Branch: task.Branch, SHA: task.State.Head, State: string(githost.CheckPending)})
			r.settle(10 * time.Minute)
		}
		require.Equal(r, stage.HoldBlocked, r.task(item).State.Hold)
	})
}

// A branch that was deleted at the host has no CI to wait for; In Progress makes it anew.
func TestCIOfADeletedBranch(t *testing.T) {
	run(t, func(r *rig) {
		item := r.atCI()
		task := r.task(item)
		r.place.SetRemote(appRepo, task.Branch, "")
		require.NoError(r, r.host.DeleteBranch(context.Background(), appRepo, task.Branch))
		r.settle(5 * time.Minute)
		require.Equal(r, stage.HoldBlocked, r.task(item).State.Hold)
		require.Contains(r, r.task(item).State.HoldReason, "the branch "+task.Branch+" was deleted there")
		r.setCI(githost.CheckPassed)
		r.move(appProject, item, stage.StatusInProgress)
		r.settle(2 * time.Minute)
		require.Equal(r, stage.Done, r.task(item).State.Stage, r.task(item).State.HoldReason)
		r.replays()
	})
}

// A branch that is deleted while an agent works cannot be published any more: the task is
// blocked with what to do, and that helps.
func TestPublishToADeletedBranch(t *testing.T) {
	run(t, func(r *rig) {
		item := r.atCI()
		task := r.task(item)
		r.move(appProject, item, stage.StatusRejected) // the developer works again
		r.settle(500 * time.Millisecond)
		r.place.SetRemote(appRepo, task.Branch, "")
		require.NoError(r, r.host.DeleteBranch(context.Background(), appRepo, task.Branch))
		r.settle(time.Minute)
		require.Equal(r, stage.HoldBlocked, r.task(item).State.Hold)
		require.Contains(r, r.task(item).State.HoldReason, "was deleted on the remote")
		r.setCI(githost.CheckPassed)
		r.move(appProject, item, stage.StatusInProgress)
		r.settle(2 * time.Minute)
		require.Equal(r, stage.Done, r.task(item).State.Stage, r.task(item).State.HoldReason)
	})
}

// F-3: a CI result of a commit that no branch names, and that is not the head, is a hint
// to look at the head of the only task at development. It is no verdict on that.
func TestCIOfAnUnknownCommit(t *testing.T) {
	runWith(t, func(r *rig) { r.opt.Stage.CIPoll = time.Hour }, func(r *rig) {
		item := r.atCI()
		head := r.task(item).State.Head
		unknown := func(state githost.CheckState, branches ...string) {
			r.hostHook(githost.Hook{Kind: githost.HookCI, Repo: appRepo, SHA: "0123456789012345678901234567890123456789", Branches: branches, State: string(state)})
			r.settle(500 * time.Millisecond)
		}
		unknown(githost.CheckPassed)
		unknown(githost.CheckFailed)
		require.Equal(r, stage.Development, r.task(item).State.Stage, "what was said of another commit")
		require.Empty(r, r.task(item).State.Active)

		r.host.SetChecks(head, githost.Check{Name: "build", State: githost.CheckPassed})
		unknown(githost.CheckPassed, r.task(item).Branch)
		require.Equal(r, stage.Development, r.task(item).State.Stage, "the branch is known, and has moved on")
		unknown(githost.CheckFailed)
		require.Equal(r, stage.Review, r.task(item).State.Stage, "the head is green at the host")
		r.replays()
	})
}
