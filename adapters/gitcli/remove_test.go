//go:build linux

package gitcli_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// asAnybody runs f without the right to pass over file permissions, which root
// has. Its thread ends with it.
func asAnybody(t *testing.T, f func()) {
	t.Helper()
	done := make(chan error)
	go func() {
		defer close(done)
		runtime.LockOSThread()
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var caps [2]unix.CapUserData
		if err := unix.Capget(&header, &caps[0]); err != nil {
			done <- err
			return
		}
		caps[0].Effective &^= 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_DAC_READ_SEARCH
		if err := unix.Capset(&header, &caps[0]); err != nil {
			done <- err
			return
		}
		f()
	}()
	require.NoError(t, <-done)
}

// A checkout with directories that nobody may write, or even read, is removed all
// the same; what links in it point to stays as it is.
func TestCloseOfALockedCheckout(t *testing.T) {
	t.Parallel()
	k := setup(t)
	dir := k.open()
	outside := t.TempDir()
	write(t, outside, "file", "not yours\n")
	write(t, outside, "closed/file", "not yours\n")
	require.NoError(t, os.Chmod(filepath.Join(outside, "closed"), 0o500))
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(outside, "closed"), 0o700) }) // else nobody can remove it
	write(t, dir, "cache/mod/a/b/file", "x")
	write(t, dir, "cache/secret/file", "x")
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "cache/mod/a/link")))
	for _, locked := range []string{"cache/mod/a/b", "cache/mod/a", "cache/mod"} {
		require.NoError(t, os.Chmod(filepath.Join(dir, locked), 0o555))
	}
	require.NoError(t, os.Chmod(filepath.Join(dir, "cache/secret"), 0))
	asAnybody(t, func() {
		if err := os.RemoveAll(filepath.Join(dir, "cache")); err == nil {
			t.Error("the directories are not locked")
		}
		if err := k.g.Close(t.Context(), k.space); err != nil {
			t.Error(err)
		}
	})
	require.NoDirExists(t, dir)
	body, err := os.ReadFile(filepath.Join(outside, "closed/file"))
	require.NoError(t, err)
	require.Equal(t, "not yours\n", string(body))
	info, err := os.Stat(filepath.Join(outside, "closed"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o500), info.Mode().Perm())
}
