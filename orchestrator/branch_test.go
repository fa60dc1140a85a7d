package orchestrator_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// What was STOPped does not come to main by a later task: a branch that a person has
// added to stays, the comment says so, and the next task begins on another.
func TestStoppedWorkStaysAway(t *testing.T) {
	stoppable(t, func(r *rig) {
		item := r.card(appProject, "x")
		r.move(appProject, item, stage.StatusToAnalyse)
		r.settle(10 * time.Second)
		first := r.task(item)
		r.place.SetRemote(appRepo, first.Branch, "a-person's-commit")
		r.move(appProject, item, stage.StatusStop)
		r.settle(time.Minute)
		said := strings.Join(r.comments(appProject, item), "\n")
		require.Contains(r, said, "Cancelled: STOP. The branch "+first.Branch+" stays: it has commits that the service has not made.")
		require.Contains(r, said, "refs/signalbox/kept/"+first.WorkItemID+"-1")
		require.NotContains(r, said, "removed")

		r.toDone(appProject, item)
		second := r.task(item)
		require.Equal(r, stage.Done, second.State.Stage)
		require.Equal(r, first.WorkItemID, second.WorkItemID)
		require.NotEqual(r, first.Branch, second.Branch)
		require.Equal(r, "a-person's-commit", r.place.Remote(appRepo, first.Branch))
		require.NotEmpty(r, r.place.Remote(appRepo, second.Branch))
		require.Equal(r, 1, count(r.roles()[1:], stage.Analyst), "the rename costs no run")
	})
}

// A branch of the task's name that a person has made is left alone too; what is
// removed after STOP is said.
func TestAPersonsBranchIsLeftAlone(t *testing.T) {
	stoppable(t, func(r *rig) {
		r.place.SetRemote(appRepo, "feature/APP-1-x", "a-person's-commit")
		item := r.card(appProject, "x")
		r.move(appProject, item, stage.StatusToAnalyse)
		r.settle(10 * time.Second)
		branch := r.task(item).Branch
		require.NotEqual(r, "feature/APP-1-x", branch)
		require.Equal(r, stage.HoldApproval, r.task(item).State.Hold)
		r.move(appProject, item, stage.StatusStop)
		r.settle(time.Minute)
		require.Contains(r, strings.Join(r.comments(appProject, item), "\n"), "The workspace and the branch "+branch+" are removed.")
		require.Equal(r, "a-person's-commit", r.place.Remote(appRepo, "feature/APP-1-x"))
		require.Empty(r, r.place.Remote(appRepo, branch))
	})
}

// The same where the branch is made at the beginning and not by the first agent.
func TestABranchIsNamedAnewAtTheBeginning(t *testing.T) {
	run(t, func(r *rig) {
		r.place.SetRemote(appRepo, "feature/APP-1-x", "a-person's-commit")
		item := r.card(appProject, "x")
		r.toDone(appProject, item)
		require.Equal(r, stage.Done, r.task(item).State.Stage)
		require.NotEqual(r, "feature/APP-1-x", r.task(item).Branch)
		require.Equal(r, "a-person's-commit", r.place.Remote(appRepo, "feature/APP-1-x"))
	})
}
