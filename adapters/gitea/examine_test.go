package gitea_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/forgetest"
)

// What a repository's pages of settings show is read as it is.
func TestRepositoryAndProtection(t *testing.T) {
	t.Parallel()
	k := setup(t, forgetest.Options{})
	k.Server.SetSettings(repo, func(s *forgetest.Settings) { s.Methods = []string{"fast-forward-only", "rebase", "squash"} })
	r, err := k.client.Repository(t.Context(), repo)
	require.NoError(t, err)
	require.Equal(t, githost.Repository{Name: repo, CloneURL: "https://git.example.org/" + repo + ".git", DefaultBranch: "main", Push: true, Methods: []string{"squash", "rebase", "fast-forward-only"}}, r)
	_, err = k.client.Repository(t.Context(), "acme/none")
	require.ErrorIs(t, err, githost.ErrNotFound)

	head := k.Server.Heads(repo)["main"]
	b, err := k.client.Protection(t.Context(), repo, "main")
	require.NoError(t, err)
	require.Equal(t, githost.Protection{SHA: head}, b)
	k.Server.SetSettings(repo, func(s *forgetest.Settings) { s.Required["main"] = []string{"build", "e2e / *"} })
	b, err = k.client.Protection(t.Context(), repo, "main")
	require.NoError(t, err)
	require.Equal(t, githost.Protection{SHA: head, Protected: true, Contexts: []string{"build", "e2e / *"}}, b)
	_, err = k.client.Protection(t.Context(), repo, "a/b?c")
	require.ErrorIs(t, err, githost.ErrNotFound)
}

// Webhooks are for administrators. One that is registered here lacks nothing, however
// its events are listed.
func TestHooks(t *testing.T) {
	t.Parallel()
	k := setup(t, forgetest.Options{})
	_, err := k.client.Webhooks(t.Context(), repo)
	require.ErrorIs(t, err, githost.ErrDenied)
	require.ErrorIs(t, k.client.AddWebhook(t.Context(), repo, "https://box.example.org/x", "secret"), githost.ErrDenied)

	k.Server.SetSettings(repo, func(s *forgetest.Settings) {
		s.Admin = true
		s.Hooks = []forgetest.Hook{
			{URL: "https://a.example.org", ContentType: "form", Events: []string{"push", "pull_request", "pull_request_sync"}},
			{URL: "https://b.example.org", Active: true, ContentType: "json", Events: []string{"pull_request", "pull_request_sync", "pull_request_review_approved", "pull_request_review_rejected", "status"}},
		}
	})
	require.NoError(t, k.client.AddWebhook(t.Context(), repo, "https://box.example.org/x", "secret"))
	list, err := k.client.Webhooks(t.Context(), repo)
	require.NoError(t, err)
	require.Equal(t, []githost.Webhook{
		{URL: "https://a.example.org", Lacks: []string{"pull_request", "status"}},
		{URL: "https://b.example.org", Active: true, JSON: true},
		{URL: "https://box.example.org/x", Active: true, JSON: true},
	}, list)
	require.Equal(t, "secret", k.Server.Settings(repo).Hooks[2].Secret)
	err = k.client.AddWebhook(t.Context(), repo, "", "secret")
	require.ErrorContains(t, err, "Missing config option: url")
	require.NotContains(t, err.Error(), `secret`)
}
