package main

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/app"
	"github.com/signalbox-dev/signalbox/internal/pgtest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// A deployment moves from its file to a PostgreSQL by the command: entry by entry the journal's chain is the same
// there, and goes on. A source that the settings do not name is refused before anything is opened.
func TestCopyMovesADeployment(t *testing.T) {
	environment(t)
	data := t.TempDir()
	t.Setenv("ORCH_DATA_DIR", data)
	t.Setenv("ORCH_JAIL", "none")
	address := pgtest.Start(t, pgtest.Options{Durable: true}).URL("postgres")
	live := func(item string) {
		t.Helper()
		settings, err := app.Load(os.Environ())
		require.NoError(t, err)
		v, err := app.Open(t.Context(), settings, []string{"/proc/self/exe"}, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		id, err := v.DB.NewTaskID(t.Context())
		require.NoError(t, err)
		one := &task.Task{ID: id, WorkItemID: item, TrackerIssueID: item, Repo: "acme/app", Branch: item, State: stage.State{Stage: stage.Analysis}}
		require.NoError(t, v.DB.Commit(t.Context(), task.Commit{
			Task: one, Journal: []task.JournalEntry{{TaskID: id, At: time.Now(), Kind: "note", Payload: []byte(`{"of": "` + item + `"}`)}},
		}))
		require.NoError(t, v.Close())
	}
	chain := func() (head string, entries []string) {
		t.Helper()
		code, out := server("audit", "verify", "--json")
		require.Zero(t, code, out)
		var verified struct{ Head string }
		require.NoError(t, json.Unmarshal([]byte(out), &verified))
		code, out = server("audit", "export")
		require.Zero(t, code, out)
		return verified.Head, strings.Split(strings.TrimSpace(out), "\n")
	}
	live("APP-1")
	live("APP-2")
	head, entries := chain()
	require.Len(t, entries, 2)

	other := filepath.Join(t.TempDir(), "signalbox.db")
	require.NoError(t, os.WriteFile(other, nil, 0o600))
	for from, want := range map[string]string{
		other:               "--from " + other + ": the settings name SQLite, " + data + "/signalbox.db: set ORCH_DATA_DIR to the directory",
		filepath.Dir(other): "set ORCH_DATA_DIR=" + filepath.Dir(other) + " to copy from there",
		"postgres":          "a copy goes from SQLite to PostgreSQL, and not back",
		"mysql":             "neither sqlite nor a file",
	} {
		code, out := server("copy", "--from", from, "--to", address)
		require.Equal(t, 1, code, from)
		require.Contains(t, out, "nothing was copied: --from ")
		require.Contains(t, out, want)
	}
	t.Setenv("ORCH_DATABASE_URL", address)
	code, out := server("copy", "--from", "sqlite", "--to", address)
	require.Equal(t, 1, code)
	require.Regexp(t, `--from sqlite: the settings name PostgreSQL, database \w+ at .*: unset ORCH_DATABASE_URL`, out)
	t.Setenv("ORCH_DATABASE_URL", "")

	code, out = server("copy", "--from", "sqlite", "--to", address)
	require.Zero(t, code, out)
	require.Contains(t, out, "journal: 2 rows in both\n")
	require.Contains(t, out, "The journal is whole and the same.")
	for _, from := range []string{filepath.Join(data, "signalbox.db"), data} {
		code, out = server("copy", "--from", from, "--to", address)
		require.Equal(t, 1, code)
		require.Contains(t, out, "the schema is not empty", "the source itself is right")
	}

	t.Setenv("ORCH_DATABASE_URL", address)
	there, copied := chain()
	require.Equal(t, head, there)
	require.Equal(t, entries, copied)
	live("APP-3")
	_, entries = chain()
	require.Len(t, entries, 3)
	require.Equal(t, copied, entries[:2])
	code, out = server("audit", "verify", "--head", head)
	require.Zero(t, code, out)
}
