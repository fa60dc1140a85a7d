package hosttest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
)

func (f Fixture) plain(t *testing.T) githost.Plain {
	t.Helper()
	p, is := githost.PlainOf(f.Host, f.Repo)
	require.True(t, is)
	return p
}

// lacking: nothing is made up for what is not there, and it does not come by waiting.
func lacking(t *testing.T, f Fixture) {
	sha := f.Commit("feature/a")
	ctx := t.Context()
	_, err1 := f.Host.PullRequest(ctx, f.Repo, "feature/a", "main")
	_, err2 := f.Host.OpenPullRequest(ctx, githost.NewPullRequest{Repo: f.Repo, Head: "feature/a", Base: "main"})
	_, err3 := f.Host.Reviews(ctx, f.Repo, "feature/a", "main")
	_, err4 := f.Host.Checks(ctx, f.Repo, "main", sha)
	for _, err := range []error{err1, err2, err3, err4} {
		require.ErrorIs(t, err, githost.ErrLacking)
		require.False(t, fault.Retryable(err))
	}
}

// forward: what lands is the head itself, and only on a main that it has.
func forward(t *testing.T, f Fixture) {
	head := f.Commit("feature/a")
	sha, err := f.merge(t, "feature/a", head)
	require.NoError(t, err)
	require.Equal(t, head, sha)
	heads, err := f.plain(t).Heads(t.Context(), f.Repo)
	require.NoError(t, err)
	require.Equal(t, head, heads["main"])
	require.Equal(t, head, heads["feature/a"], "the branch stays until it is deleted")
	behind := f.Conflict("feature/b")
	before, err := f.plain(t).Heads(t.Context(), f.Repo)
	require.NoError(t, err)
	_, err = f.merge(t, "feature/b", behind)
	require.ErrorIs(t, err, githost.ErrBehind)
	after, err := f.plain(t).Heads(t.Context(), f.Repo)
	require.NoError(t, err)
	require.Equal(t, before, after)
}

// seen: a merge by hand is found in main's history, by any author.
func seen(t *testing.T, f Fixture) {
	p, ctx := f.plain(t), t.Context()
	begin, err := p.Heads(ctx, f.Repo)
	require.NoError(t, err)
	head := f.Commit("feature/a")
	landed, err := githost.Landed(ctx, p, f.Repo, "main", head)
	require.NoError(t, err)
	require.Empty(t, landed)
	_, err = f.merge(t, "feature/a", head)
	require.NoError(t, err)
	f.Commit("main")
	landed, err = githost.Landed(ctx, p, f.Repo, "main", head)
	require.NoError(t, err)
	require.Equal(t, head, landed)
	heads, err := p.Heads(ctx, f.Repo)
	require.NoError(t, err)
	for tip, want := range map[string]bool{heads["main"]: true, begin["main"]: false, head: true} {
		has, err := p.Contains(ctx, f.Repo, tip, head)
		require.NoError(t, err)
		require.Equal(t, want, has != "", tip)
	}
}

// squash: one commit lands, and whoever looks for the head finds that, however often it is merged; not for
// a head that was tested otherwise, and not on a main that it lacks.
func squash(t *testing.T, f Fixture) {
	p, ctx := f.plain(t), t.Context()
	begin, err := p.Heads(ctx, f.Repo)
	require.NoError(t, err)
	first := f.Commit("feature/a")
	head := f.Commit("feature/a")
	m := githost.Merge{Repo: f.Repo, Head: "feature/a", Base: "main", HeadSHA: head, Title: "T", Body: "B", Method: githost.MergeSquash}
	made, err := f.Host.Merge(ctx, m)
	require.NoError(t, err)
	require.NotEqual(t, head, made)
	heads, err := p.Heads(ctx, f.Repo)
	require.NoError(t, err)
	require.Equal(t, made, heads["main"])
	f.Commit("main")
	again, err := f.Host.Merge(ctx, m) // its first answer was lost
	require.NoError(t, err)
	require.Equal(t, made, again)
	landed, err := githost.Landed(ctx, p, f.Repo, "main", head)
	require.NoError(t, err)
	require.Equal(t, made, landed)
	for sha, tip := range map[string]string{head: begin["main"], first: made} {
		as, err := p.Contains(ctx, f.Repo, tip, sha)
		require.NoError(t, err)
		require.Empty(t, as)
	}
	m.Head = "feature/b"
	m.HeadSHA = f.Conflict("feature/b")
	_, err = f.Host.Merge(ctx, m)
	require.ErrorIs(t, err, githost.ErrBehind)
}

func nowhere(t *testing.T, f Fixture) {
	head := f.Commit("feature/a")
	require.NoError(t, f.Host.DeleteBranch(t.Context(), f.Repo, "feature/a"))
	_, err := f.merge(t, "feature/a", head)
	require.ErrorIs(t, err, githost.ErrNotFound)
	heads, err := f.plain(t).Heads(t.Context(), f.Repo)
	require.NoError(t, err)
	require.NotContains(t, heads, "feature/a")
}
