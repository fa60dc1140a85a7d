package main

import (
	"database/sql"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/app"
)

// typist types commands, each of which has to end with a code, and reads what is printed.
func typist(t *testing.T) func(want int, args ...string) string {
	t.Helper()
	return func(want int, args ...string) string {
		t.Helper()
		code, out := server(args...)
		require.Equal(t, want, code, out)
		return out
	}
}

// begin makes a server's database, without which these commands do nothing.
func begin(t *testing.T, typed func(want int, args ...string) string) {
	t.Helper()
	for _, words := range []string{"audit verify", "session list", "token add ann --role viewer"} {
		require.Contains(t, typed(1, strings.Fields(words)...), "there is no database")
	}
	settings, err := app.Load(os.Environ())
	require.NoError(t, err)
	db, err := app.OpenStore(t.Context(), settings, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.NoError(t, db.Close())
}

// The commands of docs/operations.md: a token is printed once, listed without its secret, and revoked;
// the journal has who did it.
func TestTokens(t *testing.T) {
	t.Setenv("ORCH_DATA_DIR", t.TempDir())
	t.Setenv("ORCH_TRACKER", "board")
	typed := typist(t)
	require.Contains(t, typed(1, "validate"), "signalbox init writes one")
	begin(t, typed)
	secret := strings.TrimSpace(typed(0, "token", "add", "ann", "--role", "operator", "--repos", "acme/app,acme/web", "--days", "90"))
	require.Regexp(t, `^sbx_[a-z2-7]{26}$`, secret)
	list := typed(0, "token", "list")
	require.Regexp(t, `ann +operator@acme/app\+acme/web +\d{4}-`, list)
	require.NotContains(t, list, secret)
	programs := typed(0, "token", "list", "--json")
	require.Contains(t, programs, `"repos": [`)
	require.NotContains(t, programs, "hash")
	require.Contains(t, typed(1, "token", "add", "ann", "--role", "viewer"), "there is a token ann already")
	require.Contains(t, typed(1, "token", "add", "admin", "--role", "viewer"), "not admin")
	typed(2, "token", "add", "bea", "--role", "king")
	require.Contains(t, typed(1, "token", "add", "bea", "--role", "viewer", "--repos", "app"), "want owner/name")
	typed(0, "token", "revoke", "ann")
	require.Contains(t, typed(3, "token", "revoke", "ann"), "there is no token")
	require.Contains(t, typed(0, "session", "list"), "NAME")
	require.JSONEq(t, `{"sessions": []}`, typed(0, "session", "list", "--json"))
	require.Contains(t, typed(3, "session", "revoke", "ann"), "has no session")
}

// The journal of these acts is a chain: one that was changed is named.
func TestAudit(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("ORCH_DATA_DIR", dir)
	typed := typist(t)
	begin(t, typed)
	for _, name := range []string{"ann", "bea", "kim"} {
		typed(0, "token", "add", name, "--role", "viewer")
	}
	said := typed(0, "audit", "verify")
	require.Regexp(t, `^entries: 3, from before the chain: 0, head: [0-9a-f]{64}\n$`, said)
	head := strings.TrimSpace(said[strings.LastIndex(said, " ")+1:])
	lines := strings.Split(strings.TrimSpace(typed(0, "audit", "export")), "\n")
	require.Len(t, lines, 3)
	require.Contains(t, lines[1], `"name":"bea viewer"`)
	require.Contains(t, lines[1], `"via":"command"`)
	require.Contains(t, lines[2], head)
	typed(0, "audit", "verify", "--head", head)
	require.Contains(t, typed(1, "audit", "verify", "--head", strings.Repeat("0", 64)), "is not in the journal")
	db, err := sql.Open("sqlite", filepath.Join(dir, "signalbox.db"))
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), `update journal set payload = replace(payload, 'bea', 'ann') where id = 2`)
	require.NoError(t, err)
	require.NoError(t, db.Close())
	require.Contains(t, typed(1, "audit", "verify"), "entry 2 was changed after it was written")
}
