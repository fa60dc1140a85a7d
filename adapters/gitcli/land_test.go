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
	require.NoError(t, k.g.Push(ctx, k.space, sha, ""))
	main := run(t, k.bare, "rev-parse", "main")
	require.NoError(t, k.g.MayPush(ctx, k.space))
	require.Equal(t, "refs/heads/"+k.space.Branch+"\nrefs/heads/main", run(t, k.bare, "for-each-ref", "--format=%(refname)"), "nothing was pushed")
	for fault, again := range map[string]bool{"401": false, "403": false, "post 403": false, "500": true, "503": true, "dropped": true} {
		s.set("git-receive-pack", fault)
		calls := map[string]error{"land": k.g.Land(ctx, k.space, sha), "remove": k.g.RemoveBranch(ctx, k.space, k.space.Branch, sha)}
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
		require.NoError(t, k.g.Land(ctx, k.space, sha))
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
	require.NoError(t, k.g.Push(ctx, k.space, sha, ""))
	other, err := gitcli.New(ctx, gitcli.Options{Root: filepath.Join(t.TempDir(), "other")})
	require.NoError(t, err)
	require.ErrorIs(t, other.RemoveBranch(ctx, k.space, k.space.Branch, run(t, k.bare, "rev-parse", "main")), work.ErrMoved)
	require.ErrorIs(t, other.RemoveBranch(ctx, k.space, "main", sha), work.ErrProtected)
	require.NoError(t, other.Land(ctx, k.space, sha))
	has, err := other.Contains(ctx, k.space, run(t, k.bare, "rev-parse", "main"), sha)
	require.NoError(t, err)
	require.True(t, has)
}
