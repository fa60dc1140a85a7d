package github_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/github"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/forgetest"
)

// A merge whose answer never comes is found, not made again.
func TestTimeOut(t *testing.T) {
	t.Parallel()
	k := setup(t, forgetest.Options{})
	srv := httptest.NewServer(k.server)
	defer srv.Close()
	c, err := github.New(github.Options{BaseURL: srv.URL, Token: token, HTTPClient: &http.Client{
		Timeout: 100 * time.Millisecond, Transport: &http.Transport{DisableKeepAlives: true},
	}})
	require.NoError(t, err)
	head := k.commit("feature/a")
	pr, err := k.client.OpenPullRequest(t.Context(), githost.NewPullRequest{Repo: repo, Head: "feature/a", Base: "main", Title: "T"})
	require.NoError(t, err)
	for range 6 { // the merge and the look at it, three times each
		k.server.Fail(forgetest.Hang)
	}
	_, err = c.Merge(t.Context(), githost.Merge{Repo: repo, Number: pr.Number, HeadSHA: head, Title: "T"})
	var e *github.Error
	require.ErrorAs(t, err, &e)
	require.True(t, e.Retryable())
	require.Zero(t, e.Status)
	sha, err := k.client.Merge(t.Context(), githost.Merge{Repo: repo, Number: pr.Number, HeadSHA: head, Title: "T"})
	require.NoError(t, err)
	require.Equal(t, k.server.Heads(repo)["main"], sha)
	require.Equal(t, 1, k.server.Merges())
}

// passes checks a body as a receiver does.
func passes(c *github.Client, h http.Header, body []byte) bool {
	check, err := c.Signature(h)
	if err != nil {
		return false
	}
	_, _ = check.Write(body)
	return check.Passed()
}

// sentTo gives the ids of the webhooks that a receiver gets.
func sentTo(t *testing.T, k *kit) <-chan string {
	t.Helper()
	got := make(chan string, 100)
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || !passes(k.client, r.Header, body) {
			t.Errorf("a webhook that does not verify: %v", err)
		}
		id, _ := k.client.Delivery(r.Header)
		got <- id
	}))
	t.Cleanup(srv.Close)
	k.server.SetHookURL(srv.URL)
	return got
}

func next(t *testing.T, got <-chan string) string {
	t.Helper()
	select {
	case id := <-got:
		return id
	case <-time.After(10 * time.Second):
		t.Fatal("no webhook")
		return ""
	}
}

// Webhooks are lost, doubled and overtake each other, and keep their ids.
func TestFaultsOfWebhooks(t *testing.T) {
	t.Parallel()
	sha := head40
	t.Run("lost", func(t *testing.T) {
		t.Parallel()
		k := setup(t, forgetest.Options{})
		got := sentTo(t, k)
		k.server.SetFaults(forgetest.Faults{HookLost: 1})
		k.server.SetStatus(repo, sha, "lost", "success")
		k.server.SetFaults(forgetest.Faults{})
		k.server.SetStatus(repo, sha, "sent", "success")
		next(t, got)
		require.Eventually(t, func() bool { return len(k.server.Deliveries()) == 1 }, 10*time.Second, time.Millisecond)
		require.Contains(t, string(k.server.Deliveries()[0].Body), `"sent"`)
	})
	t.Run("doubled", func(t *testing.T) {
		t.Parallel()
		k := setup(t, forgetest.Options{})
		got := sentTo(t, k)
		k.server.SetFaults(forgetest.Faults{HookDoubled: 1})
		k.server.SetStatus(repo, sha, "x", "success")
		require.Equal(t, next(t, got), next(t, got))
	})
	t.Run("reordered", func(t *testing.T) {
		t.Parallel()
		k := setup(t, forgetest.Options{})
		got := sentTo(t, k)
		k.server.SetFaults(forgetest.Faults{HookReordered: 1})
		k.server.SetStatus(repo, sha, "first", "success")
		k.server.SetStatus(repo, sha, "second", "success")
		first, second := next(t, got), next(t, got)
		require.Greater(t, first, second, "ids grow")
	})
	t.Run("sent again", func(t *testing.T) {
		t.Parallel()
		k := setup(t, forgetest.Options{})
		got := sentTo(t, k)
		k.server.SetStatus(repo, sha, "x", "success")
		id := next(t, got)
		require.NoError(t, k.server.Redeliver(id))
		require.Equal(t, id, next(t, got))
		require.Error(t, k.server.Redeliver("none"))
	})
}

// A pull request ends with its branch.
func TestBranchGone(t *testing.T) {
	t.Parallel()
	k := setup(t, forgetest.Options{})
	k.commit("feature/a")
	_, err := k.client.OpenPullRequest(t.Context(), githost.NewPullRequest{Repo: repo, Head: "feature/a", Base: "main", Title: "T"})
	require.NoError(t, err)
	require.NoError(t, k.client.DeleteBranch(t.Context(), repo, "feature/a"))
	require.Eventually(t, func() bool { return !k.server.Pulls()[0].Open }, 10*time.Second, time.Millisecond)
	require.False(t, k.server.Pulls()[0].Merged)
}

// CI may call the server that calls it.
func TestCIAsksTheServer(t *testing.T) {
	t.Parallel()
	var k *kit
	ready := make(chan struct{})
	k = setup(t, forgetest.Options{CI: func(forgetest.Push) forgetest.Outcome {
		<-ready
		k.server.Pulls()
		return forgetest.Outcome{Conclusion: "success"}
	}})
	head := k.commit("feature/a")
	_, err := k.client.OpenPullRequest(t.Context(), githost.NewPullRequest{Repo: repo, Head: "feature/a", Base: "main", Title: "T"})
	require.NoError(t, err)
	close(ready)
	require.Eventually(t, func() bool {
		list, err := k.client.Checks(t.Context(), repo, "main", head)
		return err == nil && len(list) == 1 && list[0].State == githost.CheckPassed
	}, 10*time.Second, time.Millisecond)
}
