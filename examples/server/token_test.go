package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The commands of docs/access.md: a token is printed once, listed without its secret, and revoked;
// the journal has who did it.
func TestTokens(t *testing.T) {
	t.Setenv("ORCH_DATA_DIR", t.TempDir())
	command := func(want int, args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		require.Equal(t, want, run(args, &out, &errs, func() error { return nil }), errs.String())
		return out.String() + errs.String()
	}
	secret := strings.TrimSpace(command(0, "token", "add", "ann", "--role", "operator", "--repos", "acme/app,acme/web", "--days", "90"))
	require.Regexp(t, `^sbx_[a-z2-7]{26}$`, secret)
	list := command(0, "token", "list")
	require.Regexp(t, `ann +operator@acme/app\+acme/web +\d{4}-`, list)
	require.NotContains(t, list, secret)
	require.Contains(t, command(1, "token", "add", "ann", "--role", "viewer"), "there is a token ann already")
	require.Contains(t, command(1, "token", "add", "admin", "--role", "viewer"), "not admin")
	require.NotZero(t, run([]string{"token", "add", "bea", "--role", "king"}, &bytes.Buffer{}, &bytes.Buffer{}, nil))
	require.Contains(t, command(1, "token", "add", "bea", "--role", "viewer", "--repos", "app"), "want owner/name")
	command(0, "token", "revoke", "ann")
	require.Contains(t, command(1, "token", "revoke", "ann"), "there is no token")
	require.Contains(t, command(0, "session", "list"), "NAME")
	require.Contains(t, command(1, "session", "revoke", "ann"), "has no session")
}
