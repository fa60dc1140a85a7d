package orchestrator_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// What was STOPped does not come to main by a later task: a branch that a person has
// added to stays, the comment says so, and the next task begins on another.
func TestStoppedWorkStaysAway(t *testing.T) {
	stoppable(t, func(r *Rig) {
		item := r.Begin("x")
		r.Settle(10 * time.Second)
		first := r.Task(item)
		r.Place.SetRemote(AppRepo, first.Branch, "a-person's-commit")
		r.Set(item, stage.StatusStop)
		r.Settle(time.Minute)
		said := strings.Join(r.Comments(App, item), "\n")
		require.Contains(r, said, "Cancelled: STOP. The branch "+first.Branch+" stays: it has commits that the service has not made.")
		require.Contains(r, said, "refs/signalbox/kept/"+first.WorkItemID+"-1")
		require.NotContains(r, said, "removed")

		r.ToDone(App, item)
		second := r.Task(item)
		require.Equal(r, stage.Done, second.State.Stage)
		require.Equal(r, first.WorkItemID, second.WorkItemID)
		require.NotEqual(r, first.Branch, second.Branch)
		require.Equal(r, "a-person's-commit", r.Place.Remote(AppRepo, first.Branch))
		require.NotEmpty(r, r.Place.Remote(AppRepo, second.Branch))
		require.Equal(r, 1, count(r.Roles()[1:], stage.Analyst), "the rename costs no run")
	})
}

// A branch of the task's name that a person has made is left alone too; what is
// removed after STOP is said.
func TestAPersonsBranchIsLeftAlone(t *testing.T) {
	stoppable(t, func(r *Rig) {
		r.Place.SetRemote(AppRepo, "feature/APP-1-x", "a-person's-commit")
		item := r.Begin("x")
		r.Settle(10 * time.Second)
		branch := r.Task(item).Branch
		require.NotEqual(r, "feature/APP-1-x", branch)
		told := "The branch feature/APP-1-x is another's: the work of this task is in " + branch + ". If two servers work on this board, stop one."
		require.Equal(r, 1, strings.Count(strings.Join(r.Comments(App, item), "\n"), told))
		r.Waits(item, stage.HoldApproval)
		r.Set(item, stage.StatusStop)
		r.Settle(time.Minute)
		require.Contains(r, strings.Join(r.Comments(App, item), "\n"), "The workspace and the branch "+branch+" are removed.")
		require.Equal(r, "a-person's-commit", r.Place.Remote(AppRepo, "feature/APP-1-x"))
		require.Empty(r, r.Place.Remote(AppRepo, branch))
	})
}

// A person's commit on the task's own branch is not overwritten: the explanation names the
// command that sets the branch back, and then the task goes on.
func TestAPersonPushesToTheBranch(t *testing.T) {
	stoppable(t, func(r *Rig) {
		item := r.Begin("x")
		r.Settle(10 * time.Second)
		before := r.Task(item)
		r.Place.SetRemote(AppRepo, before.Branch, "a-person's-commit")
		r.Set(item, stage.StatusApproved)
		r.Settle(time.Minute)
		x := r.Explain(item)
		require.Equal(r, "human", x.Blockers[0].Kind)
		require.Contains(r, x.Blockers[0].Why, "set it back (git push --force-with-lease origin "+before.State.Pushed+":refs/heads/"+before.Branch+")")
		require.Equal(r, "a-person's-commit", r.Place.Remote(AppRepo, before.Branch))
		r.Place.SetRemote(AppRepo, before.Branch, before.State.Pushed)
		r.Set(item, stage.StatusInProgress)
		r.Settle(time.Minute)
		r.Waits(item, stage.HoldNone)
		require.NotEqual(r, before.State.Pushed, r.Place.Remote(AppRepo, before.Branch))
	})
}

// The same where the branch is made at the beginning and not by the first agent.
func TestABranchIsNamedAnewAtTheBeginning(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		r.Place.SetRemote(AppRepo, "feature/APP-1-x", "a-person's-commit")
		item := r.Finish("x")
		r.Stands(item, stage.Done)
		require.NotEqual(r, "feature/APP-1-x", r.Task(item).Branch)
		require.Equal(r, "a-person's-commit", r.Place.Remote(AppRepo, "feature/APP-1-x"))
	})
}
