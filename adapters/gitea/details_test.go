package gitea_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/gitea"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/forgetest"
)

var (
	_ githost.Details   = (*gitea.Client)(nil)
	_ githost.Commenter = (*gitea.Client)(nil)
)

// An answer stands at the line of the commit that was reviewed, and resolves what that line was asked, where the server can. Whoever
// has judged officially is known to write.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, forgejo := range []bool{false, true} {
		k := setup(t, forgetest.Options{Forgejo: forgejo})
		head := k.Commit("feature/a")
		pr := k.Pull("feature/a")
		k.Server.SetRole("kim", "write")
		require.NoError(t, k.Server.Review(repo, "feature/a", "kim", "CHANGES_REQUESTED", "", "See below."))
		for _, by := range []string{"kim", "passer"} {
			require.NoError(t, k.Server.Comment(repo, "feature/a", forgetest.LineComment{Author: by, Path: "a.go", Line: 7, Old: true, Body: "Why?"}))
		}
		k.Commit("feature/a")
		list, err := k.client.LineComments(t.Context(), repo, "feature/a", "main")
		require.NoError(t, err)
		require.Len(t, list, 2)
		require.Equal(t, []bool{true, false}, []bool{list[0].Permission.MayWrite(), list[1].Permission.MayWrite()})
		require.Equal(t, list[0].ID, list[1].ID)
		c := githost.NewComment{Repo: repo, Number: pr.Number, Thread: list[0].ID, Key: "k", Body: "So."}
		for range 2 {
			require.NoError(t, k.client.Comment(t.Context(), c))
		}
		lines := k.Server.LineComments(repo, "feature/a")
		require.Len(t, lines, 3)
		require.Equal(t, []any{head, "a.go", 7, true, 1}, []any{lines[2].SHA, lines[2].Path, lines[2].Line, lines[2].Old, lines[2].Answers})
		require.Equal(t, !forgejo, lines[0].Resolved)
		c.Key = "no key"
		require.ErrorContains(t, k.client.Comment(t.Context(), c), "a comment's key is")
	}
}
