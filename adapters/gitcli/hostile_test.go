package gitcli_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/gitcli"
	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// What an agent writes into its repository's configuration is not executed.
func TestHostileRepository(t *testing.T) {
	t.Parallel()
	k := setup(t)
	dir := k.open()
	proof := filepath.Join(t.TempDir(), "proof")
	script := filepath.Join(t.TempDir(), "evil.sh")
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\ntouch "+proof+"\n"), 0o755))
	for _, key := range []string{"core.fsmonitor", "core.sshCommand", "uploadpack.packObjectsHook", "core.pager", "diff.external", "credential.helper"} {
		run(t, dir, "config", key, script)
	}
	hooks := filepath.Join(k.root, "repos", "acme--app", "APP-1.git", "hooks")
	for _, hook := range []string{"post-checkout", "reference-transaction", "pre-push", "post-update"} {
		write(t, hooks, hook, "#!/bin/sh\ntouch "+proof+"\n")
	}
	run(t, dir, "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "commit", "--quiet", "--allow-empty", "-m", "x")
	tip := k.take()
	require.True(t, tip.Changed)
	k.open()
	require.NoError(t, k.g.Push(t.Context(), k.space, tip.SHA, ""))
	require.NoError(t, k.g.Close(t.Context(), k.space))
	require.NoFileExists(t, proof)
}

func TestFiles(t *testing.T) {
	t.Parallel()
	k := setup(t)
	dir := k.open()
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(dir, "link")))
	write(t, dir, "dir/deep/x.txt", "deep")
	head := commit(t, dir, "with space.txt", "s")
	k.take()
	files, err := k.g.Files(t.Context(), k.space, head)
	require.NoError(t, err)
	require.NoError(t, fstest.TestFS(files, "README.md", "dir/deep/x.txt", "with space.txt", "docs/work/APP-1/request.md"))
	body, err := fs.ReadFile(files, "link")
	require.NoError(t, err)
	require.Equal(t, "/etc/passwd", string(body), "links are not followed")
	for _, name := range []string{"../x", "/etc/passwd", "no", "dir/no", "a\nb", "README.md/x"} {
		_, err := fs.ReadFile(files, name)
		require.Error(t, err, name)
	}
	_, err = k.g.Files(t.Context(), k.space, strings.Repeat("0", 40))
	require.Error(t, err)
	_, err = k.g.Files(t.Context(), k.space, "HEAD")
	require.ErrorIs(t, err, work.ErrBadName)
}

func TestRunCheck(t *testing.T) {
	t.Parallel()
	k := setup(t)
	dir := k.open()
	write(t, dir, "ok.sh", "#!/bin/sh\ntest -f README.md && test -z \"$SECRET\" && test \"$SIGNALBOX_BRANCH\" = "+k.space.Branch+"\n")
	write(t, dir, "bad.sh", "#!/bin/sh\necho 'licence missing' >&2\nexit 2\n")
	head := commit(t, dir, "odd.sh", "#!/bin/sh\nexit 9\n")
	k.take()
	s := gates.Subject{SHA: head, Task: gates.Task{Repo: "acme/app", Main: "main", Branch: k.space.Branch, WorkItem: "APP-1"}}
	for script, want := range map[string]int{"./ok.sh": 0, "./bad.sh": 2, "./odd.sh": 9} {
		exit, stderr, err := k.g.RunCheck(t.Context(), []string{script}, s)
		require.NoError(t, err, script)
		require.Equal(t, want, exit, "%s: %s", script, stderr)
	}
	_, stderr, err := k.g.RunCheck(t.Context(), []string{"./bad.sh"}, s)
	require.NoError(t, err)
	require.Equal(t, "licence missing\n", stderr)
	_, _, err = k.g.RunCheck(t.Context(), []string{"./none.sh"}, s)
	require.Error(t, err)
	left, err := filepath.Glob(filepath.Join(k.root, "check-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	k := setup(t)
	var wg sync.WaitGroup
	for n := range 4 {
		s := k.space
		s.WorkItem, s.Branch, s.Docs = fmt.Sprintf("APP-%d", n), fmt.Sprintf("feature/APP-%d-x", n), fmt.Sprintf("docs/work/APP-%d", n)
		for range 2 { // twice the same, and different ones
			wg.Go(func() {
				if _, err := k.g.Open(k.Context(), s, nil); err != nil {
					k.Errorf("open: %v", err)
				}
			})
		}
	}
	wg.Wait()
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	_, err := gitcli.New(t.Context(), gitcli.Options{})
	require.ErrorContains(t, err, "Root")
	_, err = gitcli.New(t.Context(), gitcli.Options{Root: t.TempDir(), Git: "no-such-git"})
	require.ErrorContains(t, err, "not installed")
}

func TestErrorsHideCredentials(t *testing.T) {
	t.Parallel()
	k := setup(t)
	k.space.CloneURL = "http://user:hunter2@127.0.0.1:1/x.git"
	_, err := k.g.Open(t.Context(), k.space, nil)
	require.Error(t, err)
	require.NotContains(t, err.Error(), "hunter2")
}

func TestCancelledContext(t *testing.T) {
	t.Parallel()
	k := setup(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := k.g.Open(ctx, k.space, nil)
	require.ErrorIs(t, err, context.Canceled)
}
