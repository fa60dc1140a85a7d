package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/pgtest"
)

// A deployment moves from its file to a PostgreSQL by the command: the journal's chain is the same there. A source that the
// settings do not name is refused before anything is opened.
func TestCopyMovesADeployment(t *testing.T) {
	environment(t)
	data := t.TempDir()
	t.Setenv("ORCH_DATA_DIR", data)
	t.Setenv("ORCH_JAIL", "none")
	address := pgtest.Start(t, pgtest.Options{Durable: true}).URL("postgres")
	typed := typist(t)
	begin(t, typed)
	typed(0, "token", "add", "ann", "--role", "viewer") // an entry of the journal
	before := typed(0, "audit", "verify")

	other := filepath.Join(t.TempDir(), "signalbox.db")
	require.NoError(t, os.WriteFile(other, nil, 0o600))
	for from, want := range map[string]string{
		other:               "--from " + other + ": the settings name SQLite, " + data + "/signalbox.db: set ORCH_DATA_DIR to the directory",
		filepath.Dir(other): "set ORCH_DATA_DIR=" + filepath.Dir(other) + " to copy from there",
		"postgres":          "a copy goes from SQLite to PostgreSQL, and not back",
		"mysql":             "neither sqlite nor a file",
	} {
		out := typed(1, "copy", "--from", from, "--to", address)
		require.Contains(t, out, "nothing was copied: --from ")
		require.Contains(t, out, want)
	}
	t.Setenv("ORCH_DATABASE_URL", address)
	out := typed(1, "copy", "--from", "sqlite", "--to", address)
	require.Regexp(t, `--from sqlite: the settings name PostgreSQL, database \w+ at .*: unset ORCH_DATABASE_URL`, out)
	t.Setenv("ORCH_DATABASE_URL", "")

	out = typed(0, "copy", "--from", "sqlite", "--to", address)
	require.Contains(t, out, "journal: 1 rows in both\n")
	require.Contains(t, out, "The journal is whole and the same.")
	for _, from := range []string{filepath.Join(data, "signalbox.db"), data} {
		require.Contains(t, typed(1, "copy", "--from", from, "--to", address), "the schema is not empty", "the source itself is right")
	}

	t.Setenv("ORCH_DATABASE_URL", address)
	require.Equal(t, before, typed(0, "audit", "verify"))
}
