package github_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/github"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/forgetest"
	"github.com/signalbox-dev/signalbox/internal/forgetest/forgekit"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
)

// appKey is a key of an app, and the file of it.
func appKey(t *testing.T) (*rsa.PrivateKey, string) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	return key, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}))
}

// appClient is a client that signs in as an app.
func appClient(t *testing.T, address, key string, now func() time.Time) *github.Client {
	t.Helper()
	c, err := github.New(github.Options{BaseURL: address, Now: now, HTTPClient: forgekit.HTTP(5 * time.Second), App: &github.App{ID: "Iv1.box", Key: key}})
	require.NoError(t, err)
	return c
}

// appKit is a server that takes an app, a client that signs in as it, and the clock of both.
func appKit(t *testing.T, rights map[string]string) (*kit, *github.Client, func(time.Duration)) {
	t.Helper()
	key, file := appKey(t)
	if rights == nil {
		rights = map[string]string{}
	}
	var ahead atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	k := setup(t, forgetest.Options{App: &forgetest.App{ID: "Iv1.box", Key: &key.PublicKey, Rights: rights}, Now: now})
	return k, appClient(t, k.URL, file, now), func(d time.Duration) { ahead.Store(int64(d)) }
}

// An app signs in as its installation for the repository, by a token that it keeps until
// shortly before its end. It has no account.
func TestApp(t *testing.T) {
	t.Parallel()
	k, c, later := appKit(t, nil)
	head := k.Commit("feature/a")
	require.NoError(t, c.Ping(t.Context()))
	require.Zero(t, k.Server.Issued())
	for range 3 {
		_, err := c.Checks(t.Context(), repo, "main", head)
		require.NoError(t, err)
	}
	pr, err := c.OpenPullRequest(t.Context(), asked)
	require.NoError(t, err)
	require.NoError(t, k.Server.Review(repo, "feature/a", "kim", "APPROVED", "", ""))
	k.Server.SetRole("kim", "write")
	list, err := c.Reviews(t.Context(), repo, "feature/a", "main")
	require.NoError(t, err)
	require.True(t, list[0].Permission.MayWrite() && !list[0].Own)
	signs := func(want string) {
		t.Helper()
		token, err := c.Token(t.Context(), repo)
		require.NoError(t, err)
		require.Equal(t, want, token)
	}
	signs("ghs_token-1")
	require.Equal(t, 1, k.Server.Issued())
	later(56 * time.Minute)
	signs("ghs_token-2") // what ends soon is not used
	later(3 * time.Hour)
	_, err = c.Merge(t.Context(), githost.Merge{Repo: repo, Number: pr.Number, HeadSHA: head, Title: "T"})
	require.NoError(t, err)
	_, err = c.Checks(t.Context(), "acme/none", "main", head)
	require.ErrorIs(t, err, githost.ErrNotFound)
	require.False(t, fault.Retryable(err))
}

// What GitHub has in its GraphQL API alone, such as its merge queue, is an app's too.
func TestQueueOfAnApp(t *testing.T) {
	t.Parallel()
	k, c, _ := appKit(t, nil)
	k.Server.SetSettings(repo, func(s *forgetest.Settings) { s.Queue = true })
	head := k.Commit("feature/a")
	pr, err := c.OpenPullRequest(t.Context(), asked)
	require.NoError(t, err)
	_, err = c.Merge(t.Context(), githost.Merge{Repo: repo, Number: pr.Number, HeadSHA: head, Queue: githost.QueueJoin})
	require.ErrorAs(t, err, new(*githost.QueuedError))
	require.Equal(t, []string{"feature/a"}, k.Server.Queued(repo))
}

// A token that GitHub has ended before its time, such as when the app was installed anew, is replaced at once: reading
// and writing go on.
func TestEndedTokenOfAnApp(t *testing.T) {
	t.Parallel()
	k, c, _ := appKit(t, nil)
	head := k.Commit("feature/a")
	end := func() {
		token, err := c.Token(t.Context(), repo)
		require.NoError(t, err)
		require.NoError(t, c.RevokeToken(t.Context(), token))
	}
	end()
	_, err := c.Checks(t.Context(), repo, "main", head)
	require.NoError(t, err)
	end()
	_, err = c.OpenPullRequest(t.Context(), asked)
	require.NoError(t, err)
	require.Len(t, k.Server.Pulls(), 1)
}

// What the app may not do is named; a token does not show that.
func TestRightsOfAnApp(t *testing.T) {
	t.Parallel()
	k, c, _ := appKit(t, map[string]string{"checks": "read", "statuses": "read", "actions": "read", "contents": "read", "pull_requests": "write", "metadata": "read"})
	app, lacks, err := c.Rights(t.Context(), repo)
	require.NoError(t, err)
	require.Equal(t, "signalbox", app)
	require.Equal(t, []string{"contents (write)", "issues (write)"}, lacks)
	app, _, err = k.client.Rights(t.Context(), repo)
	require.NoError(t, err)
	require.Empty(t, app)
}

func TestAppKeys(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"", "secret words", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"} {
		_, err := github.New(github.Options{App: &github.App{ID: "1", Key: key}})
		require.Error(t, err)
		require.NotContains(t, err.Error(), "secret words")
	}
}
