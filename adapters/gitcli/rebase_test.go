package gitcli_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// pushMain is somebody else who pushes to main.
func (k *kit) pushMain(name, body string) string {
	k.Helper()
	clone := filepath.Join(k.TempDir(), "clone")
	run(k, k.TempDir(), "clone", "--quiet", k.bare, clone)
	sha := commit(k, clone, name, body)
	run(k, clone, "push", "--quiet", "origin", "HEAD:main")
	return sha
}

func (k *kit) catchUp() work.CaughtUp {
	k.Helper()
	got, err := k.g.CatchUp(k.Context(), k.space, true)
	require.NoError(k, err)
	return got
}

func TestCatchUp(t *testing.T) {
	t.Parallel()
	k := setup(t)
	k.pushMain("go.bat", "go\n")
	dir := k.open()
	commit(t, dir, ".gitattributes", "*.bat eol=crlf\n*.md merge=union\n")
	commit(t, dir, "README.md", "hello\nours\n")
	head := commit(t, dir, "src/a.go", "package a\n")
	require.Equal(t, head, k.take().SHA)
	k.push(head, "")

	require.Equal(t, head, k.catchUp().SHA, "a branch that stands on main stays as it is")

	k.pushMain("README.md", "hello\ntheirs\n")
	base := k.pushMain("b.go", "package b\n")
	got := k.catchUp()
	require.NotEqual(t, head, got.SHA)
	require.Equal(t, base, got.Base)
	require.Equal(t, got, k.catchUp(), "again changes nothing")
	require.Equal(t, head, k.remoteHead(), "and no remote is touched")
	require.Equal(t, got.SHA, k.take().SHA, "nothing is taken from the checkout, which is behind")
	require.Empty(t, k.reopen().Left)
	require.FileExists(t, filepath.Join(dir, "b.go"))
	require.Equal(t, "hello\ntheirs\nours", run(t, dir, "show", "HEAD:README.md"))
	require.Equal(t, got.SHA, run(t, dir, "rev-parse", "HEAD"))
	require.Empty(t, run(t, dir, "status", "--porcelain"))
	require.Equal(t, "kim", run(t, dir, "log", "-1", "--format=%an"), "the author stays")
	require.Equal(t, got.SHA, k.take().SHA)
	require.Equal(t, got.SHA, k.take().SHA)

	k.push(got.SHA, head)
	require.Equal(t, got.SHA, k.remoteHead())
	tip, err := k.g.MainTip(t.Context(), k.space)
	require.NoError(t, err)
	require.Equal(t, base, tip)

	require.Len(t, k.remains(), 1, "the checkout alone")
	require.Equal(t, commit(t, dir, "src/c.go", "package a\n"), k.take().SHA, "an agent goes on from there")
}

// A conflict names the files and changes nothing.
func TestCatchUpConflict(t *testing.T) {
	t.Parallel()
	k := setup(t)
	dir := k.open()
	head := commit(t, dir, "README.md", "ours\n")
	k.take()
	base := k.pushMain("README.md", "theirs\n")
	for range 2 {
		_, err := k.g.CatchUp(t.Context(), k.space, true)
		var conflict *work.Conflict
		require.ErrorAs(t, err, &conflict)
		require.Equal(t, &work.Conflict{Base: base, Files: []string{"README.md"}}, conflict)
	}
	require.Equal(t, head, k.take().SHA)
	require.Equal(t, head, run(t, dir, "rev-parse", "HEAD"))
	try := func(sha string, at time.Time) (bool, error) { return k.g.TryMerge(t.Context(), k.space, sha, at) }
	now := time.Now().Add(time.Second)
	_, err := try(head, now)
	require.Equal(t, &work.Conflict{Base: base, Files: []string{"README.md"}}, err)
	has, err := try(base, now)
	require.NoError(t, err)
	require.True(t, has)
	_, err = try(strings.Repeat("a", 40), now)
	require.ErrorContains(t, err, "merge-base", "it is not there")
	_, err = try(head, time.Unix(0, 0))
	require.ErrorContains(t, err, "no commit of main")
	_, err = try("HEAD", now)
	require.ErrorIs(t, err, work.ErrBadName)
	// The developer resolves it, as its prompt says.
	k.open()
	run(t, dir, "rebase", "--quiet", "-X", "theirs", "origin/main")
	resolved := k.take()
	require.NotEqual(t, head, resolved.SHA)
	require.Equal(t, resolved.SHA, k.catchUp().SHA)
	k.pushMain("other.go", "package a\n")
	require.NotEqual(t, resolved.SHA, k.catchUp().SHA)
	has, err = try(resolved.SHA, time.Now().Add(time.Second))
	require.NoError(t, err, "they can be merged")
	require.False(t, has)
}

// A branch with merges is made straight only when the option says so, and has what these have changed.
func TestCatchUpMerges(t *testing.T) {
	t.Parallel()
	k := setup(t)
	dir := k.open()
	commit(t, dir, "src/a.go", "package a\n")
	base := k.pushMain("b.go", "package b\n")
	k.open()
	run(t, dir, "merge", "--quiet", "--no-commit", "origin/main")
	commit(t, dir, "src/a.go", "package a // fits b\n")
	merged := k.take()
	got, err := k.g.CatchUp(t.Context(), k.space, false)
	require.NoError(t, err)
	require.Equal(t, work.CaughtUp{SHA: merged.SHA, Base: base}, got)
	straight := k.catchUp()
	require.NotEqual(t, merged.SHA, straight.SHA)
	k.open()
	require.Empty(t, run(t, dir, "rev-list", "--merges", base+"..HEAD"))
	same, err := k.g.SameTree(t.Context(), k.space, merged.SHA, straight.SHA)
	require.NoError(t, err)
	require.True(t, same)
	same, err = k.g.SameTree(t.Context(), k.space, base, straight.SHA)
	require.NoError(t, err)
	require.False(t, same)
	_, err = k.g.SameTree(t.Context(), k.space, "HEAD", base)
	require.ErrorIs(t, err, work.ErrBadName)
}

// What a killed process left of a rebase is in nobody's way, nor are changes that
// an agent left uncommitted.
func TestCatchUpAfterCrash(t *testing.T) {
	t.Parallel()
	k := setup(t)
	dir := k.open()
	commit(t, dir, "src/a.go", "package a\n")
	k.take()
	k.pushMain("b.go", "package b\n")
	lost := commit(t, dir, "src/b.go", "an attempt that failed\n")
	write(t, dir, "src/a.go", "half done\n")
	half := filepath.Join(k.root, "rebase", "acme--app--APP-1")
	run(t, k.root, "--git-dir="+k.mirror(), "worktree", "add", "--quiet", "--detach", "--lock", half, k.space.Branch) // as git does until it is made
	k.restart()
	got := k.catchUp()
	require.Equal(t, got.SHA, k.take().SHA)
	left := k.reopen().Left
	require.Equal(t, lost, run(t, k.mirror(), "rev-parse", left.SHA+"^"), "what was committed and not taken is kept")
	require.Equal(t, got.SHA, run(t, dir, "rev-parse", "HEAD"))
	require.Empty(t, run(t, dir, "status", "--porcelain"))

	protected := k.space
	protected.Branch = "main"
	_, err := k.g.CatchUp(t.Context(), protected, true)
	require.ErrorIs(t, err, work.ErrProtected)
	gone := k.space
	gone.Branch = "feature/none"
	_, err = k.g.CatchUp(t.Context(), gone, true)
	require.ErrorContains(t, err, "no branch feature/none")
}
