package gitcli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

func TestDrop(t *testing.T) {
	t.Parallel()
	k := setup(t)
	ctx := t.Context()
	dir := k.open()
	begin := k.take().SHA
	k.push(begin, "")
	head := commit(t, dir, "docs/work/APP-1/requirements.md", "r") // committed, never pushed
	require.NoError(t, k.g.Drop(ctx, k.space, "APP-1-7"))
	require.NoDirExists(t, dir)
	require.Empty(t, run(t, k.bare, "for-each-ref", "refs/heads/feature"), "the remote branch is gone")
	mirror := filepath.Join(k.root, "mirrors", "acme--app.git")
	require.Equal(t, head, run(t, mirror, "rev-parse", "refs/signalbox/kept/APP-1-7"), "the documents are kept")
	require.NoError(t, k.g.Drop(ctx, k.space, "APP-1-7"), "dropping again is a success")
	require.Equal(t, head, run(t, mirror, "rev-parse", "refs/signalbox/kept/APP-1-7"))
	tip, err := k.g.Tip(ctx, k.space)
	require.NoError(t, err)
	require.Empty(t, tip.SHA)
	dir = k.open()
	require.NoFileExists(t, filepath.Join(dir, "docs/work/APP-1/requirements.md"), "a new task of the item begins anew")
}

func TestDropLeavesForeignCommits(t *testing.T) {
	t.Parallel()
	k := setup(t)
	ctx := t.Context()
	k.open()
	begin := k.take().SHA
	k.push(begin, "")
	human := k.pushByHand()
	require.ErrorIs(t, k.g.Drop(ctx, k.space, "APP-1-7"), work.ErrMoved)
	require.Equal(t, human, k.remoteHead())
	s := k.space
	s.Branch = "main"
	require.ErrorIs(t, k.g.Drop(ctx, s, "APP-1-7"), work.ErrProtected)
	require.ErrorIs(t, k.g.Drop(ctx, k.space, "-x"), work.ErrBadName)
}

// A service that was killed while it made a repository's mirror goes on, whatever
// was there by then; a task that was cancelled before anything was made too.
func TestHalfAMirror(t *testing.T) {
	t.Parallel()
	for _, gone := range [][]string{{"objects"}, {"objects", "config"}, {"objects", "HEAD", "config"}, {"objects", "HEAD", "refs", "config"}, nil} {
		t.Run(fmt.Sprint(gone), func(t *testing.T) {
			t.Parallel()
			k := setup(t)
			mirror := filepath.Join(k.root, "mirrors", "acme--app.git")
			if gone != nil {
				run(t, k.root, "init", "--quiet", "--bare", mirror)
				for _, name := range gone {
					require.NoError(t, os.RemoveAll(filepath.Join(mirror, name)))
				}
			}
			require.NoError(t, k.g.Drop(t.Context(), k.space, "APP-1-7"))
			require.DirExists(t, k.open())
		})
	}
}
