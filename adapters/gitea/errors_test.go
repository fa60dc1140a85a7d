package gitea_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/gitea"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/fakehttp"
	"github.com/signalbox-dev/signalbox/internal/forgetest/forgekit"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
)

// Every status has its class, for reads and for writes.
func TestStatusesAndTheirClasses(t *testing.T) {
	t.Parallel()
	now := time.Date(2031, 5, 6, 7, 8, 0, 0, time.UTC)
	for _, c := range []struct {
		status int
		header string // name: value
		again  bool
		after  time.Duration
		is     error
	}{
		{status: 401, is: githost.ErrDenied}, {status: 403, is: githost.ErrDenied}, {status: 404, is: githost.ErrNotFound},
		{status: 410, is: githost.ErrNotFound}, {status: 422}, {status: 423, is: githost.ErrDenied}, {status: 301}, {status: 302, again: true},
		{status: 500, again: true}, {status: 503, header: "Retry-After: Tue, 06 May 2031 07:08:30 GMT", again: true, after: 30 * time.Second},
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if name, value, ok := strings.Cut(c.header, ": "); ok {
				w.Header().Set(name, value)
			}
			w.WriteHeader(c.status)
			fmt.Fprint(w, `{"message":"in its own words","url":"x"}`)
		}))
		client := client(t, gitea.Options{BaseURL: srv.URL, Now: func() time.Time { return now }, HTTPClient: forgekit.HTTP(0)})
		_, read := client.PullRequest(t.Context(), repo, "feature/a", "main")
		_, written := client.OpenPullRequest(t.Context(), asked)
		deleted := client.DeleteBranch(t.Context(), repo, "feature/a")
		srv.Close()
		if c.status == http.StatusNotFound || c.status == http.StatusGone {
			require.NoError(t, deleted)
			deleted = read
		}
		for what, err := range map[string]error{"read": read, "write": written, "delete": deleted} {
			require.ErrorContains(t, err, "in its own words", "%s %+v", what, c)
			require.NotContains(t, err.Error(), srv.URL)
			require.NotContains(t, err.Error(), token)
			forgekit.IsClassed(t, err, c.again, c.after, c.is, fmt.Sprintf("%s %+v", what, c))
		}
	}
}

// A server that is sick as a whole is one that may be well later, but for a refusal.
func TestSickServer(t *testing.T) {
	t.Parallel()
	k := setup(t)
	sick := fakehttp.New(k.Server, nil)
	srv := httptest.NewServer(sick)
	t.Cleanup(srv.Close)
	c := client(t, gitea.Options{BaseURL: srv.URL, HTTPClient: forgekit.HTTP(200 * time.Millisecond)})
	for _, kind := range fakehttp.Kinds() {
		sick.Sicken(kind)
		for what, err := range calls(t, c) {
			require.Error(t, err, "%s: %s", kind, what)
			require.Equal(t, kind != fakehttp.Refuse, fault.Retryable(err), "%s: %s: %v", kind, what, err)
		}
	}
	sick.Heal()
	require.NoError(t, c.Ping(t.Context()))
}

// calls makes every call that reads an answer, all at a time.
func calls(t *testing.T, c *gitea.Client) map[string]error {
	ctx := t.Context()
	var (
		all sync.WaitGroup
		mu  sync.Mutex
		out = map[string]error{}
	)
	for what, call := range map[string]func() error{
		"checks":       func() error { _, err := c.Checks(ctx, repo, "main", head40); return err },
		"reviews":      func() error { _, err := c.Reviews(ctx, repo, "feature/a", "main"); return err },
		"pull request": func() error { _, err := c.PullRequest(ctx, repo, "feature/a", "main"); return err },
		"open":         func() error { _, err := c.OpenPullRequest(ctx, asked); return err },
		"merge":        func() error { _, err := c.Merge(ctx, third); return err },
		"branches":     func() error { _, err := c.BranchesAt(ctx, repo, head40); return err },
		"repository":   func() error { _, err := c.Repository(ctx, repo); return err },
		"protection":   func() error { _, err := c.Protection(ctx, repo, "main"); return err },
		"webhooks":     func() error { _, err := c.Webhooks(ctx, repo); return err },
		"account":      func() error { return c.Ping(ctx) },
	} {
		all.Go(func() {
			err := call()
			mu.Lock()
			defer mu.Unlock()
			out[what] = err
		})
	}
	all.Wait()
	return out
}

// A page of something in front of Gitea is no success: that a commit has no statuses, or a
// branch no pull request, only Gitea's own answer means.
func TestASuccessThatIsNotGiteas(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "<html>sign in</html>", "null", "{}"} {
		c := answering(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) })
		for what, err := range calls(t, c) {
			require.Error(t, err, "%s: %q", what, text)
			require.True(t, fault.Retryable(err), "%s: %q: %v", what, text, err)
		}
	}
}

// A list that is empty may be null, and is counted.
func TestEmptyLists(t *testing.T) {
	t.Parallel()
	c := answering(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Total-Count", "0")
		if strings.HasSuffix(r.URL.Path, "/branches/main") {
			fmt.Fprintf(w, `{"name":"main","commit":{"id":"%s"}}`, head40)
			return
		}
		fmt.Fprint(w, "null")
	})
	checks, err := c.Checks(t.Context(), repo, "main", head40)
	require.NoError(t, err)
	require.Empty(t, checks)
	at, err := c.BranchesAt(t.Context(), repo, head40)
	require.NoError(t, err)
	require.Empty(t, at)
	_, err = c.PullRequest(t.Context(), repo, "feature/a", "main")
	require.ErrorIs(t, err, githost.ErrNotFound)
	require.False(t, fault.Retryable(err))
}
