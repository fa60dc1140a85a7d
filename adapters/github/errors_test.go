package github_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/github"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/forgetest/forgekit"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
)

// Every status has its class, and GitHub's limits are none of its refusals.
func TestStatusesAndTheirClasses(t *testing.T) {
	t.Parallel()
	now := time.Date(2031, 5, 6, 7, 8, 0, 0, time.UTC)
	for _, c := range []struct {
		status int
		header string // name: value
		text   string // message
		again  bool
		after  time.Duration
		is     error
	}{
		{status: 401, is: githost.ErrDenied}, {status: 403, is: githost.ErrDenied}, {status: 404, is: githost.ErrNotFound},
		{status: 410, is: githost.ErrNotFound}, {status: 422}, {status: 301},
		{status: 401, header: "X-GitHub-OTP: required; app", is: githost.ErrDenied},
		{status: 307, again: true}, {status: 425, header: "Retry-After: 4", again: true, after: 4 * time.Second},
		{status: 500, again: true},
		{status: 503, header: "Retry-After: Tue, 06 May 2031 07:08:30 GMT", again: true, after: 30 * time.Second},
		{status: 429, again: true, after: time.Minute}, {status: 429, header: "Retry-After: 7", again: true, after: 7 * time.Second},
		{status: 429, header: fmt.Sprintf("X-RateLimit-Reset: %d", now.Add(90*time.Second).Unix()), again: true, after: 90 * time.Second},
		{status: 403, text: "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.", again: true, after: time.Minute},
		{status: 429, header: "X-RateLimit-Reset: 99999999999", again: true, after: 24 * time.Hour},
		{status: 403, text: "You have triggered an abuse detection mechanism.", header: "Retry-After: 8", again: true, after: 8 * time.Second},
		{status: 403, text: "Maximum number of login attempts exceeded. Please try again later.", again: true, after: time.Minute},
		{status: 401, header: "Retry-After: 9", again: true, after: 9 * time.Second},
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if name, value, ok := strings.Cut(c.header, ": "); ok {
				w.Header().Set(name, value)
			}
			w.WriteHeader(c.status)
			fmt.Fprintf(w, `{"message":%q}`, c.text)
		}))
		client := client(t, github.Options{BaseURL: srv.URL, Now: func() time.Time { return now }, HTTPClient: forgekit.HTTP(0)})
		_, read := client.PullRequest(t.Context(), repo, "feature/a", "main")
		deleted := client.DeleteBranch(t.Context(), repo, "feature/a")
		srv.Close()
		if c.status == http.StatusNotFound {
			require.NoError(t, deleted)
			deleted = read
		}
		for what, err := range map[string]error{"read": read, "write": deleted} {
			forgekit.IsClassed(t, err, c.again, c.after, c.is, fmt.Sprintf("%s %+v", what, c))
		}
	}
}

// A page of something in front of GitHub is no success: that a commit has no checks,
// or a branch no pull request, is for GitHub to say.
func TestASuccessThatIsNotGitHubs(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "<html>sign in</html>", "null"} {
		c := answering(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/pulls") && r.URL.Query().Get("state") == "open" {
				fmt.Fprint(w, "[]")
				return
			}
			fmt.Fprint(w, text)
		})
		calls := map[string]error{}
		_, calls["checks"] = c.Checks(t.Context(), repo, "main", head40)
		_, calls["reviews"] = c.Reviews(t.Context(), repo, "feature/a", "main")
		_, calls["pull request"] = c.PullRequest(t.Context(), repo, "feature/a", "main")
		_, calls["open"] = c.OpenPullRequest(t.Context(), asked)
		_, calls["merge"] = c.Merge(t.Context(), third)
		_, calls["branches"] = c.BranchesAt(t.Context(), repo, head40)
		for what, err := range calls {
			require.Error(t, err, "%s: %q", what, text)
			require.True(t, fault.Retryable(err), "%s: %q: %v", what, text, err)
		}
	}
}
