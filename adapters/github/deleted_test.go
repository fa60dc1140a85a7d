package github_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/gitcli"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/forgetest"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/effects"
	"github.com/signalbox-dev/signalbox/orchestrator/memstore"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/queue"
)

// GitHub may delete a branch when it merges it. The report of the deployment that comes after is
// on the pull request then, once, and nothing has failed.
func TestReportOfADeletedBranch(t *testing.T) {
	t.Parallel()
	k := setup(t)
	k.Server.SetSettings(repo, func(s *forgetest.Settings) { s.DeleteHead, s.Methods = true, []string{"squash"} })
	git, err := gitcli.New(t.Context(), gitcli.Options{Root: t.TempDir()})
	require.NoError(t, err)
	projects, err := task.NewProjects(task.Project{TrackerProject: "p", Repo: repo, CloneURL: k.Bare, Prefix: "SHP"})
	require.NoError(t, err)
	p, _ := projects.ByRepo(repo)
	row := task.Task{ID: 1, Repo: repo, TrackerProjectID: "p", TrackerIssueID: "i", WorkItemID: "SHP-1", Branch: "feature/SHP-1-x", Title: "T"}
	space := p.Workspace(row)
	require.NoError(t, git.Begin(t.Context(), space, orchestrator.SeedFiles(p, row)))
	merged, err := git.Tip(t.Context(), space)
	require.NoError(t, err)
	require.NoError(t, git.Push(t.Context(), space, merged.SHA, ""))
	pr := k.Pull(row.Branch)
	row.State = stage.State{Stage: stage.Deploy, Phase: stage.PhaseRelease, Head: merged.SHA, Pushed: merged.SHA, PR: pr.Number}
	row.State.MergeSHA, err = k.client.Merge(t.Context(), githost.Merge{Repo: repo, Number: pr.Number, HeadSHA: merged.SHA, Title: "T"})
	require.NoError(t, err)
	require.NotContains(t, k.Server.Heads(repo), row.Branch)
	same, err := git.SameTree(t.Context(), space, row.State.MergeSHA, merged.SHA)
	require.NoError(t, err)
	require.True(t, same, "what was squashed is what was tested")

	store := memstore.New(nil)
	require.NoError(t, store.Commit(t.Context(), task.Commit{Task: &row}))
	tip, err := git.Add(t.Context(), space, []work.File{{Path: p.Docs("SHP-1") + "/deploy-report.md", Body: []byte("It runs.\n")}}, "report")
	require.NoError(t, err)
	publish := effects.Runners(effects.Deps{Store: store, Jobs: store, Projects: projects, Host: k.client, Workspaces: git})[stage.EffectPublish]
	for range 2 {
		o := publish.Run(t.Context(), orchestrator.Effect{Effect: stage.Effect{Kind: stage.EffectPublish, SHA: tip.SHA, Expected: merged.SHA}, TaskID: 1, Repo: repo, Attempt: 1})
		require.Equal(t, queue.OutcomeDone, o.Kind)
		require.Contains(t, o.Error, "deploy-report.md is on the pull request")
		require.Empty(t, o.Then)
	}
	require.Len(t, k.Server.Comments(repo, int(pr.Number)), 1)
	require.Contains(t, k.Server.Comments(repo, int(pr.Number))[0], "It runs.")
	require.NotContains(t, k.Server.Heads(repo), row.Branch, "it is not made anew")
}
