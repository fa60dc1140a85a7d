//go:build linux

package gitcli_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// What is put into a checkout goes through no link that an agent has committed, replaces nothing, and cannot be run; the
// attempt begins all the same.
func TestBesideStaysInTheCheckout(t *testing.T) {
	t.Parallel()
	k := setup(t)
	outside := t.TempDir()
	k.space.Beside = []work.File{{Path: "docs/links/out/a.png", Body: []byte("mine")}, {Path: "docs/links/in/a.png", Body: []byte("mine")}, {Path: "docs/file/a.png", Body: []byte("mine")}, {Path: "docs/leaf", Body: []byte("mine")}, {Path: "docs/plain/a.png", Body: []byte("mine")}}
	dir := k.open()
	info, err := os.Lstat(filepath.Join(dir, "docs/plain/a.png"))
	require.NoError(t, err)
	require.Zero(t, info.Mode().Perm()&0o111)
	require.Empty(t, run(t, dir, "status", "--porcelain", "--untracked-files=all"), "an agent's git passes them over")
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "docs")))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "docs/links"), 0o755))
	for from, to := range map[string]string{"docs/links/out": outside, "docs/links/in": "../../src", "docs/leaf": filepath.Join(outside, "leaf")} {
		require.NoError(t, os.Symlink(to, filepath.Join(dir, from)))
	}
	write(t, dir, "src/kept.go", "package src\n")
	run(t, dir, "add", "--force", "docs/leaf")
	commit(t, dir, "docs/file", "a file")
	dir = k.open()
	for name, there := range map[string]bool{"src/a.png": false, "src/kept.go": true, "docs/file": true, "docs/plain/a.png": true} {
		_, err := os.Lstat(filepath.Join(dir, name))
		require.Equal(t, there, err == nil, name)
	}
	made, err := os.ReadDir(outside)
	require.NoError(t, err)
	require.Empty(t, made)
	target, err := os.Readlink(filepath.Join(dir, "docs/leaf"))
	require.NoError(t, err)
	require.Equal(t, filepath.Join(outside, "leaf"), target)
}
