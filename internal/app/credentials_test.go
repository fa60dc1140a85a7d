package app_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/app"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// A deployer's run has its credential, no sink has it, the task's story has that it was minted
// and revoked, and other roles have none.
func TestJailedCredential(t *testing.T) {
	const value = "a-secret-of-this-run-alone"
	dir := t.TempDir()
	write := func(name, body string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+body), 0o700))
		return path
	}
	mint, revoke := write("mint", "touch "+dir+"/lives; echo "+value), write("revoke", "rm "+dir+"/lives")
	agent := write("agent", "echo got ${DEPLOY_TOKEN:-nothing}; echo ${DEPLOY_TOKEN:-nothing} | wc -c")
	projects := filepath.Join(dir, "projects.yaml")
	require.NoError(t, os.WriteFile(projects, fmt.Appendf(nil,
		"projects:\n  - {tracker_project: p, host: git, repo: acme/app, clone_url: /srv/app.git, prefix: APP, deploy: {credential: {env: DEPLOY_TOKEN, command: [%s], revoke: [%s]}}}\n", mint, revoke), 0o600))
	s, err := app.Load([]string{
		"ORCH_DATA_DIR=" + filepath.Join(dir, "data"), "ORCH_PROJECTS=" + projects, "ORCH_TRACKER=board", "ORCH_AGENT=" + agent, "ORCH_JAIL=landlock", "ORCH_JAIL_READ=" + agent, "ORCH_JAIL_CGROUP=none",
	})
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	v, err := app.Open(t.Context(), s, []string{self, "shim-of-test"}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, v.Close()) })
	id, err := v.DB.NewTaskID(t.Context())
	require.NoError(t, err)
	now := time.Now()
	row := task.Task{ID: id, WorkItemID: "APP-1", TrackerIssueID: "i", TrackerProjectID: "p", Repo: "acme/app", Branch: "feature/APP-1", Title: "T", CreatedAt: now, UpdatedAt: now, StageEnteredAt: now, State: stage.State{Stage: stage.Deploy}}
	require.NoError(t, v.DB.Commit(t.Context(), task.Commit{Task: &row}))
	for role, want := range map[stage.Role]string{stage.Deployer: "got **************************\n27", stage.Developer: "got nothing\n8"} {
		c := work.Command{TaskID: id, Run: 3, Attempt: 1, Repo: "acme/app", Role: role, Stage: stage.Deploy, Dir: t.TempDir()}
		c.Jail.Write = []string{c.Dir}
		res := v.Agents.Run(t.Context(), c)
		require.Equal(t, work.ResultOK, res.Kind, res.Reason)
		require.Equal(t, want, res.Summary, role)
		log, err := os.ReadFile(res.LogPath)
		require.NoError(t, err)
		require.NotContains(t, string(log), value)
		require.NoFileExists(t, filepath.Join(dir, "lives"), "it was revoked")
	}
	story, err := v.DB.Journal(t.Context(), id)
	require.NoError(t, err)
	var said []string
	for _, e := range story {
		require.NotContains(t, string(e.Payload), value)
		said = append(said, e.Result())
	}
	require.Len(t, said, 2)
	require.Contains(t, said[0], "credential: signalbox-")
	require.Contains(t, said[0], "was minted for run 3 of the deployer (fingerprint ")
	require.Contains(t, said[1], "was revoked")
}
