package effects_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/effects"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// setupPlain is a kit whose repository has no git host, with the branch pushed.
func setupPlain(t *testing.T) (k *kit, sha string) {
	t.Helper()
	k = setup(t)
	k.host.MakePlain("acme/app")
	k.host.History = k.place.Contains
	projects, err := task.NewProjects(task.Project{TrackerProject: "p", Host: task.HostGit, Repo: "acme/app", CloneURL: "/srv/app.git", Prefix: "APP"})
	require.NoError(t, err)
	k.runners = effects.Runners(effects.Deps{
		Store: k.store, Jobs: k.store, Projects: projects, Tracker: k.board, Host: k.host, Messenger: k.chat, Workspaces: k.place,
	})
	sha = k.head()
	k.host.Push("acme/app", "main", "main-0")
	return k, sha
}

// No pull request is opened, nor queried: a push owes none, and one that is owed from before is done. Main moves once.
func TestPlainOwesNoPullRequest(t *testing.T) {
	k, sha := setupPlain(t)
	o := k.run(stage.Effect{Kind: stage.EffectPublish, SHA: sha}, 1)
	require.Equal(t, queue.OutcomeDone, o.Kind)
	require.Len(t, o.Then, 1, "the event of the push")
	require.Equal(t, queue.OutcomeDone, k.run(stage.Effect{Kind: stage.EffectPull}, 1).Kind)
	for i, want := range []stage.Trigger{stage.OnStop, stage.OnMergeDone, stage.OnMergeDone, stage.OnMergeDone} {
		k.change(func(t *task.Task) { t.State.Stopping = i%3 == 0 }) // since an attempt failed: what it has made is found, and nothing is made
		o = k.run(stage.Effect{Kind: stage.EffectMerge, SHA: sha}, 1)
		require.Equal(t, queue.OutcomeDone, o.Kind)
		require.Contains(t, string(o.Then[0].Payload), want)
	}
	require.Equal(t, 1, k.host.Merges())
}

// A main that has moved is caught up with; that is nobody's fault.
func TestPlainBehind(t *testing.T) {
	k, sha := setupPlain(t)
	require.Equal(t, queue.OutcomeDone, k.run(stage.Effect{Kind: stage.EffectPublish, SHA: sha}, 1).Kind)
	k.host.Push("acme/app", "main", "theirs")
	k.place.SetRemote("acme/app", "main", "theirs")
	o := k.run(stage.Effect{Kind: stage.EffectMerge, SHA: sha}, 1)
	require.Contains(t, string(o.Then[0].Payload), string(stage.OnMergeFailed))
	require.Contains(t, string(o.Then[0].Payload), `"moved":true`)
}

// What is done has no branch left, unless somebody else has pushed to it; a remote that does not answer is queried again.
func TestPlainUnbranch(t *testing.T) {
	k, sha := setupPlain(t)
	require.Equal(t, queue.OutcomeDone, k.run(stage.Effect{Kind: stage.EffectPublish, SHA: sha}, 1).Kind)
	k.change(func(t *task.Task) { t.State.Stage, t.State.Head = stage.Done, sha })
	o := k.run(stage.Effect{Kind: stage.EffectTidy}, 1)
	require.Len(t, o.Then, 1)
	require.Contains(t, string(o.Then[0].Payload), stage.EffectUnbranch)
	down := errors.New("down")
	k.host.FailWith(down)
	o = k.run(stage.Effect{Kind: stage.EffectUnbranch}, 1)
	require.Equal(t, queue.OutcomeRetry, o.Kind)
	require.ErrorIs(t, o.Cause, down)
	k.host.FailWith(nil)
	k.host.Push("acme/app", k.task.Branch, "theirs")
	require.Contains(t, k.run(stage.Effect{Kind: stage.EffectUnbranch}, 1).Error, "not deleted")
	k.host.Push("acme/app", k.task.Branch, sha)
	for range 2 {
		require.Equal(t, queue.OutcomeDone, k.run(stage.Effect{Kind: stage.EffectUnbranch}, 1).Kind)
	}
	heads, err := k.host.Heads(t.Context(), "acme/app")
	require.NoError(t, err)
	require.NotContains(t, heads, k.task.Branch)
	require.NotEmpty(t, heads["main"])
}
