package githost_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
)

func TestPage(t *testing.T) {
	const web = "https://git.example.org/acme/app/"
	hub, tea := githost.GitHubLayout(), githost.GiteaLayout()
	for want, got := range map[string]string{
		"https://git.example.org/acme/app/blob/abc/docs/a%20b%23c.md": githost.Page(web, hub.File, "abc", "docs/a b#c.md"),
		"https://git.example.org/acme/app/src/commit/abc/docs/work":   githost.Page(web, tea.Directory, "abc", "docs/work"),
		"https://git.example.org/acme/app/commit/abc":                 githost.Page(web, tea.Commit, "abc", ""),
	} {
		require.Equal(t, want, got)
	}
	require.Empty(t, githost.Page("", hub.File, "abc", "x"), "the repository has no pages")
	require.Empty(t, githost.Page(web, hub.File, "", "x"), "there is no commit")
}
