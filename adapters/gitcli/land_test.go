package gitcli_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/gitcli"
	classed "github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// What moves main, and what removes a branch, says of real remotes how it failed; a push
// that changes nothing says whether it would be taken. Nothing is half done.
func TestLandOnRemotesThatFail(t *testing.T) {
	t.Parallel()
	k, s, sha := opened(t, gitcli.Options{})
	ctx := t.Context()
	k.push(sha, "")
	main := run(t, k.bare, "rev-parse", "main")
	require.NoError(t, k.g.MayPush(ctx, k.space))
	require.Equal(t, "refs/heads/"+k.space.Branch+"\nrefs/heads/main", run(t, k.bare, "for-each-ref", "--format=%(refname)"), "nothing was pushed")
	for fault, again := range map[string]bool{"401": false, "403": false, "post 403": false, "500": true, "503": true, "dropped": true} {
		s.set("git-receive-pack", fault)
		calls := map[string]error{"remove": k.g.RemoveBranch(ctx, k.space, k.space.Branch, sha)}
		_, calls["land"] = k.g.Land(ctx, k.space, sha, "")
		_, calls["squash"] = k.g.Land(ctx, k.space, sha, "it")
		if fault != "post 403" { // which a push that changes nothing does not come to
			calls["may push"] = k.g.MayPush(ctx, k.space)
		}
		for what, err := range calls {
			require.Error(t, err, "%s: %s", what, fault)
			require.Equal(t, again, classed.Retryable(err), "%s: %s: %v", what, fault, err)
			require.NotErrorIs(t, err, work.ErrMoved)
		}
		s.set("git-receive-pack", "")
	}
	s.set("git-upload-pack", "page")
	_, err := k.g.Heads(ctx, k.space)
	require.ErrorIs(t, err, work.ErrRemote)
	require.True(t, classed.Retryable(err), "a page is no repository without branches")
	s.set("git-upload-pack", "")
	require.Equal(t, main, run(t, k.bare, "rev-parse", "main"))
	for range 2 {
		as, err := k.g.Land(ctx, k.space, sha, "")
		require.NoError(t, err)
		require.Equal(t, sha, as)
		require.NoError(t, k.g.RemoveBranch(ctx, k.space, k.space.Branch, sha))
	}
	require.Equal(t, sha, run(t, k.bare, "rev-parse", "main"))
	require.Equal(t, "refs/heads/main", run(t, k.bare, "for-each-ref", "--format=%(refname)"))
}

// Another machine, whose mirror has nothing, lands what is on the branch; a branch that is
// elsewhere than it was left stays, and main is never removed.
func TestLandElsewhere(t *testing.T) {
	t.Parallel()
	k, _, sha := opened(t, gitcli.Options{})
	ctx := t.Context()
	k.push(sha, "")
	other, err := gitcli.New(ctx, gitcli.Options{Root: filepath.Join(t.TempDir(), "other")})
	require.NoError(t, err)
	require.ErrorIs(t, other.RemoveBranch(ctx, k.space, k.space.Branch, run(t, k.bare, "rev-parse", "main")), work.ErrMoved)
	require.ErrorIs(t, other.RemoveBranch(ctx, k.space, "main", sha), work.ErrProtected)
	_, err = other.Land(ctx, k.space, sha, "")
	require.NoError(t, err)
	has, err := other.Contains(ctx, k.space, run(t, k.bare, "rev-parse", "main"), sha)
	require.NoError(t, err)
	require.Equal(t, sha, has)
}

// Squashed, a branch is one commit of main with the tree that was tested; a machine that died behind the push, or another one,
// finds it, whatever has landed since. A line of somebody else's that claims as much is believed of no other tree, and of none on
// a main that the branch had not.
func TestLandSquashed(t *testing.T) {
	t.Parallel()
	k, _, _ := opened(t, gitcli.Options{})
	ctx := t.Context()
	sha := commit(t, k.open(), "src/a.go", "a\n")
	k.take()
	k.push(sha, "")
	seed := filepath.Join(t.TempDir(), "seed")
	run(t, t.TempDir(), "clone", "--quiet", k.bare, seed)
	main := run(t, seed, "rev-parse", "HEAD")
	forged := run(t, seed, "commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "x\n\nSignalbox-Squashed: "+sha)
	run(t, seed, "fetch", "--quiet", "origin", k.space.Branch)
	late := run(t, seed, "commit-tree", sha+"^{tree}", "-p", forged, "-m", "x\n\nSignalbox-Squashed: "+sha)
	run(t, seed, "push", "--quiet", "origin", late+":refs/heads/forged")
	as, err := k.g.Contains(ctx, k.space, late, sha)
	require.NoError(t, err)
	require.Empty(t, as)

	made, err := k.g.Land(ctx, k.space, sha, "APP-1: cache\n\nwhat is wanted\x00\n\n")
	require.NoError(t, err)
	require.Equal(t, made, run(t, k.bare, "rev-parse", "main"))
	require.Equal(t, main, run(t, k.bare, "log", "-1", "--format=%P", "main"))
	require.Equal(t, run(t, k.bare, "rev-parse", sha+"^{tree}"), run(t, k.bare, "rev-parse", "main^{tree}"))
	require.Equal(t, "APP-1: cache\n\nwhat is wanted\n\nSignalbox-Squashed: "+sha, run(t, k.bare, "log", "-1", "--format=%B", "main"))
	require.Equal(t, "signalbox signalbox", run(t, k.bare, "log", "-1", "--format=%an %cn", "main"))
	run(t, seed, "pull", "--quiet", "origin", "main")
	commit(t, seed, "later.txt", "x")
	run(t, seed, "push", "--quiet", "origin", "HEAD:main")
	other, err := gitcli.New(ctx, gitcli.Options{Root: filepath.Join(t.TempDir(), "other")})
	require.NoError(t, err)
	for _, g := range []*gitcli.Git{k.g, other} {
		as, err = g.Contains(ctx, k.space, run(t, k.bare, "rev-parse", "main"), sha)
		require.NoError(t, err)
		require.Equal(t, made, as)
		as, err = g.Land(ctx, k.space, sha, "once more")
		require.NoError(t, err)
		require.Equal(t, made, as)
	}
	require.Equal(t, "3", run(t, k.bare, "rev-list", "--count", "main"))
	require.NoError(t, k.g.RemoveBranch(ctx, k.space, k.space.Branch, sha))
	run(t, k.bare, "gc", "--quiet", "--prune=now")
	third, err := gitcli.New(ctx, gitcli.Options{Root: filepath.Join(t.TempDir(), "third")})
	require.NoError(t, err)
	as, err = third.Contains(ctx, k.space, made, sha)
	require.NoError(t, err, "nobody has it any more")
	require.Empty(t, as)
}
