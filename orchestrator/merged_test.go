package orchestrator_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// atReview brings a card to a reviewer that works until it is ended.
func atReview(r *rig) (item string, t orchestrator.Task) {
	r.Helper()
	r.place.SetScript(instead(stage.Reviewer, func(ctx context.Context, _ work.Command, _ map[string]string) work.Result {
		<-ctx.Done()
		return work.Result{Kind: work.ResultCancelled}
	}))
	item = r.card(appProject, "x")
	r.toDone(appProject, item)
	t = r.task(item)
	require.Equal(r, stage.Review, t.State.Stage)
	return item, t
}

// What a webhook claims moves no task: the host is read.
func TestClaimedMergeIsReadAtTheHost(t *testing.T) {
	open := func(r *rig, t orchestrator.Task, base string) githost.PullRequest {
		r.host.Push(t.Repo, t.Branch, t.State.Head)
		pr, err := r.host.OpenPullRequest(context.Background(), githost.NewPullRequest{Repo: t.Repo, Head: t.Branch, Base: base})
		require.NoError(r, err)
		return pr
	}
	for name, at := range map[string]func(*rig, orchestrator.Task){
		"no pull request": func(*rig, orchestrator.Task) {},
		"an open one":     func(r *rig, t orchestrator.Task) { open(r, t, "main") },
		"merged elsewhere": func(r *rig, t orchestrator.Task) {
			pr := open(r, t, "a-branch-of-somebody")
			_, err := r.host.Merge(context.Background(), githost.Merge{Repo: t.Repo, Number: pr.Number, HeadSHA: pr.HeadSHA})
			require.NoError(r, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(r *rig) {
				item, task := atReview(r)
				at(r, task)
				r.hostHook(githost.Hook{Kind: githost.HookMerged, Repo: appRepo, Branch: task.Branch, SHA: task.State.Head, MergeSHA: "forged", Sender: "mallory"})
				r.settle(time.Minute)
				after := r.task(item)
				require.Equal(r, stage.Review, after.State.Stage)
				require.Equal(r, task.State.Seq, after.State.Seq, "nothing was decided")
				require.Equal(r, stage.Reviewer, after.State.Active, "the agent works on")
			})
		})
	}
}

// A merge that the host cannot confirm now is not forgotten: the event waits.
func TestMergeWaitsForTheHost(t *testing.T) {
	run(t, func(r *rig) {
		item, task := atReview(r)
		r.host.FailCall("PullRequest", &flaky{})
		r.host.Push(task.Repo, task.Branch, task.State.Head)
		r.mergedByHand(task)
		r.settle(time.Hour)
		require.Equal(r, stage.Review, r.task(item).State.Stage)
		r.host.FailCall("PullRequest", nil)
		r.settle(10 * time.Minute)
		require.Equal(r, stage.Done, r.task(item).State.Stage)
	})
}
