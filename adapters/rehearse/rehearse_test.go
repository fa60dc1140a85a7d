package rehearse_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/rehearse"
	"github.com/signalbox-dev/signalbox/internal/gittest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// checkout is a task's checkout as the service makes it: main of the remote, and a branch.
func checkout(t *testing.T) func(args ...string) string {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, value := range map[string]string{"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_NOSYSTEM": "1"} {
		t.Setenv(name, value)
	}
	git := func(args ...string) string {
		t.Helper()
		return gittest.Run(t, "", args...)
	}
	git("init", "--quiet", "--initial-branch=app-1")
	git("config", "user.name", "agent")
	git("config", "user.email", "agent@example.org")
	require.NoError(t, os.WriteFile("README", []byte("it is here\n"), 0o600))
	git("add", "--all")
	git("commit", "--quiet", "-m", "begin")
	git("update-ref", "refs/remotes/origin/trunk", "HEAD")
	return git
}

// as runs the agent in a role; report is what it has filed.
func as(t *testing.T, role, phase string, owes bool) (exit int, report, errs string) {
	t.Helper()
	name := ""
	if owes {
		name = filepath.Join(t.TempDir(), "report.md")
	}
	i := stage.Default().Stages[slices.IndexFunc(stage.Default().Stages, func(i stage.Info) bool { return string(i.Role) == role })]
	if phase != "" {
		i = stage.Default().Info(stage.Deploy)
	}
	verdicts := ""
	if owes && i.Report != "" {
		verdicts = i.Good[0] + " " + i.Bad[0]
	}
	for k, v := range map[string]string{
		"VERDICTS": verdicts, "DOCUMENTS": strings.Join(i.Written(stage.Phase(phase)), " "), "ROLE": role, "PHASE": phase, "WORK_ITEM": "APP-1", "DOCS": "docs/work/APP-1", "SHA": "0123456789abcdef0123456789abcdef01234567", "REPORT": name,
	} {
		t.Setenv("SIGNALBOX_"+k, v)
	}
	var out, said bytes.Buffer
	exit = rehearse.Main(&out, &said)
	body, _ := os.ReadFile(name) // there is none when none is owed
	if exit == 0 {
		require.Contains(t, out.String(), `"total_cost_usd":0`)
	}
	return exit, string(body), said.String()
}

func TestEachRoleLeavesWhatItOwes(t *testing.T) {
	git := checkout(t)
	for _, c := range []struct {
		role, phase string
		owes        bool
		want        string // files of the commit, or the verdict
	}{
		{"analyst", "", false, "acceptance.md requirements.md"},
		{"architect", "", false, "design.md"},
		{"developer", "", false, "docs/work/rehearsal-APP-1.md"},
		{"reviewer", "", true, "approved"},
		{"tester", "", true, "passed"},
		{"deployer", "", true, "success"},
		{"deployer", "a", false, "deploy-plan.md"},
	} {
		exit, report, errs := as(t, c.role, c.phase, c.owes)
		require.Zero(t, exit, errs)
		if c.owes {
			require.Contains(t, report, "---\nverdict: "+c.want+"\nsha: 0123456789abcdef0123456789abcdef01234567\nsummary: ")
			continue
		}
		var names []string
		for name := range strings.FieldsSeq(git("show", "--format=", "--name-only", "HEAD")) {
			names = append(names, strings.TrimPrefix(name, "docs/work/APP-1/"))
		}
		require.Equal(t, c.want, strings.Join(names, " "), c.role)
		before := git("rev-parse", "HEAD")
		exit, _, errs = as(t, c.role, c.phase, false)
		require.Zero(t, exit, errs)
		require.Equal(t, before, git("rev-parse", "HEAD"), "a second attempt of the %s has nothing to add", c.role)
	}
	require.Empty(t, git("status", "--porcelain"))
}

// It has looked at nothing, so what anybody else has made is not let by.
func TestItJudgesNothingButItsOwnDocuments(t *testing.T) {
	git := checkout(t)
	exit, _, errs := as(t, "developer", "", false)
	require.Zero(t, exit, errs)
	require.NoError(t, os.MkdirAll("docs/work/APP-11", 0o700))
	require.NoError(t, os.WriteFile("docs/work/APP-11/design.md", []byte("another task's\n"), 0o600))
	git("add", "--all")
	git("commit", "--quiet", "-m", "by somebody")
	for role, verdict := range map[string]string{"reviewer": "changes_requested", "tester": "failed", "deployer": "failure"} {
		exit, report, errs := as(t, role, "", true)
		require.Zero(t, exit, errs)
		require.Contains(t, report, "verdict: "+verdict+"\n")
		require.Contains(t, report, `the branch changes "docs/work/APP-11/design.md"`)
	}
	exit, _, errs = as(t, "analyst", "", true)
	require.Equal(t, 1, exit)
	require.Contains(t, errs, "SIGNALBOX_VERDICTS is missing")
	git("update-ref", "-d", "refs/remotes/origin/trunk")
	exit, report, errs := as(t, "reviewer", "", true)
	require.Equal(t, 1, exit)
	require.Empty(t, report)
	require.Contains(t, errs, "has not one main branch")
	t.Setenv("SIGNALBOX_WORK_ITEM", "")
	require.Equal(t, 1, rehearse.Main(&bytes.Buffer{}, &bytes.Buffer{}), "who starts it by hand is told")
}

// Within a program the agent leaves the same, and its report is filed under its run alone.
func TestAgentsWithoutAProcess(t *testing.T) {
	git := checkout(t)
	dir, err := os.Getwd()
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	var agents rehearse.Agents
	do := func(c work.Command) work.Result {
		c.TaskID, c.WorkItem, c.Dir, c.Env = 7, "APP-1", dir, map[string]string{
			"SIGNALBOX_DOCS": "docs/work/APP-1", "SIGNALBOX_SHA": "0123456789abcdef0123456789abcdef01234567",
			"SIGNALBOX_DOCUMENTS": "design.md", "SIGNALBOX_VERDICTS": "passed failed",
		}
		return agents.Run(t.Context(), c)
	}
	require.Equal(t, work.ResultOK, do(work.Command{Role: stage.Architect, Run: 1}).Kind)
	require.Contains(t, git("-C", dir, "ls-tree", "-r", "--name-only", "HEAD"), "docs/work/APP-1/design.md")
	require.Equal(t, work.ResultOK, do(work.Command{Role: stage.Tester, Run: 2, Report: "report.md"}).Kind)
	report, err := agents.Report(t.Context(), work.Command{TaskID: 7, Run: 2})
	require.NoError(t, err)
	require.Contains(t, report, "verdict: passed\nsha: 0123456789abcdef0123456789abcdef01234567\n")
	_, err = agents.Report(t.Context(), work.Command{TaskID: 7, Run: 1})
	require.ErrorIs(t, err, fs.ErrNotExist)
}
