package github_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/github"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/forgetest/forgekit"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
)

// answering makes a client of a server that answers by a function.
func answering(t *testing.T, f http.HandlerFunc) *github.Client {
	t.Helper()
	srv := httptest.NewServer(f)
	t.Cleanup(srv.Close)
	return client(t, github.Options{BaseURL: srv.URL, HTTPClient: forgekit.HTTP(0)})
}

// withoutRules answers for a repository whose branches demand nothing, and whose commits have no
// suites.
func withoutRules(w http.ResponseWriter, r *http.Request) bool {
	switch {
	case strings.HasSuffix(r.URL.Path, "/check-suites"):
		fmt.Fprint(w, `{"total_count":0,"check_suites":[]}`)
	case strings.HasSuffix(r.URL.Path, "/rules/branches/main"):
		fmt.Fprint(w, `[]`)
	case strings.HasSuffix(r.URL.Path, "/branches/main"):
		fmt.Fprintf(w, `{"name":"main","commit":{"sha":"%s"}}`, head40)
	default:
		return false
	}
	return true
}

var (
	head40 = strings.Repeat("a1", 20)
	third  = githost.Merge{Repo: repo, Number: 3, HeadSHA: head40}
	asked  = githost.NewPullRequest{Repo: repo, Head: "feature/a", Base: "main", Title: "T"}
)

// answeringTo makes a client of a server that answers a method with a status and a text, and else with another.
func answeringTo(t *testing.T, method string, status int, text, other string) *github.Client {
	t.Helper()
	return answering(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == method {
			w.WriteHeader(status)
			fmt.Fprint(w, text)
			return
		}
		fmt.Fprint(w, other)
	})
}

// A branch that GitHub refuses to remove, such as a protected one, is not gone.
func TestProtectedBranch(t *testing.T) {
	t.Parallel()
	c := answeringTo(t, http.MethodDelete, http.StatusUnprocessableEntity, `{"message":"Cannot delete this protected branch"}`,
		`{"ref":"refs/heads/main","object":{"sha":"`+head40+`"}}`)
	require.Error(t, c.DeleteBranch(t.Context(), repo, "main"))
}

// A repository that cannot be seen does not count as one without reviews.
func TestReviewsOfAMissingRepository(t *testing.T) {
	t.Parallel()
	c := answeringTo(t, http.MethodGet, http.StatusNotFound, `{"message":"Not Found"}`, "")
	_, err := c.Reviews(t.Context(), repo, "feature/a", "main")
	require.ErrorIs(t, err, githost.ErrNotFound)
}

// A fork's branch of the same name is none of ours.
func TestForks(t *testing.T) {
	t.Parallel()
	c := client(t, github.Options{})
	h, err := c.Decode("pull_request", []byte(`{"action":"closed","number":3,"pull_request":{"number":3,"merged":true,"merge_commit_sha":"`+head40+`",
		"head":{"ref":"feature/a","sha":"`+head40+`","repo":{"full_name":"mallory/shop"}}},"repository":{"full_name":"acme/shop"}}`))
	require.NoError(t, err)
	require.Empty(t, h.Branch)
}

// A trial that is not judged yet is not a conflict.
func TestMergeabilityBeingComputed(t *testing.T) {
	t.Parallel()
	c := answeringTo(t, http.MethodPut, http.StatusMethodNotAllowed, `{"message":"Base branch was modified. Review and try the merge again."}`,
		`{"number":3,"state":"open","merged":false,"mergeable":null,"mergeable_state":"unknown","head":{"ref":"feature/a","sha":"`+head40+`"}}`)
	_, err := c.Merge(t.Context(), third)
	var e *github.Error
	require.ErrorAs(t, err, &e)
	require.True(t, e.Retryable())
	require.NotErrorIs(t, err, githost.ErrNotMergeable)
}

// A merge without a head is never sent: GitHub would merge whatever is there.
func TestMergeUnpinned(t *testing.T) {
	t.Parallel()
	c := answering(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"sha":"%s","merged":true}`, head40)
	})
	_, err := c.Merge(t.Context(), githost.Merge{Repo: repo, Number: 3})
	require.Error(t, err)
}

// When looking after a refusal fails too, nothing is known.
func TestLookFails(t *testing.T) {
	t.Parallel()
	c := answering(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		w.WriteHeader(http.StatusBadGateway)
	})
	_, err := c.Merge(t.Context(), third)
	require.NotErrorIs(t, err, githost.ErrNotMergeable)
}

// A renamed repository's redirect must not turn a POST into a GET.
func TestRedirect(t *testing.T) {
	t.Parallel()
	c := answering(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			http.Redirect(w, r, "/elsewhere", http.StatusMovedPermanently)
			return
		}
		if r.URL.Path == "/elsewhere" {
			fmt.Fprint(w, `{"number":9,"state":"open"}`)
			return
		}
		fmt.Fprint(w, `[]`)
	})
	_, err := c.OpenPullRequest(t.Context(), asked)
	require.Error(t, err)
}

// Nothing of a name reaches the path.
func TestPaths(t *testing.T) {
	t.Parallel()
	var path string
	c := answering(t, func(w http.ResponseWriter, r *http.Request) {
		path = r.URL.Path
		fmt.Fprint(w, `[]`)
	})
	_, err := c.BranchesAt(t.Context(), "acme/..", "x")
	require.Error(t, err, path)
	_, err = c.BranchesAt(t.Context(), repo, "../../../../user")
	require.Error(t, err, path)
	require.Error(t, c.DeleteBranch(t.Context(), repo, "../../../issues/1"), path)
	require.Error(t, c.DeleteBranch(t.Context(), repo, ""), path)
	require.Empty(t, path, "nothing was asked")
}

// A failed job does not hide behind another workflow's job of the same name.
func TestJobsOfOneNameAreAllKept(t *testing.T) {
	t.Parallel()
	c := answering(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/statuses") {
			fmt.Fprint(w, `[]`)
			return
		}
		if withoutRules(w, r) {
			return
		}
		fmt.Fprint(w, `{"total_count":2,"check_runs":[{"id":2,"name":"t","status":"completed","conclusion":"success"},{"id":1,"name":"t","status":"completed","conclusion":"failure"}]}`)
	})
	list, err := c.Checks(t.Context(), repo, "main", head40)
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.Equal(t, githost.CheckFailed, list[1].State)
}

// An open pull request of the branch to another base does not count.
func TestAnotherBase(t *testing.T) {
	t.Parallel()
	c := answeringTo(t, http.MethodPost, http.StatusCreated, `{"number":5,"state":"open","head":{"ref":"feature/a"},"base":{"ref":"main"}}`,
		`[{"number":4,"state":"open","head":{"ref":"feature/a","repo":{"full_name":"acme/shop"}},"base":{"ref":"old"}}]`)
	pr, err := c.OpenPullRequest(t.Context(), asked)
	require.NoError(t, err)
	require.EqualValues(t, 5, pr.Number)
}

// A context that ends is the caller's business, not a failure of GitHub.
func TestContext(t *testing.T) {
	t.Parallel()
	c := answering(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := c.Ping(ctx)
	require.Error(t, err)
	var e *github.Error
	require.False(t, errors.As(err, &e) && e.Retryable(), "%v", err)
}

// What an event always has must be there.
func TestHalfAHook(t *testing.T) {
	t.Parallel()
	c := client(t, github.Options{})
	const of = `"repository":{"full_name":"acme/shop"}`
	for body, event := range map[string]string{
		`{"action":"closed","number":3,"pull_request":{"merged":true,"head":{"sha":"a"}},` + of + `}`:            "pull_request", // no merge commit
		`{"action":"opened","pull_request":{},` + of + `}`:                                                       "pull_request", // no number
		`{"action":"submitted","review":{"state":"approved"},"pull_request":{"number":1},` + of + `}`:            "pull_request_review",
		`{"action":"submitted","review":{"state":"odd","commit_id":"a"},"pull_request":{"number":1},` + of + `}`: "pull_request_review",
		`{"action":"created",` + of + `}`:                                                                        "issue_comment",
		`{"state":"success",` + of + `}`:                                                                         "status",
	} {
		_, err := c.Decode(event, []byte(body))
		require.Error(t, err, body)
	}
	h := decode(t, c, "pull_request_review", []byte(`{"action":"edited","review":{"state":"approved","commit_id":"a"},"pull_request":{"number":1},`+of+`}`))
	require.Equal(t, githost.HookOther, h.Kind)
	h = decode(t, c, "workflow_run", []byte(`{"action":"completed","workflow_run":{"head_sha":"a","head_branch":"x","status":"completed","head_repository":{"full_name":"mallory/shop"}},`+of+`}`))
	require.Empty(t, h.Branch)
}

// All pages are read.
func TestPages(t *testing.T) {
	t.Parallel()
	c := answering(t, func(w http.ResponseWriter, r *http.Request) {
		page := r.URL.Query().Get("page")
		if withoutRules(w, r) {
			return
		}
		if page == "" {
			w.Header().Set("Link", `<http://`+r.Host+r.URL.Path+`?page=2>; rel="next"`)
			page = "1"
		}
		switch {
		case strings.HasSuffix(r.URL.Path, "/statuses"):
			fmt.Fprintf(w, `[{"id":%s,"context":"s%s","state":"success"}]`, page, page)
		case strings.HasSuffix(r.URL.Path, "/check-runs"):
			fmt.Fprintf(w, `{"check_runs":[{"id":%s,"name":"r%s","status":"completed","conclusion":"neutral"}]}`, page, page)
		case strings.HasSuffix(r.URL.Path, "/reviews"): // the older one comes last
			fmt.Fprintf(w, `[{"id":%s,"user":{"login":"kim"},"state":"APPROVED","commit_id":"c%s","submitted_at":"2026-05-0%dT10:00:00Z"},{"state":"PENDING"}]`, page, page, 3-len(page)-int(page[0]-'1'))
		case r.URL.Path == "/user":
			fmt.Fprint(w, `{"login":"signalbox-bot"}`)
		case strings.HasSuffix(r.URL.Path, "/permission"):
			fmt.Fprint(w, `{"permission":"write"}`)
		default:
			fmt.Fprintf(w, `[{"number":4,"state":"open","head":{"ref":"feature/a","sha":"%s","repo":{"full_name":"Acme/shop"}},"base":{"ref":"main"}}]`, head40)
		}
	})
	checks, err := c.Checks(t.Context(), repo, "main", head40)
	require.NoError(t, err)
	var names []string
	for _, k := range checks {
		names = append(names, k.Name)
	}
	require.Equal(t, []string{"s1", "s2", "r1", "r2"}, names)
	reviews, err := c.Reviews(t.Context(), repo, "feature/a", "main")
	require.NoError(t, err)
	require.Len(t, reviews, 2)
	require.Equal(t, []string{"c2", "c1"}, []string{reviews[0].SHA, reviews[1].SHA})
}

// A renamed repository is worked with under its old name: reads and writes are led on by GitHub, and
// webhooks of the new name are the registered repository's. The examination has the new name.
func TestRenamed(t *testing.T) {
	t.Parallel()
	forgekit.Renamed(open(t))
}

// The token goes to no other host with a write either.
func TestRedirectedWriteElsewhere(t *testing.T) {
	t.Parallel()
	called := false
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called = true }))
	t.Cleanup(elsewhere.Close)
	c := answering(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusTemporaryRedirect)
	})
	_, err := c.Merge(t.Context(), third)
	require.Error(t, err)
	require.False(t, called)
}

// An answer without end takes neither memory nor time without end.
func TestEndlessAnswer(t *testing.T) {
	t.Parallel()
	var written atomic.Int64
	c := answering(t, func(w http.ResponseWriter, _ *http.Request) {
		row := []byte(`{"name":"` + strings.Repeat("x", 1<<20) + `"},`)
		_, err := w.Write([]byte("["))
		for err == nil && written.Add(int64(len(row))) < 256<<20 {
			_, err = w.Write(row)
		}
	})
	_, err := c.BranchesAt(t.Context(), repo, head40)
	require.Error(t, err)
	require.Less(t, written.Load(), int64(128<<20))
}

// A limit of GraphQL is an answer with 200, whose words GitHub has changed; it passes, and is nobody's refusal.
func TestLimitsOfGraphQL(t *testing.T) {
	t.Parallel()
	for _, said := range []string{
		`{"type":"RATE_LIMITED","message":"API rate limit exceeded for user ID 1."}`,
		`{"type":"RATE_LIMIT","code":"graphql_rate_limit","message":"API rate limit already exceeded for user ID 1."}`,
		`{"message":"You have exceeded a secondary rate limit. Please wait a few minutes before you try again."}`,
	} {
		c := answering(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, `{"data":null,"errors":[%s]}`, said) })
		queued := third
		queued.Queue = githost.QueueJoin
		_, err := c.Merge(t.Context(), queued)
		require.True(t, fault.Retryable(err), said)
		require.Equal(t, time.Minute, fault.After(err), said)
	}
}
