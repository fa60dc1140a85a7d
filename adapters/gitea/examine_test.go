package gitea_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/forgetest"
	"github.com/signalbox-dev/signalbox/internal/forgetest/forgekit"
)

// What a repository's pages of settings show is read as it is.
func TestRepositoryAndProtection(t *testing.T) {
	t.Parallel()
	want := githost.Repository{CloneURL: "https://git.example.org/" + repo + ".git", Methods: []string{"squash", "rebase", "fast-forward-only"}}
	forgekit.Settings(open(t), []string{"fast-forward-only", "rebase", "squash"}, want, githost.Protection{}, "build", "e2e / *")
}

// Webhooks are for administrators. One that is registered here lacks nothing, however
// its events are listed.
func TestHooks(t *testing.T) {
	t.Parallel()
	k := setup(t)
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
