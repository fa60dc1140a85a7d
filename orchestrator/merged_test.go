package orchestrator_test

import (
	"context"
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
	r.Place.SetScript(Instead(stage.Reviewer, func(ctx context.Context, _ work.Command, _ map[string]string) work.Result {
		<-ctx.Done()
		return work.Result{Kind: work.ResultCancelled}
	}))
	item = r.Finish("x")
	t = r.Task(item)
	require.Equal(r, stage.Review, t.State.Stage)
	return item, t
}

// What a webhook claims moves no task: the host is read.
func TestClaimedMergeIsReadAtTheHost(t *testing.T) {
	open := func(r *Rig, t task.Task, base string) githost.PullRequest {
		r.Host.Push(t.Repo, t.Branch, t.State.Head)
		pr, err := r.Host.OpenPullRequest(context.Background(), githost.NewPullRequest{Repo: t.Repo, Head: t.Branch, Base: base})
		require.NoError(r, err)
		return pr
	}
	for name, at := range map[string]func(*Rig, task.Task){
		"no pull request": func(*Rig, task.Task) {},
		"an open one":     func(r *Rig, t task.Task) { open(r, t, "main") },
		"merged elsewhere": func(r *Rig, t task.Task) {
			pr := open(r, t, "a-branch-of-somebody")
			_, err := r.Host.Merge(context.Background(), githost.Merge{Repo: t.Repo, Number: pr.Number, HeadSHA: pr.HeadSHA})
			require.NoError(r, err)
		},
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
