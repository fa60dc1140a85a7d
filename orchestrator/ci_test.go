package orchestrator_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// atCI takes a card to where CI is waited for.
func atCI(r *orchestratortest.Rig) (item string) {
	r.Helper()
	r.SetCI(githost.CheckPending)
	item = r.Card(orchestratortest.App, "x")
	r.ToDone(orchestratortest.App, item)
	require.Equal(r, stage.Development, r.Task(item).State.Stage)
	require.Empty(r, r.Task(item).State.Active)
	return item
}

// A wait for CI ends, whatever CI does: a person is notified, once, and can have it looked at again, which
// runs no agent.
func TestCIThatNeverEnds(t *testing.T) {
	orchestratortest.Run(t, func(r *orchestratortest.Rig) { r.Options.CIWait = 2 * time.Hour }, func(r *orchestratortest.Rig) {
		item := atCI(r)
		r.Settle(110 * time.Minute)
		require.Empty(r, r.Task(item).State.Hold)
		r.Settle(20 * time.Minute)
		task := r.Task(item)
		require.Equal(r, stage.HoldBlocked, task.State.Hold)
		require.Contains(r, task.State.HoldReason, "has not finished for 2 h:")
		require.Equal(r, stage.StatusBlocked, r.Status(orchestratortest.App, item))
		require.Contains(r, r.Notices(), "blocked: CI of ")
		r.Settle(5 * time.Hour)
		do, _ := stage.Remedy(task.State)
		require.Contains(r, do, "In Progress on the card has it looked at again")
		require.Equal(r, 1, count(r.Comments(orchestratortest.App, item), "Blocked: "+task.State.HoldReason+".\n"+do+"."))
		r.Move(orchestratortest.App, item, stage.StatusInProgress)
		r.Settle(time.Hour)
		require.Empty(r, r.Task(item).State.Hold, "it waits for CI once more")
		r.SetCI(githost.CheckPassed)
		r.Host.SetChecks(task.State.Head, githost.Check{Name: "build", State: githost.CheckPassed})
		r.Settle(time.Minute)
		require.Equal(r, stage.Done, r.Task(item).State.Stage)
		require.Equal(r, 1, r.Ran(stage.Developer))
		r.Replays()
	})
}

// Hearing of CI again and again does not prolong the wait.
func TestCIThatIsTalkedOf(t *testing.T) {
	orchestratortest.Run(t, func(r *orchestratortest.Rig) { r.Options.CIWait = time.Hour }, func(r *orchestratortest.Rig) {
		item := atCI(r)
		for range 8 {
			task := r.Task(item)
			r.HostHook(githost.Hook{Kind: githost.HookCI, Repo: orchestratortest.AppRepo, Branch: task.Branch, SHA: task.State.Head, State: string(githost.CheckPending)})
			r.Settle(10 * time.Minute)
		}
		require.Equal(r, stage.HoldBlocked, r.Task(item).State.Hold)
	})
}

// A branch that was deleted at the host has no CI to wait for; In Progress makes it anew.
func TestCIOfADeletedBranch(t *testing.T) {
	orchestratortest.Run(t, nil, func(r *orchestratortest.Rig) {
		item := atCI(r)
		task := r.Task(item)
		r.Place.SetRemote(orchestratortest.AppRepo, task.Branch, "")
		require.NoError(r, r.Host.DeleteBranch(context.Background(), orchestratortest.AppRepo, task.Branch))
		r.Settle(5 * time.Minute)
		require.Equal(r, stage.HoldBlocked, r.Task(item).State.Hold)
		require.Contains(r, r.Task(item).State.HoldReason, "the branch "+task.Branch+" was deleted there")
		r.SetCI(githost.CheckPassed)
		r.Move(orchestratortest.App, item, stage.StatusInProgress)
		r.Settle(2 * time.Minute)
		require.Equal(r, stage.Done, r.Task(item).State.Stage, r.Task(item).State.HoldReason)
		r.Replays()
	})
}

// A branch that is deleted while an agent works cannot be published any more: the task is
// blocked with what to do, and that helps.
func TestPublishToADeletedBranch(t *testing.T) {
	orchestratortest.Run(t, nil, func(r *orchestratortest.Rig) {
		item := atCI(r)
		task := r.Task(item)
		r.Move(orchestratortest.App, item, stage.StatusRejected) // the developer works again
		r.Settle(500 * time.Millisecond)
		r.Place.SetRemote(orchestratortest.AppRepo, task.Branch, "")
		require.NoError(r, r.Host.DeleteBranch(context.Background(), orchestratortest.AppRepo, task.Branch))
		r.Settle(time.Minute)
		require.Equal(r, stage.HoldBlocked, r.Task(item).State.Hold)
		require.Contains(r, r.Task(item).State.HoldReason, "was deleted on the remote")
		r.SetCI(githost.CheckPassed)
		r.Move(orchestratortest.App, item, stage.StatusInProgress)
		r.Settle(2 * time.Minute)
		require.Equal(r, stage.Done, r.Task(item).State.Stage, r.Task(item).State.HoldReason)
	})
}

// F-3: a CI result of a commit that no branch names, and that is not the head, is a hint
// to look at the head of the only task at development. It is no verdict on that.
func TestCIOfAnUnknownCommit(t *testing.T) {
	orchestratortest.Run(t, func(r *orchestratortest.Rig) { r.Options.Stage.CIPoll = time.Hour }, func(r *orchestratortest.Rig) {
		item := atCI(r)
		head := r.Task(item).State.Head
		unknown := func(state githost.CheckState, branches ...string) {
			r.HostHook(githost.Hook{Kind: githost.HookCI, Repo: orchestratortest.AppRepo, SHA: "0123456789012345678901234567890123456789", Branches: branches, State: string(state)})
			r.Settle(500 * time.Millisecond)
		}
		unknown(githost.CheckPassed)
		unknown(githost.CheckFailed)
		require.Equal(r, stage.Development, r.Task(item).State.Stage, "what was said of another commit")
		require.Empty(r, r.Task(item).State.Active)

		r.Host.SetChecks(head, githost.Check{Name: "build", State: githost.CheckPassed})
		unknown(githost.CheckPassed, r.Task(item).Branch)
		require.Equal(r, stage.Development, r.Task(item).State.Stage, "the branch is known, and has moved on")
		unknown(githost.CheckFailed)
		require.Equal(r, stage.Review, r.Task(item).State.Stage, "the head is green at the host")
		r.Replays()
	})
}

// What CI says of the head after it was judged counts: the merge waits for what is not
// finished, and what has failed goes to the developer. The host is not called to merge it.
func TestCIBeforeTheMerge(t *testing.T) {
	orchestratortest.Run(t, nil, func(r *orchestratortest.Rig) {
		item := r.Card(orchestratortest.App, "x")
		r.Place.SetScript(orchestratortest.Instead(stage.Deployer, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			if c.Stage == stage.DeployStaging && r.Ran(stage.Developer) == 1 {
				r.SetCI(githost.CheckPending) // of the report of this run
			}
			return orchestratortest.GoodAgent(ctx, c, files)
		}))
		r.ToDone(orchestratortest.App, item)
		r.Settle(time.Minute)
		task := r.Task(item)
		require.Equal(r, []any{stage.Deploy, stage.PhaseRetest, stage.HoldNone}, []any{task.State.Stage, task.State.Phase, task.State.Hold})
		require.Zero(r, r.Host.Merges())
		require.True(r, r.Commented(orchestratortest.App, item, "not merged yet: CI is not finished at "))
		require.Contains(r, r.Explain(item).Summary, "Waits for CI before the merge")

		r.SetCI(githost.CheckPassed)
		r.Host.SetChecks(task.State.Head, githost.Check{Name: "build", State: githost.CheckFailed, Kind: "check_run"})
		r.Settle(time.Minute)
		require.Equal(r, 2, r.Ran(stage.Developer))
		require.Equal(r, stage.Done, r.Task(item).State.Stage, r.Comments(orchestratortest.App, item))
		require.Equal(r, 1, r.Host.Merges())
		r.Replays()
	})
}

// A merge that waits for CI goes on when it is green.
func TestCIGreenBeforeTheMerge(t *testing.T) {
	orchestratortest.Run(t, nil, func(r *orchestratortest.Rig) {
		item := r.Card(orchestratortest.App, "x")
		r.Place.SetScript(orchestratortest.Instead(stage.Deployer, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			r.SetCI(githost.CheckPending)
			return orchestratortest.GoodAgent(ctx, c, files)
		}))
		r.ToDone(orchestratortest.App, item)
		r.Settle(time.Minute)
		require.Zero(r, r.Host.Merges())
		r.Host.SetChecks(r.Task(item).State.Head, githost.Check{Name: "build", State: githost.CheckPassed, Kind: "check_run"})
		r.Settle(time.Minute)
		require.Equal(r, stage.Done, r.Task(item).State.Stage, r.Comments(orchestratortest.App, item))
		require.Equal(r, 1, r.Ran(stage.Developer))
		r.Replays()
	})
}

// withWorkflow is a repository that has a workflow, and whose agents report nothing but by CI.
func withWorkflow(r *orchestratortest.Rig) {
	r.Projects[0].Protected.None = true
	r.Options.CIWait = time.Hour
	r.Place.SetScript(orchestratortest.Instead(stage.Developer, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
		files[".github/workflows/ci.yml"] = "on: push\n"
		return orchestratortest.GoodAgent(ctx, c, files)
	}))
	r.Place.OnPush = r.Host.Push // no CI of the rig
}

// What another app reports at once passes nothing while the workflow may begin; where it does
// not, it counts after a while.
func TestCIThatDoesNotBegin(t *testing.T) {
	orchestratortest.Run(t, withWorkflow, func(r *orchestratortest.Rig) {
		item := r.Card(orchestratortest.App, "x")
		r.ToDone(orchestratortest.App, item)
		task := r.Task(item)
		require.Equal(r, stage.Development, task.State.Stage)
		r.Host.SetChecks(task.State.Head, githost.Check{Name: "Vercel", State: githost.CheckPassed, Kind: "status"})
		r.Settle(2 * time.Minute)
		require.Equal(r, stage.Development, r.Task(item).State.Stage)
		require.Contains(r, r.Explain(item).Blockers[0].Why, "nothing that .github/workflows/ci.yml configures was reported yet")
		r.Settle(2 * time.Minute)
		require.NotEqual(r, stage.Development, r.Task(item).State.Stage)
	})
}

// When nothing is reported at all the end of the wait says what to set.
func TestCIThatReportsNothing(t *testing.T) {
	orchestratortest.Run(t, withWorkflow, func(r *orchestratortest.Rig) {
		item := r.Card(orchestratortest.App, "x")
		r.ToDone(orchestratortest.App, item)
		r.Settle(2 * time.Hour)
		require.Equal(r, stage.HoldBlocked, r.Task(item).State.Hold)
		require.Contains(r, r.Task(item).State.HoldReason, "name the checks that do in the project's entry (ci: [names])")
	})
}

// What waits for CI before its merge is not deployed yet, and can be rejected.
func TestRejectedBeforeTheMerge(t *testing.T) {
	orchestratortest.Run(t, nil, func(r *orchestratortest.Rig) {
		item := r.Card(orchestratortest.App, "x")
		r.Place.SetScript(orchestratortest.Instead(stage.Deployer, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			r.SetCI(githost.CheckPending)
			return orchestratortest.GoodAgent(ctx, c, files)
		}))
		r.ToDone(orchestratortest.App, item)
		r.Settle(time.Minute)
		require.Equal(r, stage.PhaseRetest, r.Task(item).State.Phase)
		r.Move(orchestratortest.App, item, stage.StatusRejected)
		r.Settle(time.Minute)
		require.Equal(r, 2, r.Ran(stage.Developer))
		require.Equal(r, stage.Development, r.Task(item).State.Stage)
		require.Zero(r, r.Host.Merges())
	})
}

// A branch that is deleted just before the merge is made anew by In Progress, whether the host has
// pull requests or the repository is plain, and its commits are there.
func TestMergeOfADeletedBranch(t *testing.T) {
	deleted := func(r *orchestratortest.Rig) {
		r.Place.OnPush = func(repo, branch, sha string) {
			if r.Pushed(repo, branch, sha); repo == orchestratortest.AppRepo && r.Ran(stage.Deployer) == 1 {
				r.Place.OnPush = r.Pushed
				r.Place.SetRemote(repo, branch, "")
				require.NoError(r, r.Host.DeleteBranch(context.Background(), repo, branch))
			}
		}
	}
	merged := func(r *orchestratortest.Rig) {
		item := r.Card(orchestratortest.App, "x")
		r.ToDone(orchestratortest.App, item)
		r.Settle(2 * time.Minute)
		require.Equal(r, stage.HoldBlocked, r.Task(item).State.Hold)
		require.Contains(r, r.Task(item).State.HoldReason, "was deleted on the remote; In Progress")
		ran := r.Roles()
		r.Move(orchestratortest.App, item, stage.StatusInProgress)
		r.Settle(2 * time.Minute)
		require.Equal(r, stage.Done, r.Task(item).State.Stage, r.Task(item).State.HoldReason)
		require.LessOrEqual(r, len(r.Roles()), len(ran)+2, "the stage once more, and the deployment")
		require.False(r, r.Commented(orchestratortest.App, item, "force-with-lease"))
		r.Replays()
	}
	t.Run("host", func(t *testing.T) { orchestratortest.Run(t, deleted, merged) })
	t.Run("plain", func(t *testing.T) {
		plain(t, func(p *plainRig) { deleted(p.Rig) }, func(p *plainRig) { merged(p.Rig) })
	})
}

// A remote that begins to refuse the branch while an agent works ends that agent: no later stage
// could publish either. A deployment of what is merged is not ended by it.
func TestRefusedWhileAnAgentWorks(t *testing.T) {
	orchestratortest.Run(t, nil, func(r *orchestratortest.Rig) {
		item := r.Card(orchestratortest.App, "x")
		r.Move(orchestratortest.App, item, stage.StatusToAnalyse)
		r.Settle(20 * time.Second)
		r.Place.SetScript(orchestratortest.Instead(stage.Developer, orchestratortest.Hang))
		r.Move(orchestratortest.App, item, stage.StatusApproved)
		r.Settle(500 * time.Millisecond) // the architect works
		r.Place.FailCall("Push", fmt.Errorf("%w: not on a Friday", work.ErrRefused))
		r.Settle(5 * time.Second)
		require.Equal(r, stage.HoldBlocked, r.Task(item).State.Hold)
		require.Empty(r, r.Task(item).State.Active)
		require.Contains(r, r.Task(item).State.HoldReason, "not on a Friday")
		require.Equal(r, 1, strings.Count(strings.Join(r.Comments(orchestratortest.App, item), "\n"), "not on a Friday"))
		r.Place.FailCall("Push", nil)
		r.Place.SetScript(orchestratortest.GoodAgent)
		r.Move(orchestratortest.App, item, stage.StatusInProgress)
		r.Settle(2 * time.Minute)
		require.Equal(r, stage.Done, r.Task(item).State.Stage, r.Task(item).State.HoldReason)
		r.Replays()
	})
}
