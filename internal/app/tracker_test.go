package app_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/app"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// With our own board nothing of Plane is needed; doctor finds every column, and the pages
// are there.
func TestOwnBoard(t *testing.T) {
	dir := t.TempDir()
	registry := filepath.Join(dir, "projects.yaml")
	put(t, registry, "projects:\n  - {tracker_project: app, repo: acme/app, clone_url: /nowhere, prefix: APP}\n")
	env := []string{
		"ORCH_TRACKER=board", "ORCH_DATA_DIR=" + dir, "ORCH_PROJECTS=" + registry, "ORCH_GITHUB_TOKEN=x", "ORCH_GITHUB_URL=http://127.0.0.1:1", "ORCH_GITHUB_WEBHOOK_SECRET=0123456789abcdef0123456789abcdef",
		"ORCH_JAIL=none", "ORCH_AGENT=true", "ORCH_PUBLIC_URL=https://box.example.org/",
	}
	s := load(t, env)
	v, err := app.Open(t.Context(), s, []string{"/proc/self/exe"}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer func() { require.NoError(t, v.Close()) }()
	require.Empty(t, v.Boards)
	require.Equal(t, "https://box.example.org/dashboard/board/cards/abc", v.Tracker.ItemURL("app", "abc"))
	said, _ := diagnosis(t, v, app.Examination{})
	require.Regexp(t, `ok +board +our own, at https://box.example.org/dashboard/\n`, said)
	require.Regexp(t, `ok +APP +every board status has a column`, said)
	require.NotContains(t, said, "plane")
	for path, want := range map[string]int{"/dashboard/": http.StatusOK, "/dashboard/board": http.StatusSeeOther, "/webhooks/tracker": http.StatusNotFound} {
		rec := httptest.NewRecorder()
		v.Handler.ServeHTTP(rec, localRequest(path))
		body, err := io.ReadAll(rec.Body)
		require.NoError(t, err)
		require.Equal(t, want, rec.Code, "%s", body)
	}
	_, err = v.Reload(t.Context())
	require.NoError(t, err)
}

func TestTrackerSetting(t *testing.T) {
	_, err := app.Load([]string{"ORCH_TRACKER=paper"})
	require.ErrorContains(t, err, `ORCH_TRACKER is "paper", want plane, or board`)
	_, err = app.Load([]string{"ORCH_PUBLIC_URL=box"})
	require.ErrorContains(t, err, "ORCH_PUBLIC_URL")
	s := load(t, []string{"ORCH_TRACKER=plane"})
	here, err := task.NewProjects(task.Project{TrackerProject: "p", Repo: "acme/x", CloneURL: "u", Prefix: "X"})
	require.NoError(t, err)
	elsewhere, err := task.NewProjects(task.Project{TrackerProject: "issues:p", Board: "issues", Repo: "acme/x", CloneURL: "u", Prefix: "X"})
	require.NoError(t, err)
	require.NoError(t, s.NeedsToServe(elsewhere), "no card is there")
	require.ErrorContains(t, s.NeedsToServe(here), "ORCH_PLANE_URL is not set")
	s = load(t, []string{"ORCH_TRACKER=board"})
	require.NoError(t, s.NeedsToServe(here), "a board of our own needs nothing, a repository names its host")
}
