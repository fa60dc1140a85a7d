package gitea_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/forgetest/forgekit"
	"github.com/signalbox-dev/signalbox/internal/gittest"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
)

// A fork's branch of the same name is none of ours, and many pull requests hide none.
func TestForksAndPages(t *testing.T) {
	t.Parallel()
	k := setup(t)
	head := k.Commit("feature/a")
	ours := k.Pull("feature/a")
	for range 120 {
		require.NoError(t, k.Server.Fork(repo, "feature/a", "mallory", head40))
	}
	found, err := k.client.PullRequest(t.Context(), repo, "feature/a", "main")
	require.NoError(t, err)
	require.Equal(t, ours, found)
	require.Equal(t, ours, k.Pull("feature/a"), "it is open already")
	for i := range 130 {
		k.Server.SetStatus(repo, head, fmt.Sprintf("job %d", i), "success")
		gittest.Run(t, k.Bare, "update-ref", fmt.Sprintf("refs/heads/copy/%d", i), head)
	}
	checks, err := k.client.Checks(t.Context(), repo, "main", head)
	require.NoError(t, err)
	require.Len(t, checks, 130)
	at, err := k.client.BranchesAt(t.Context(), repo, head)
	require.NoError(t, err)
	require.Len(t, at, 131)
}

// The newest pull request of a branch counts; an open one into another base is another.
func TestNewestPull(t *testing.T) {
	t.Parallel()
	rows := []string{`{"number":9,"state":"open","head":{"label":"x","repo_id":1},"base":{"label":"old","repo_id":1}}`,
		`{"number":8,"state":"closed","merged":true,"merge_commit_sha":"m","head":{"label":"x","repo_id":1},"base":{"label":"main","repo_id":1}}`,
		`{"number":7,"state":"open","head":{"label":"x","repo_id":1},"base":{"label":"main","repo_id":1}}`}
	c := answering(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusConflict)
			fmt.Fprint(w, `{"message":"pull request already exists for these targets"}`)
			return
		}
		if strings.Contains(r.URL.Path, "/branches/") {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		for i, row := range rows {
			if strings.HasSuffix(r.URL.Path, fmt.Sprintf("/pulls/%d", 9-i)) {
				fmt.Fprint(w, strings.Replace(row, `"head":{`, `"head":{"sha":"new",`, 1))
				return
			}
		}
		fmt.Fprintf(w, "[%s]", strings.Join(rows, ",")) // whatever is filtered by, and on every page
	})
	pr, err := c.PullRequest(t.Context(), repo, "x", "old")
	require.NoError(t, err)
	require.EqualValues(t, 9, pr.Number)
	require.Equal(t, "new", pr.HeadSHA, "a list's head comes a moment after a push")
	pr, err = c.OpenPullRequest(t.Context(), githost.NewPullRequest{Repo: repo, Head: "x", Base: "main", Title: "T"})
	require.NoError(t, err)
	require.EqualValues(t, 7, pr.Number)
	_, err = c.OpenPullRequest(t.Context(), githost.NewPullRequest{Repo: repo, Head: "y", Base: "main", Title: "T"})
	require.ErrorContains(t, err, "already exists", "it is nowhere to be found")
}

// Pages without end are an error for what must be complete.
func TestPagesWithoutEnd(t *testing.T) {
	t.Parallel()
	n := 0
	c := answering(t, func(w http.ResponseWriter, r *http.Request) {
		n++
		switch {
		case strings.HasSuffix(r.URL.Path, "/statuses"):
			fmt.Fprintf(w, `[{"id":%d,"context":"s%d","status":"success"}]`, n, n)
		case strings.HasSuffix(r.URL.Path, "/pulls"):
			rows := make([]string, 50)
			for i := range rows {
				rows[i] = fmt.Sprintf(`{"number":%d,"head":{"label":"y"}}`, n*100+i)
			}
			fmt.Fprintf(w, "[%s]", strings.Join(rows, ","))
		default:
			fmt.Fprintf(w, `[{"name":"b%d","commit":{"id":"%s"}}]`, n, head40)
		}
	})
	_, err := c.Checks(t.Context(), repo, "main", head40)
	require.ErrorContains(t, err, "more than 100 pages")
	require.True(t, fault.Retryable(err))
	_, err = c.BranchesAt(t.Context(), repo, head40)
	require.ErrorContains(t, err, "more than 100 pages")
	n = 0
	_, err = c.PullRequest(t.Context(), repo, "x", "main")
	require.ErrorIs(t, err, githost.ErrNotFound, "of pull requests the newest thousand count")
	require.Equal(t, 20, n)
}

// A renamed repository is worked with under its old name: what writes there is sent again to where Gitea leads, on the same
// server alone, and its webhooks are those of the registered one.
func TestRenamed(t *testing.T) {
	t.Parallel()
	forgekit.Renamed(open(t))

	elsewhere := answering(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://evil.example.org/api/v1/repos/store/shop2/hooks", http.StatusMovedPermanently)
	})
	err := elsewhere.AddWebhook(t.Context(), repo, "https://x", "s")
	require.ErrorContains(t, err, "the repository is called store/shop2 now")
	require.False(t, fault.Retryable(err))
}

// The token goes to no other host, whatever an answer leads to.
func TestRedirectElsewhere(t *testing.T) {
	t.Parallel()
	asked := false
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked = true
		fmt.Fprint(w, `{"login":"mallory"}`)
	}))
	t.Cleanup(elsewhere.Close)
	c := answering(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL+"/user", http.StatusMovedPermanently)
	})
	require.ErrorContains(t, c.Ping(t.Context()), "correct BaseURL")
	require.False(t, asked)
}

// A pull request is read with its readiness: what people do to it, and the approvals that its base demands and it has.
func TestReadiness(t *testing.T) {
	t.Parallel()
	forgekit.Readiness(open(t))
}
