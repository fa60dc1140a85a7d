package orchestrator_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// atReview brings a card to a reviewer that works until it is ended.
func atReview(r *Rig) (item string, t task.Task) {
	r.Helper()
	r.Place.SetScript(Instead(stage.Reviewer, Hang))
	item = r.Finish("x")
	t = r.Task(item)
	require.Equal(r, stage.Review, t.State.Stage)
	return item, t
}

// port merges the branch of a task into another branch.
func port(r *Rig, t task.Task) {
	r.Host.Push(t.Repo, t.Branch, t.State.Head)
	pr, err1 := r.Host.OpenPullRequest(r.Context(), githost.NewPullRequest{Repo: t.Repo, Head: t.Branch, Base: "release"})
	_, err2 := r.Host.Merge(r.Context(), githost.Merge{Repo: t.Repo, Number: pr.Number, HeadSHA: pr.HeadSHA})
	require.NoError(r, errors.Join(err1, err2))
}

// What a webhook claims moves no task: the host is read.
func TestClaimedMergeIsReadAtTheHost(t *testing.T) {
	for name, at := range map[string]func(*Rig, task.Task){
		"no pull request": func(*Rig, task.Task) {},
		"an open one": func(r *Rig, t task.Task) {
			r.Host.Push(t.Repo, t.Branch, t.State.Head)
			_, err := r.Host.OpenPullRequest(r.Context(), githost.NewPullRequest{Repo: t.Repo, Head: t.Branch, Base: "main"})
			require.NoError(r, err)
		},
		"merged elsewhere": port,
	} {
		t.Run(name, func(t *testing.T) {
			Run(t, nil, func(r *Rig) {
				item, task := atReview(r)
				at(r, task)
				r.HostHook(githost.Hook{Kind: githost.HookMerged, Repo: AppRepo, Branch: task.Branch, SHA: task.State.Head, MergeSHA: "forged", Sender: "mallory"})
				r.Settle(time.Minute)
				after := r.Task(item)
				require.Equal(r, stage.Review, after.State.Stage)
				require.Equal(r, task.State.Seq, after.State.Seq, "nothing was decided")
				require.Equal(r, stage.Reviewer, after.State.Active, "the agent works on")
			})
		})
	}
}

// A branch that somebody has merged into another branch, too, is merged into main all the same.
func TestPortedBranchIsMerged(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		r.Place.SetScript(Instead(stage.Tester, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			task, err := r.Store.Task(ctx, c.TaskID)
			require.NoError(r, err)
			port(r, task)
			return GoodAgent(ctx, c, files)
		}))
		r.Stands(r.Finish("x"), stage.Done)
		require.Equal(r, 2, r.Host.Merges())
	})
}

// A merge that the host cannot confirm now is not forgotten: the event waits.
func TestMergeWaitsForTheHost(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		item, task := atReview(r)
		r.Host.FailCall("PullRequest", &flaky{})
		r.Host.Push(task.Repo, task.Branch, task.State.Head)
		r.MergeByHand(task)
		r.Settle(time.Hour)
		r.Stands(item, stage.Review)
		r.Host.FailCall("PullRequest", nil)
		r.Settle(10 * time.Minute)
		r.Stands(item, stage.Done)
	})
}

// What was merged by hand before the developer has worked once more is not what a task lands.
func TestMergeBeforeTheHead(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		item := r.Card(Self, "x")
		r.ToDone(Self, item)
		first := r.Task(item)
		r.MergeByHand(first)
		r.Settle(time.Minute)
		r.Board.Say(item, "kim", "the button is gone")
		r.Move(Self, item, stage.StatusRejected)
		r.Settle(5 * time.Minute)
		require.NotEqual(r, first.State.Head, r.Task(item).State.Head)
		r.Move(Self, item, stage.StatusConfirmDeploy)
		r.Settle(5 * time.Minute)
		r.Stands(item, stage.Done)
		require.Equal(r, 2, r.Host.Merges())
	})
}
