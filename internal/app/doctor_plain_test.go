package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/gitcli"
	"github.com/signalbox-dev/signalbox/internal/gittest"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// What doctor says of a repository without a git host: whether it answers, has main, takes
// a push, and has what its CI runs.
func TestDoctorOfPlainRepositories(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	clone, bare := filepath.Join(dir, "clone"), filepath.Join(dir, "bare.git")
	gittest.Run(t, dir, "init", "--quiet", "--initial-branch=main", clone)
	require.NoError(t, os.WriteFile(filepath.Join(clone, "ci.sh"), []byte("#!/bin/sh\n"), 0o700))
	gittest.Run(t, clone, "add", "--all")
	gittest.Run(t, clone, "commit", "--quiet", "-m", "begin")
	gittest.Run(t, dir, "clone", "--quiet", "--bare", clone, bare)

	for name, c := range map[string]struct {
		url, main string
		ci        [][]string
		wrong     int
		want      []string
	}{
		"good":        {bare, "main", [][]string{{"./ci.sh"}, {"sh", "-c", "true"}}, 0, []string{"answers, and main is at ", "the service may push to acme/x", "ci: ./ci.sh", "ci: sh -c true"}},
		"no CI":       {bare, "main", nil, 0, []string{"warn  X            CI: none configured for acme/x"}},
		"no main":     {bare, "trunk", nil, 1, []string{"there is no branch trunk: push a first commit to it, or name another in main"}},
		"nowhere":     {filepath.Join(dir, "none"), "main", nil, 1, []string{"FAIL  X            the repository acme/x: "}},
		"checked out": {clone, "main", nil, 1, []string{"main is checked out in the repository of acme/x", "git clone --bare"}},
		"no program":  {bare, "main", [][]string{{"no-such-program"}, {"./none.sh"}}, 2, []string{"no-such-program", "main has no file none.sh"}},
	} {
		t.Run(name, func(t *testing.T) {
			projects, err := task.NewProjects(task.Project{TrackerProject: "p", Host: task.HostGit, Repo: "acme/x", CloneURL: c.url, Prefix: "X", Main: c.main, CI: c.ci})
			require.NoError(t, err)
			v := &Service{Projects: projects}
			v.Git, err = gitcli.New(t.Context(), gitcli.Options{Root: t.TempDir()})
			require.NoError(t, err)
			var out strings.Builder
			d := &doctor{Report: ReportTo(&out)}
			d.plain(t.Context(), v, projects.All()[0])
			require.Equal(t, c.wrong, strings.Count(out.String(), "FAIL "), out.String())
			for _, want := range c.want {
				require.Contains(t, out.String(), want)
			}
		})
	}
	gittest.Run(t, clone, "config", "receive.denyCurrentBranch", "updateInstead")
	require.False(t, checkedOut(clone, "main"), "its owner has allowed that")
}

// Without a repository on GitHub no token and no secret of it is needed; one more entry
// names what is missing.
func TestNoAccountIsNeeded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	registry := filepath.Join(dir, "projects.yaml")
	const plain = "projects:\n  - {tracker_project: p, host: git, repo: acme/x, clone_url: /srv/x.git, prefix: X}\n"
	s, err := Load([]string{
		"ORCH_DATA_DIR=" + dir, "ORCH_PROJECTS=" + registry, "ORCH_PLANE_URL=https://plane.example.org", "ORCH_PLANE_WORKSPACE=acme", "ORCH_PLANE_TOKEN=t",
		"ORCH_PLANE_WEBHOOK_SECRET=plane-webhook-secret-of-128-bits", "ORCH_AGENT=/bin/true", "ORCH_JAIL=none",
	})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(registry, []byte(plain), 0o600))
	_, _, err = s.ReadRegistry()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(registry, []byte(plain+"  - {tracker_project: q, repo: acme/y, clone_url: \"https://github.com/acme/y.git\", prefix: Y}\n"), 0o600))
	_, _, err = s.ReadRegistry()
	require.ErrorContains(t, err, "ORCH_GITHUB_TOKEN is not set, and acme/y is on GitHub; a repository without a git host has host: git in "+registry)
	require.ErrorContains(t, err, "ORCH_GITHUB_WEBHOOK_SECRET is not set")
}
