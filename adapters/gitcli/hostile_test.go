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
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

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
