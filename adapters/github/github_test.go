package github_test

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/signalbox-dev/signalbox/adapters/github"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/githost/hosttest"
	"github.com/signalbox-dev/signalbox/internal/fakehttp"
	"github.com/signalbox-dev/signalbox/internal/forgetest"
	"github.com/signalbox-dev/signalbox/internal/forgetest/forgekit"
	"github.com/signalbox-dev/signalbox/orchestrator/signature"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	token  = forgekit.Token
	secret = forgekit.Secret
	repo   = forgekit.Repo
)

type kit struct {
	*forgekit.Kit
	client *github.Client
}

func setup(t testing.TB, o ...forgetest.Options) *kit {
	t.Helper()
	k := &kit{Kit: forgekit.New(t, "github", append(o, forgetest.Options{})[0])}
	k.client = client(t, github.Options{BaseURL: k.URL, Secrets: signature.Of(secret), Now: k.Now, HTTPClient: forgekit.HTTP(5 * time.Second)})
	k.Client = k.client
	return k
}

// open makes a kit without options.
func open(t *testing.T) *forgekit.Kit {
	t.Helper()
	return setup(t).Kit
}

// client makes a client with the token of a kit, unless there is another.
func client(t testing.TB, o github.Options) *github.Client {
	t.Helper()
	o.Token = cmp.Or(o.Token, token)
	c, err := github.New(o)
	require.NoError(t, err)
	return c
}

func TestConformance(t *testing.T) {
	hosttest.Run(t, func(t *testing.T) hosttest.Fixture {
		k := setup(t)
		f := k.Fixture(map[string]string{
			"OpenPullRequest": "POST /repos/{owner}/{repo}/pulls", "Merge": "PUT /repos/{owner}/{repo}/pulls/{number}/merge",
			"DeleteBranch": "DELETE /repos/{owner}/{repo}/git/refs/heads/{branch...}",
		})
		f.SetChecks = func(sha string, checks ...githost.Check) {
			for _, c := range checks {
				switch {
				case c.Kind == "status":
					k.Server.SetStatus(repo, sha, c.Name, map[githost.CheckState]string{githost.CheckPassed: "success", githost.CheckFailed: "error"}[c.State])
				case c.State == githost.CheckPending:
					k.Server.SetCheckRun(repo, sha, c.Name, "in_progress", "")
				default:
					k.Server.SetCheckRun(repo, sha, c.Name, "completed", map[githost.CheckState]string{githost.CheckPassed: "skipped", githost.CheckCancelled: "stale", githost.CheckFailed: "failure"}[c.State])
				}
			}
		}
		f.Require = func(base string, names ...string) {
			k.Server.SetSettings(repo, func(s *forgetest.Settings) { s.Required[base], s.Rules[base] = names[:1], names[1:] })
		}
		f.ShowFailure = func(sha, name, text string) { require.NoError(t, k.Server.ShowFailure(repo, sha, name, text)) }
		return f
	})
}

func TestFaults(t *testing.T) {
	t.Parallel()
	forgekit.Faults(t, open, fakehttp.TooMany, fakehttp.Secondary, fakehttp.Primary)
}

func TestDenied(t *testing.T) {
	t.Parallel()
	k := setup(t)
	forgekit.Denied(k.Kit, client(t, github.Options{BaseURL: k.URL, Token: "wrong", HTTPClient: forgekit.HTTP(0)}))
}

func TestNothingToMerge(t *testing.T) {
	t.Parallel()
	k := setup(t)
	k.Git("push", "--quiet", "origin", "HEAD:refs/heads/feature/empty")
	_, err := k.client.OpenPullRequest(t.Context(), githost.NewPullRequest{Repo: repo, Head: "feature/empty", Base: "main", Title: "T"})
	require.ErrorContains(t, err, "No commits between")
	var e *github.Error
	require.ErrorAs(t, err, &e)
	require.False(t, e.Retryable())
}

func TestDecode(t *testing.T) {
	t.Parallel()
	c := client(t, github.Options{})
	const branch = "feature/SHP-7-cart"
	sha, old := strings.Repeat("a1", 20), strings.Repeat("b2", 20)
	ci := func(action, state string, finished bool) githost.Hook {
		return githost.Hook{Kind: githost.HookCI, Action: action, Repo: repo, SHA: sha, Branch: branch, State: state, Finished: finished, Sender: "kim"}
	}
	pull := func(kind, action, state string) githost.Hook {
		return githost.Hook{Kind: kind, Action: action, Repo: repo, Branch: branch, SHA: sha, Number: 12, State: state, Sender: "kim"}
	}
	merged := pull(githost.HookMerged, "closed", "closed")
	merged.MergeSHA = strings.Repeat("c3", 20)
	changes := pull(githost.HookReview, "submitted", "changes_requested")
	changes.Body = "Race in the cart."
	status := ci("ci/unit", "passed", true)
	status.Branch, status.Branches = "", []string{branch}
	waiting := ci("ci/unit", "pending", false)
	waiting.Branch = ""
	want := map[string]githost.Hook{
		"ping": {Kind: githost.HookOther}, "delete": {Kind: githost.HookOther},
		"push":                     {Kind: githost.HookPush, Repo: repo, SHA: sha, Branch: branch, Sender: "kim"},
		"push_deleted":             {Kind: githost.HookPush, Repo: repo, SHA: strings.Repeat("0", 40), Branch: branch, Sender: "kim"},
		"pull_request_opened":      pull(githost.HookPullRequest, "opened", "open"),
		"pull_request_synchronize": pull(githost.HookPush, "synchronize", "open"),
		"pull_request_merged":      merged, "pull_request_closed": pull(githost.HookPullRequest, "closed", "closed"),
		"review_approved": pull(githost.HookReview, "submitted", "approved"), "review_changes_requested": changes,
		"review_dismissed": pull(githost.HookReview, "dismissed", "dismissed"), "thread_resolved": pull(githost.HookThread, "resolved", ""),
		"issue_comment": {Kind: githost.HookComment, Action: "created", Repo: repo, Number: 12, Body: "please look", Sender: "kim"},
		"status":        status, "status_pending": waiting,
		"check_run": ci("completed", "failed", true), "check_run_created": ci("created", "pending", false),
		"check_suite": ci("completed", "passed", true), "workflow_run": ci("completed", "cancelled", true),
	}
	files, err := filepath.Glob("testdata/hooks/*.json")
	require.NoError(t, err)
	require.Len(t, files, len(want))
	for _, file := range files {
		name, event, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".json"), ".")
		body, err := os.ReadFile(file)
		require.NoError(t, err)
		expected := want[name]
		expected.Event = event
		got, err := c.Decode(event, body)
		require.NoError(t, err, name)
		require.Equal(t, expected, got, name)
		_, err = c.Decode(event, body[:len(body)/2])
		require.Error(t, err, name)
	}
	require.NotEqual(t, sha, old)
	for event, bad := range map[string]string{
		"status": `{"state":"success"}`, "check_run": `{"check_run":{"head_sha":"x"}}`, "pull_request": `{"action":"closed","pull_request":{"merged":true}}`, "push": `[]`,
	} {
		_, err := c.Decode(event, []byte(bad))
		require.Error(t, err, event)
	}
	require.Equal(t, githost.HookOther, decode(t, c, "unheard_of", []byte(`{}`)).Kind)
	_, err = c.Decode("unheard_of", []byte(`{`))
	require.Error(t, err)
}

// A push, CI and a merge send signed webhooks that the client decodes.
func TestJourneyOfWebhooks(t *testing.T) {
	t.Parallel()
	k := setup(t, forgetest.Options{CI: forgekit.CI})
	forgekit.Journey(k.Kit, func(got <-chan forgekit.Delivered, approved forgekit.Delivered) {
		require.Equal(t, "pull_request_review", approved.Hook.Event)
		require.NoError(t, k.Server.Comment(repo, "feature/a", forgetest.LineComment{Author: "kim", Path: "a", Line: 1, Body: "Why?"}))
		k.Server.ResolveThread(repo, "feature/a", 1)
		resolved := k.Next(got, forgekit.Kind(githost.HookThread, "")).Hook
		require.Equal(t, []any{"resolved", approved.Hook.SHA}, []any{resolved.Action, resolved.SHA})
	})
}

func TestNewRefuses(t *testing.T) {
	_, err := github.New(github.Options{})
	require.ErrorContains(t, err, "Token is missing")
	_, err = github.New(github.Options{Token: "t", BaseURL: "example.org"})
	require.ErrorContains(t, err, "BaseURL")
}

func FuzzDecode(f *testing.F) {
	c := client(f, github.Options{})
	files, err := filepath.Glob("testdata/hooks/*.json")
	require.NoError(f, err)
	for _, file := range files {
		_, event, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".json"), ".")
		body, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(event, body)
	}
	f.Fuzz(func(t *testing.T, event string, body []byte) {
		h, err := c.Decode(event, body)
		if err == nil && h.Kind != githost.HookOther && h.Repo == "" {
			t.Fatalf("half a hook: %+v", h)
		}
	})
}

func decode(t testing.TB, c *github.Client, event string, body []byte) githost.Hook {
	t.Helper()
	h, err := c.Decode(event, body)
	require.NoError(t, err)
	return h
}
