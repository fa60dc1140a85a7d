package orchestratortest

import (
	"context"
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/memtracker"
)

// next counts cards and deliveries.
func (r *Rig) next() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n++
	return r.n
}

// Card puts a work item on the board, in no column, and returns its id.
func (r *Rig) Card(project, title string) string {
	n := r.next()
	id := fmt.Sprintf("item-%d", n)
	r.Board.Put(tracker.Item{ID: id, ProjectID: project, Sequence: int64(n), Title: title, Description: "what is wanted"})
	return id
}

// Begin puts a card of App on the board and sets it To Analyse.
func (r *Rig) Begin(title string) (item string) {
	item = r.Card(App, title)
	r.Set(item, stage.StatusToAnalyse)
	return item
}

// Finish takes a new card of App through the pipeline.
func (r *Rig) Finish(title string) (item string) {
	item = r.Card(App, title)
	r.ToDone(App, item)
	return item
}

// Set is Move of a card of App.
func (r *Rig) Set(item string, to stage.Status) {
	r.Move(App, item, to)
}

// Move is a person, kim, moving a card; the tracker's webhook arrives.
func (r *Rig) Move(project, item string, to stage.Status) {
	r.Helper()
	r.MoveAs("kim", project, item, to)
	r.Hook(tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: project, ItemID: item, ActorID: "kim", Status: true})
}

// MoveUnseen is somebody moving a card whose webhook is lost.
func (r *Rig) MoveUnseen(project, item string, to stage.Status) {
	r.Helper()
	r.MoveAs(memtracker.Somebody, project, item, to)
}

// MoveAs is an account moving a card, without a webhook.
func (r *Rig) MoveAs(account, project, item string, to stage.Status) {
	r.Helper()
	i, err := r.Board.Item(context.Background(), project, item)
	require.NoError(r, err)
	i.Status = to
	r.Board.PutAs(account, i)
}

// ToDone takes a card through the pipeline, by To Analyse and Approved. A card of Self
// waits for Confirm Deploy then.
func (r *Rig) ToDone(project, item string) {
	r.Helper()
	r.Move(project, item, stage.StatusToAnalyse)
	r.Settle(10 * time.Second)
	r.Move(project, item, stage.StatusApproved)
	r.Settle(time.Minute)
}

// Hook is a webhook of the tracker that arrives.
func (r *Rig) Hook(h tracker.Hook) {
	r.Helper()
	id := fmt.Sprint(r.next())
	job, ignored := r.Engine.Wanted(h)
	if ignored != "" { // the engine may be stopped
		job = orchestrator.TrackerJob(h)
	}
	_, err := r.Store.Receive(context.Background(), task.Delivery{Source: "plane", ID: id, BodyHash: id, ReceivedAt: time.Now()}, job)
	require.NoError(r, err)
}

// HostHook is a webhook of the git host that arrives.
func (r *Rig) HostHook(h githost.Hook) {
	r.Helper()
	_, err := r.Store.Put(context.Background(), orchestrator.HostJob(task.Project{}, h))
	require.NoError(r, err)
}

// PushByHand is a person, ann, who commits files on top of the branch of a card's task. The git host shows it,
// CI runs, and the webhook arrives. It returns the commit.
func (r *Rig) PushByHand(item string, files map[string]string) (sha string) {
	r.Helper()
	sha = r.PushUnheard(item, "", files)
	t := r.Task(item)
	r.HostHook(githost.Hook{Kind: githost.HookPush, Event: "push", Repo: t.Repo, Branch: t.Branch, SHA: sha, Sender: "ann"})
	return sha
}

// PushUnheard is PushByHand, on top of a commit, whose webhook is lost; from "" is where the branch is.
func (r *Rig) PushUnheard(item, from string, files map[string]string) (sha string) {
	r.Helper()
	t := r.Task(item)
	sha = r.Place.PushAs("Ann Lee", t.Repo, t.Branch, from, files)
	if r.Place.OnPush != nil {
		r.Place.OnPush(t.Repo, t.Branch, sha)
	}
	return sha
}

// MergeByHand is a person merging the branch of a task at the git host, whose webhook
// arrives.
func (r *Rig) MergeByHand(t task.Task) {
	r.Helper()
	ctx := context.Background()
	pr, err := r.Host.OpenPullRequest(ctx, githost.NewPullRequest{Repo: t.Repo, Head: t.Branch, Base: "main"})
	require.NoError(r, err)
	sha, err := r.Host.Merge(ctx, githost.Merge{Repo: t.Repo, Number: pr.Number, HeadSHA: pr.HeadSHA})
	require.NoError(r, err)
	r.HostHook(githost.Hook{Kind: githost.HookMerged, Repo: t.Repo, Branch: t.Branch, SHA: pr.HeadSHA, Number: pr.Number, MergeSHA: sha})
}
