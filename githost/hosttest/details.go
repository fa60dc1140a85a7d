package hosttest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
)

func (f Fixture) details(t *testing.T) githost.Details {
	t.Helper()
	d, is := f.Host.(githost.Details)
	require.True(t, is)
	return d
}

// failures: the end of what is shown is given, which is where the error is.
func failures(t *testing.T, f Fixture) {
	if f.ShowFailure == nil { // the host shows nothing
		text, err := f.details(t).FailureLog(t.Context(), f.Repo, githost.Check{Name: "lint", State: githost.CheckFailed, Kind: "status"})
		require.NoError(t, err)
		require.Empty(t, text)
		return
	}
	sha := f.Commit("feature/a")
	f.SetChecks(sha,
		githost.Check{Name: "build", State: githost.CheckFailed, Kind: "check_run"},
		githost.Check{Name: "lint", State: githost.CheckFailed, Kind: "status"},
	)
	f.ShowFailure(sha, "build", strings.Repeat("a line that is in the way\n", 2000)+"main.go:7: it does not compile\n")
	list, err := f.Host.Checks(t.Context(), f.Repo, "main", sha)
	require.NoError(t, err)
	for _, c := range list {
		text, err := f.details(t).FailureLog(t.Context(), f.Repo, c)
		require.NoError(t, err)
		require.LessOrEqual(t, len(text), githost.FailureMax)
		require.Equal(t, c.Name == "build", strings.Contains(text, "main.go:7: it does not compile"), "%s: %s", c.Name, text)
	}
}

func lineComments(t *testing.T, f Fixture) {
	sha := f.Commit("feature/a")
	f.pull(t, "feature/a")
	for i, by := range []string{"kim", "stranger", f.Self} {
		permission := githost.PermissionWrite
		if by == "stranger" {
			permission = githost.PermissionRead
		}
		f.AddLineComment("feature/a", githost.LineComment{
			Review: githost.Review{Author: by, SHA: sha, Body: "by " + by, Permission: permission}, Path: "main.go", Line: i, Old: i == 1,
		})
	}
	list, err := f.details(t).LineComments(t.Context(), f.Repo, "feature/a", "main")
	require.NoError(t, err)
	require.Len(t, list, 3)
	for i, by := range []string{"kim", "stranger", f.Self} {
		c := list[i]
		require.Equal(t, []any{by, "by " + by, "main.go", i, githost.ReviewCommented}, []any{c.Author, c.Body, c.Path, c.Line, c.State})
		require.Equal(t, []bool{by != "stranger", by == f.Self, i == 1}, []bool{c.Permission.MayWrite(), c.Own, c.Old}, by)
	}
}

func commentsOnce(t *testing.T, f Fixture) {
	host, is := f.Host.(githost.Commenter)
	require.True(t, is)
	head := f.Commit("feature/a")
	pr := f.pull(t, "feature/a")
	_, err := f.merge(t, "feature/a", head)
	require.NoError(t, err)
	c := githost.NewComment{Repo: f.Repo, Number: pr.Number, Key: "1/deploy.md", Body: "It is **deployed**."}
	for range 2 {
		require.NoError(t, host.Comment(t.Context(), c))
	}
	c.Key, c.Body = "2/deploy.md", strings.Repeat("x", 2*githost.CommentMax)
	require.NoError(t, host.Comment(t.Context(), c))
	list := f.Comments(pr.Number)
	require.Len(t, list, 2)
	require.Contains(t, list[0], "It is **deployed**.")
	require.Contains(t, list[1], "xxx")
	c.Number += 1000
	require.ErrorIs(t, host.Comment(t.Context(), c), githost.ErrNotFound)
}

func answersOnce(t *testing.T, f Fixture) {
	sha := f.Commit("feature/a")
	pr := f.pull(t, "feature/a")
	for i, body := range []string{"Why?", "How?"} {
		kim := githost.Review{Author: "kim", SHA: sha, Body: body, Permission: githost.PermissionWrite}
		f.AddLineComment("feature/a", githost.LineComment{Review: kim, Path: "main.go", Line: 7 + i}) // one line may be one thread
	}
	list, err := f.details(t).LineComments(t.Context(), f.Repo, "feature/a", "main")
	require.NoError(t, err)
	one, two := list[0].ID, list[1].ID
	require.NotEqual(t, one, two)
	host := f.Host.(githost.Commenter)
	c := githost.NewComment{Repo: f.Repo, Number: pr.Number, Thread: two, Key: "1/replies", Body: "So."}
	for range 2 {
		require.NoError(t, host.Comment(t.Context(), c))
	}
	require.Empty(t, f.Answers("feature/a", one))
	require.Len(t, f.Answers("feature/a", two), 1)
	require.Contains(t, f.Answers("feature/a", two)[0], "So.")
	require.Empty(t, f.Comments(pr.Number))
	c.Thread, c.Key = "999999", "2/replies"
	require.ErrorIs(t, host.Comment(t.Context(), c), githost.ErrNotFound)
	list, err = f.details(t).LineComments(t.Context(), f.Repo, "feature/a", "main")
	require.NoError(t, err)
	for _, k := range list[2:] {
		require.Equal(t, []any{two, true}, []any{k.ID, k.Own}, "what it says itself is of the thread")
	}
}

func noLineComments(t *testing.T, f Fixture) {
	list, err := f.details(t).LineComments(t.Context(), f.Repo, "feature/none", "main")
	require.NoError(t, err)
	require.Empty(t, list)
}
