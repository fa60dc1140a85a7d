package gitcli_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A git that is killed while it makes a mirror, or changes it, leaves its locks there.
// The work goes on: with old ones at once, with young ones when they are old enough.
func TestLocksLeftInAMirror(t *testing.T) {
	t.Parallel()
	for name, half := range map[string]bool{"half made": true, "in use": false} {
		for _, age := range []time.Duration{time.Hour, 0} {
			t.Run(name+" "+age.String(), func(t *testing.T) {
				t.Parallel()
				k := setup(t)
				mirror := filepath.Join(k.root, "mirrors", "acme--app.git")
				leave := func(names ...string) {
					for _, n := range names {
						write(t, mirror, n, "")
						then := time.Now().Add(-age)
						require.NoError(t, os.Chtimes(filepath.Join(mirror, n), then, then))
					}
				}
				if half {
					run(t, k.root, "init", "--quiet", "--bare", mirror)
					for _, n := range []string{"HEAD", "objects", "config"} {
						require.NoError(t, os.RemoveAll(filepath.Join(mirror, n)))
					}
					leave("HEAD.lock", "config.lock")
					require.NoError(t, k.g.Drop(t.Context(), k.space, "APP-1-7"))
				}
				dir := k.open()
				all := []string{"HEAD.lock", "config.lock", "packed-refs.lock", "refs/heads/" + k.space.Branch + ".lock", "refs/remotes/origin/main.lock"}
				leave(all...)
				require.Equal(t, commit(t, dir, "a.go", "package a\n"), k.take().SHA)
				leave(all...)
				commit(t, dir, "b.go", "package b\n")
				k.restart()
				require.Equal(t, dir, k.open())
				leave(all...)
				k.catchUp()
				leave(all...)
				require.NoError(t, k.g.Drop(t.Context(), k.space, "APP-1-7"))
				for _, n := range all {
					require.NoFileExists(t, filepath.Join(mirror, filepath.FromSlash(n)))
				}
			})
		}
	}
}

// A lock that goes by itself is another's: nothing is removed, and the work waits.
func TestLockThatIsHeld(t *testing.T) {
	t.Parallel()
	k := setup(t)
	dir := k.open()
	commit(t, dir, "a.go", "package a\n")
	k.take()
	k.pushMain("b.go", "package b\n")
	lock := filepath.Join(k.mirror(), "refs", "heads", filepath.FromSlash(k.space.Branch)+".lock")
	require.NoError(t, os.WriteFile(lock, []byte("held"), 0o600))
	fresh := make(chan error, 1)
	go func() {
		time.Sleep(300 * time.Millisecond)
		fresh <- os.Remove(lock)
	}()
	head := k.catchUp().SHA
	require.NoError(t, <-fresh, "the lock was removed while it was held")

	k.pushMain("c.go", "package c\n")
	require.NoError(t, os.WriteFile(lock, []byte("held"), 0o600))
	go func() {
		time.Sleep(300 * time.Millisecond)
		fresh <- errors.Join(os.Remove(lock), os.WriteFile(lock, []byte("held by another"), 0o600))
	}()
	_, err := k.g.CatchUp(t.Context(), k.space, true)
	require.Error(t, err, "the branch is locked")
	require.NoError(t, <-fresh)
	require.FileExists(t, lock, "a younger lock than the one that was waited for is another's")
	require.NoError(t, os.Remove(lock))
	require.NotEqual(t, head, k.catchUp().SHA)
}
