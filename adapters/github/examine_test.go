package github_test

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
	want := githost.Repository{CloneURL: "https://github.com/" + repo + ".git", Methods: []string{"merge", "rebase"}}
	forgekit.Settings(open(t), []string{"rebase", "merge"}, want, githost.Protection{Contexts: []string{}}, "build", "e2e")
}

// Webhooks are for administrators; one is registered once.
func TestHooks(t *testing.T) {
	t.Parallel()
	k := setup(t)
	_, err := k.client.Webhooks(t.Context(), repo)
	require.ErrorIs(t, err, githost.ErrNotFound)
	require.ErrorIs(t, k.client.AddWebhook(t.Context(), repo, "https://box.example.org/x", "secret"), githost.ErrNotFound)

	k.Server.SetSettings(repo, func(s *forgetest.Settings) {
		s.Admin = true
		s.Hooks = []forgetest.Hook{{URL: "https://a.example.org", ContentType: "form", Events: []string{"push", "status"}, Last: 500}, {URL: "https://b.example.org", Events: []string{"*"}}}
	})
	require.NoError(t, k.client.AddWebhook(t.Context(), repo, "https://box.example.org/x", "secret"))
	list, err := k.client.Webhooks(t.Context(), repo)
	require.NoError(t, err)
	require.Equal(t, []githost.Webhook{
		{URL: "https://a.example.org", Lacks: []string{"check_run", "check_suite", "pull_request", "pull_request_review"}, Last: 500, Note: "Invalid HTTP Response: Internal Server Error"},
		{URL: "https://b.example.org"},
		{URL: "https://box.example.org/x", Active: true, JSON: true},
	}, list)
	err = k.client.AddWebhook(t.Context(), repo, "https://box.example.org/x", "secret")
	require.ErrorContains(t, err, "Hook already exists on this repository")
	require.NotContains(t, err.Error(), "secret")
	require.Equal(t, "secret", k.Server.Settings(repo).Hooks[2].Secret)
}
