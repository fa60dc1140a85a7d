package orchestrator_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// atCI takes a card to where CI is waited for.
func atCI(r *Rig) (item string) {
	r.Helper()
	r.SetCI(githost.CheckPending)
	item = r.Finish("x")
	r.Stands(item, stage.Development)
	require.Empty(r, r.Task(item).State.Active)
	return item
}

// A wait for CI ends, whatever CI does: a person is notified, once, and can have it looked at again, which
// runs no agent.
func TestCIThatNeverEnds(t *testing.T) {
	Run(t, func(r *Rig) { r.Options.CIWait = 2 * time.Hour }, func(r *Rig) {
		item := atCI(r)
		r.Settle(110 * time.Minute)
		require.Empty(r, r.Task(item).State.Hold)
		r.Settle(20 * time.Minute)
		task := r.Task(item)
		require.Equal(r, stage.HoldBlocked, task.State.Hold)
		require.Contains(r, task.State.HoldReason, "has not finished for 2 h:")
		require.Equal(r, stage.StatusBlocked, r.Status(App, item))
		require.Contains(r, r.Notices(), "blocked: CI of ")
		r.Settle(5 * time.Hour)
		do, _ := stage.Remedy(task.State)
		require.Contains(r, do, "In Progress on the card has it looked at again")
		require.Equal(r, 1, count(r.Comments(App, item), "Blocked: "+task.State.HoldReason+".\n"+do+"."))
		r.Set(item, stage.StatusInProgress)
		r.Settle(time.Hour)
		require.Empty(r, r.Task(item).State.Hold, "it waits for CI once more")
		r.SetCI(githost.CheckPassed)
		r.Host.SetChecks(task.State.Head, githost.Check{Name: "build", State: githost.CheckPassed})
		r.Settle(time.Minute)
		r.Stands(item, stage.Done)
		require.Equal(r, 1, r.Ran(stage.Developer))
		r.Replays()
	})
}

// Hearing of CI again and again does not prolong the wait.
func TestCIThatIsTalkedOf(t *testing.T) {
	Run(t, func(r *Rig) { r.Options.CIWait = time.Hour }, func(r *Rig) {
		item := atCI(r)
		for range 8 {
			task := r.Task(item)
			r.HostHook(githost.Hook{Kind: githost.HookCI, Repo: AppRepo, Branch: task.Branch, SHA: task.State.Head, State: string(githost.CheckPending)})
			r.Settle(10 * time.Minute)
		}
		r.Waits(item, stage.HoldBlocked)
	})
}

// A branch that was deleted at the host has no CI to wait for; In Progress makes it anew.
func TestCIOfADeletedBranch(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		item := atCI(r)
		task := r.Task(item)
		r.Place.SetRemote(AppRepo, task.Branch, "")
		require.NoError(r, r.Host.DeleteBranch(context.Background(), AppRepo, task.Branch))
		r.Settle(5 * time.Minute)
		r.Waits(item, stage.HoldBlocked)
		require.Contains(r, r.Task(item).State.HoldReason, "the branch "+task.Branch+" was deleted there")
		r.SetCI(githost.CheckPassed)
		r.Set(item, stage.StatusInProgress)
		r.Settle(2 * time.Minute)
		r.Stands(item, stage.Done)
		r.Replays()
	})
}

// A host deletes a branch with its merge, which a webhook tells later: nobody is told to make the branch anew.
func TestCIOfAMergedBranch(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		item := atCI(r)
		task := r.Task(item)
		ctx := context.Background()
		pr, err := r.Host.PullRequest(ctx, AppRepo, task.Branch, "main")
		require.NoError(r, err)
		_, err = r.Host.Merge(ctx, githost.Merge{Repo: AppRepo, Number: pr.Number, HeadSHA: pr.HeadSHA})
		require.NoError(r, err)
		r.Place.SetRemote(AppRepo, task.Branch, "")
		require.NoError(r, r.Host.DeleteBranch(ctx, AppRepo, task.Branch))
		r.Settle(5 * time.Minute)
		require.Empty(r, r.Task(item).State.Hold)
		require.NotContains(r, r.Notices(), "was deleted")
	})
}

// A branch that is deleted while an agent works cannot be published any more: the task is
// blocked with what to do, and that helps.
func TestPublishToADeletedBranch(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		item := atCI(r)
		task := r.Task(item)
		r.Set(item, stage.StatusRejected) // the developer works again
		r.Settle(500 * time.Millisecond)
		r.Place.SetRemote(AppRepo, task.Branch, "")
		require.NoError(r, r.Host.DeleteBranch(context.Background(), AppRepo, task.Branch))
		r.Settle(time.Minute)
		r.Waits(item, stage.HoldBlocked)
		require.Contains(r, r.Task(item).State.HoldReason, "was deleted on the remote")
		r.SetCI(githost.CheckPassed)
		r.Set(item, stage.StatusInProgress)
		r.Settle(2 * time.Minute)
		r.Stands(item, stage.Done)
	})
}

// F-3: a CI result of a commit that no branch names, and that is not the head, is a hint
// to look at the head of the only task at development. It is no verdict on that.
func TestCIOfAnUnknownCommit(t *testing.T) {
	Run(t, func(r *Rig) { r.Options.Stage.CIPoll = time.Hour }, func(r *Rig) {
		item := atCI(r)
		head := r.Task(item).State.Head
		unknown := func(state githost.CheckState, branches ...string) {
			r.HostHook(githost.Hook{Kind: githost.HookCI, Repo: AppRepo, SHA: "0123456789012345678901234567890123456789", Branches: branches, State: string(state)})
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
	Run(t, nil, func(r *Rig) {
		item := r.Card(App, "x")
		r.Place.SetScript(Instead(stage.Deployer, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			if c.Stage == stage.DeployStaging && r.Ran(stage.Developer) == 1 {
				r.SetCI(githost.CheckPending) // of the report of this run
			}
			return GoodAgent(ctx, c, files)
		}))
		r.ToDone(App, item)
		r.Settle(time.Minute)
		task := r.Task(item)
		require.Equal(r, []any{stage.Deploy, stage.PhaseRetest, stage.HoldNone}, []any{task.State.Stage, task.State.Phase, task.State.Hold})
		require.Zero(r, r.Host.Merges())
		require.True(r, r.Commented(App, item, "not merged yet: CI is not finished at "))
		require.Contains(r, r.Explain(item).Summary, "Waits for CI before the merge")

		r.SetCI(githost.CheckPassed)
		r.Host.SetChecks(task.State.Head, githost.Check{Name: "build", State: githost.CheckFailed, Kind: "check_run"})
		r.Settle(time.Minute)
		require.Equal(r, 2, r.Ran(stage.Developer))
		r.Stands(item, stage.Done)
		require.Equal(r, 1, r.Host.Merges())
		r.Replays()
	})
}

// beforeMerge has a card whose merge waits for CI.
func beforeMerge(t *testing.T, f func(r *Rig, item string)) {
	t.Helper()
	Run(t, nil, func(r *Rig) {
		item := r.Card(App, "x")
		r.Place.SetScript(Instead(stage.Deployer, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			r.SetCI(githost.CheckPending)
			return GoodAgent(ctx, c, files)
		}))
		r.ToDone(App, item)
		r.Settle(time.Minute)
		f(r, item)
	})
}

// A merge that waits for CI goes on when it is green.
func TestCIGreenBeforeTheMerge(t *testing.T) {
	beforeMerge(t, func(r *Rig, item string) {
		require.Zero(r, r.Host.Merges())
		r.Host.SetChecks(r.Task(item).State.Head, githost.Check{Name: "build", State: githost.CheckPassed, Kind: "check_run"})
		r.Settle(time.Minute)
		r.Stands(item, stage.Done)
		require.Equal(r, 1, r.Ran(stage.Developer))
		r.Replays()
	})
}

// withWorkflow is a repository that has a workflow, and whose agents report nothing but by CI.
func withWorkflow(r *Rig) {
	r.Projects[0].Protected.None = true
	r.Options.CIWait = time.Hour
	r.Place.SetScript(Instead(stage.Developer, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
		files[".github/workflows/ci.yml"] = "on: push\n"
		return GoodAgent(ctx, c, files)
	}))
	r.Place.OnPush = r.Host.Push // no CI of the rig
}

// What another app reports at once passes nothing while the workflow may begin; where it does
// not, it counts after a while.
func TestCIThatDoesNotBegin(t *testing.T) {
	Run(t, withWorkflow, func(r *Rig) {
		item := r.Finish("x")
		task := r.Task(item)
		require.Equal(r, stage.Development, task.State.Stage)
		r.Host.SetChecks(task.State.Head, githost.Check{Name: "Vercel", State: githost.CheckPassed, Kind: "status"})
		r.Settle(2 * time.Minute)
		r.Stands(item, stage.Development)
		require.Contains(r, r.Explain(item).Blockers[0].Why, "nothing that .github/workflows/ci.yml configures was reported yet")
		r.Settle(2 * time.Minute)
		require.NotEqual(r, stage.Development, r.Task(item).State.Stage)
	})
}

// When nothing is reported at all the end of the wait says what to set.
func TestCIThatReportsNothing(t *testing.T) {
	Run(t, withWorkflow, func(r *Rig) {
		item := r.Finish("x")
		r.Settle(2 * time.Hour)
		r.Waits(item, stage.HoldBlocked)
		require.Contains(r, r.Task(item).State.HoldReason, "name the checks that do in the project's entry (ci: [names])")
	})
}

// What waits for CI before its merge is not deployed yet, and can be rejected.
func TestRejectedBeforeTheMerge(t *testing.T) {
	beforeMerge(t, func(r *Rig, item string) {
		require.Equal(r, stage.PhaseRetest, r.Task(item).State.Phase)
		r.Set(item, stage.StatusRejected)
		r.Settle(time.Minute)
		require.Equal(r, 2, r.Ran(stage.Developer))
		r.Stands(item, stage.Development)
		require.Zero(r, r.Host.Merges())
	})
}

// A branch that is deleted just before the merge is made anew by In Progress, whether the host has
// pull requests or the repository is plain, and its commits are there.
func TestMergeOfADeletedBranch(t *testing.T) {
	deleted := func(r *Rig) {
		var reported atomic.Bool // what is pushed from then on is the deployer's
		r.Place.SetScript(Instead(stage.Deployer, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			out := GoodAgent(ctx, c, files)
			reported.Store(true)
			return out
		}))
		r.Place.OnPush = func(repo, branch, sha string) {
			if r.Pushed(repo, branch, sha); repo == AppRepo && reported.Load() {
				r.Place.OnPush = r.Pushed
				r.Place.SetRemote(repo, branch, "")
				require.NoError(r, r.Host.DeleteBranch(context.Background(), repo, branch))
			}
		}
	}
	merged := func(r *Rig) {
		item := r.Finish("x")
		r.Settle(2 * time.Minute)
		r.Waits(item, stage.HoldBlocked)
		require.Contains(r, r.Task(item).State.HoldReason, "was deleted on the remote; In Progress")
		ran := r.Roles()
		r.Set(item, stage.StatusInProgress)
		r.Settle(2 * time.Minute)
		r.Stands(item, stage.Done)
		require.LessOrEqual(r, len(r.Roles()), len(ran)+2, "the stage once more, and the deployment")
		require.False(r, r.Commented(App, item, "force-with-lease"))
		r.Replays()
	}
	t.Run("host", func(t *testing.T) { Run(t, deleted, merged) })
	t.Run("plain", func(t *testing.T) {
		plain(t, func(p *plainRig) { deleted(p.Rig) }, func(p *plainRig) { merged(p.Rig) })
	})
}

// A remote that begins to refuse the branch while an agent works ends that agent: no later stage
// could publish either. A deployment of what is merged is not ended by it.
func TestRefusedWhileAnAgentWorks(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		item := r.Begin("x")
		r.Settle(20 * time.Second)
		r.Place.SetScript(Instead(stage.Developer, Hang))
		r.Set(item, stage.StatusApproved)
		r.Settle(500 * time.Millisecond) // the architect works
		r.Place.FailCall("Push", fmt.Errorf("%w: not on a Friday", work.ErrRefused))
		r.Settle(5 * time.Second)
		r.Waits(item, stage.HoldBlocked)
		require.Empty(r, r.Task(item).State.Active)
		require.Contains(r, r.Task(item).State.HoldReason, "not on a Friday")
		require.Equal(r, 1, strings.Count(strings.Join(r.Comments(App, item), "\n"), "not on a Friday"))
		r.Place.FailCall("Push", nil)
		r.Place.SetScript(GoodAgent)
		r.Set(item, stage.StatusInProgress)
		r.Settle(2 * time.Minute)
		r.Stands(item, stage.Done)
		r.Replays()
	})
}
