package github_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/signalbox-dev/signalbox/adapters/github"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/githost/hosttest"
	"github.com/signalbox-dev/signalbox/internal/apidoc"
	"github.com/signalbox-dev/signalbox/internal/forgetest"
	"github.com/signalbox-dev/signalbox/orchestrator/fault/faulttest"
	"github.com/signalbox-dev/signalbox/orchestrator/signature"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	token  = "ghp_secret-token"
	secret = "s3cret"
	repo   = "acme/shop"
)

func run(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=kim", "GIT_AUTHOR_EMAIL=kim@example.org", "GIT_COMMITTER_NAME=kim", "GIT_COMMITTER_EMAIL=kim@example.org")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "git %v: %s", args, out)
	return strings.TrimSpace(string(out))
}

type kit struct {
	testing.TB
	client *github.Client
	server *forgetest.Server
	bare   string
	clone  string
	n      int
	clock  atomic.Int64 // how far the client's clock is ahead
}

// described holds what the client sends and the double answers against the host's own description.
func described(t testing.TB, double http.Handler) http.Handler {
	t.Helper()
	d, err := apidoc.OfHost("github")
	require.NoError(t, err)
	return d.Watch(double, func(wrong string) { t.Error(wrong) }, "", "/graphql", "/_files/")
}

func setup(t testing.TB, o forgetest.Options) *kit {
	t.Helper()
	k := &kit{TB: t, bare: filepath.Join(t.TempDir(), "shop.git"), clone: filepath.Join(t.TempDir(), "clone")}
	run(t, t.TempDir(), "init", "--quiet", "--bare", "--initial-branch=main", k.bare)
	run(t, t.TempDir(), "clone", "--quiet", k.bare, k.clone)
	run(t, k.clone, "checkout", "--quiet", "-B", "main")
	k.write("shared.txt", "one\n")
	o.Token, o.Secret = token, secret
	k.server = forgetest.NewGitHub(o)
	require.NoError(t, k.server.AddRepo(repo, k.bare))
	srv := httptest.NewServer(described(t, k.server))
	t.Cleanup(func() { k.server.Close(); srv.Close() })
	var err error
	k.client, err = github.New(github.Options{
		BaseURL: srv.URL, Token: token, Secrets: signature.Of(secret),
		Now:        func() time.Time { return time.Now().Add(time.Duration(k.clock.Load())) },
		HTTPClient: &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}},
	})
	require.NoError(t, err)
	return k
}

// write commits a file on the branch that is checked out and pushes it.
func (k *kit) write(name, body string) string {
	k.Helper()
	require.NoError(k, os.WriteFile(filepath.Join(k.clone, name), []byte(body), 0o600))
	run(k, k.clone, "add", "--all")
	run(k, k.clone, "commit", "--quiet", "-m", "change "+name)
	run(k, k.clone, "push", "--quiet", "origin", "HEAD")
	return run(k, k.clone, "rev-parse", "HEAD")
}

func (k *kit) commit(branch string) string {
	k.Helper()
	if k.server.Heads(repo)[branch] == "" {
		run(k, k.clone, "checkout", "--quiet", "-B", branch, "main")
	} else {
		run(k, k.clone, "checkout", "--quiet", branch)
	}
	k.n++
	return k.write(fmt.Sprintf("file%d.txt", k.n), branch)
}

func (k *kit) conflict(branch string) string {
	k.Helper()
	run(k, k.clone, "checkout", "--quiet", "-B", branch, "main")
	head := k.write("shared.txt", "theirs\n")
	run(k, k.clone, "checkout", "--quiet", "main")
	k.write("shared.txt", "ours\n")
	return head
}

func TestConformance(t *testing.T) {
	hosttest.Run(t, func(t *testing.T) hosttest.Fixture {
		k := setup(t, forgetest.Options{})
		return hosttest.Fixture{
			Host: k.client, Repo: repo, Commit: k.commit, Conflict: k.conflict,
			SetChecks: func(sha string, checks ...githost.Check) {
				for _, c := range checks {
					switch {
					case c.Kind == "status":
						k.server.SetStatus(repo, sha, c.Name, map[githost.CheckState]string{githost.CheckPassed: "success", githost.CheckFailed: "error"}[c.State])
					case c.State == githost.CheckPending:
						k.server.SetCheckRun(repo, sha, c.Name, "in_progress", "")
					default:
						k.server.SetCheckRun(repo, sha, c.Name, "completed", map[githost.CheckState]string{githost.CheckPassed: "skipped", githost.CheckCancelled: "stale", githost.CheckFailed: "failure"}[c.State])
					}
				}
			},
			AddReview: func(branch string, r githost.Review) {
				if !r.Bot {
					k.server.SetRole(r.Author, string(r.Permission))
				}
				require.NoError(t, k.server.Review(repo, branch, r.Author, strings.ToUpper(string(r.State)), r.SHA, "b"))
			},
			Require: func(base string, names ...string) {
				k.server.SetSettings(repo, func(s *forgetest.Settings) { s.Required[base], s.Rules[base] = names[:1], names[1:] })
			},
			ShowFailure: func(sha, name, text string) { require.NoError(t, k.server.ShowFailure(repo, sha, name, text)) },
			AddLineComment: func(branch string, c githost.LineComment) {
				k.server.SetRole(c.Author, string(c.Permission))
				require.NoError(t, k.server.Comment(repo, branch, forgetest.LineComment{Author: c.Author, Path: c.Path, Line: c.Line, Old: c.Old, Body: c.Body, SHA: c.SHA}))
			},
			Comments: func(number int64) []string { return k.server.Comments(repo, int(number)) },
			Answers: func(branch, thread string) (out []string) {
				for _, l := range k.server.LineComments(repo, branch) {
					if l.Answers != 0 && strconv.Itoa(l.Answers) == thread {
						out = append(out, l.Body)
					}
				}
				return out
			},
			Self: forgetest.Self,
			Fail: func(call string, how faulttest.Kind) {
				calls := map[string]string{
					"OpenPullRequest": "POST /repos/{owner}/{repo}/pulls", "Merge": "PUT /repos/{owner}/{repo}/pulls/{number}/merge",
					"DeleteBranch": "DELETE /repos/{owner}/{repo}/git/refs/heads/{branch...}",
				}
				k.server.Break(calls[call], map[faulttest.Kind]forgetest.Fault{
					faulttest.Final: forgetest.Denied, faulttest.Passing: forgetest.ErrorBefore, faulttest.Later: forgetest.TooMany,
				}[how])
			},
		}
	})
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for fault, waits := range map[forgetest.Fault]bool{
		forgetest.TooMany: true, forgetest.Secondary: true, forgetest.Primary: true,
		forgetest.ErrorBefore: false, forgetest.ErrorAfter: false, forgetest.Dropped: false, forgetest.DroppedLate: false,
	} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			k := setup(t, forgetest.Options{})
			head := k.commit("feature/a")
			pr, err := k.client.OpenPullRequest(t.Context(), githost.NewPullRequest{Repo: repo, Head: "feature/a", Base: "main", Title: "T"})
			require.NoError(t, err)
			k.server.Fail(fault, fault, fault) // more than is tried at once
			_, err = k.client.Checks(t.Context(), repo, "main", head)
			var e *github.Error
			require.ErrorAs(t, err, &e)
			require.True(t, e.Retryable())
			require.NotContains(t, err.Error(), "secret")
			if waits {
				require.Positive(t, e.RetryAfter())
				require.LessOrEqual(t, e.RetryAfter(), 3*time.Second)
				return
			}
			// A merge whose answer was lost is found, not made again.
			k.server.Fail(fault)
			sha, err := k.client.Merge(t.Context(), githost.Merge{Repo: repo, Number: pr.Number, HeadSHA: head, Title: "T"})
			if err != nil {
				require.ErrorAs(t, err, &e)
				require.True(t, e.Retryable())
				sha, err = k.client.Merge(t.Context(), githost.Merge{Repo: repo, Number: pr.Number, HeadSHA: head, Title: "T"})
				require.NoError(t, err)
			}
			require.Equal(t, k.server.Heads(repo)["main"], sha)
			require.Equal(t, 1, k.server.Merges())
		})
	}
}

func TestDenied(t *testing.T) {
	t.Parallel()
	k := setup(t, forgetest.Options{})
	srv := httptest.NewServer(k.server)
	defer srv.Close()
	c, err := github.New(github.Options{BaseURL: srv.URL, Token: "wrong", HTTPClient: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}})
	require.NoError(t, err)
	require.ErrorIs(t, c.Ping(t.Context()), githost.ErrDenied)
	require.NoError(t, k.client.Ping(t.Context()))
	_, err = k.client.Checks(t.Context(), "acme/none", "main", strings.Repeat("a", 40))
	require.ErrorIs(t, err, githost.ErrNotFound)
	for _, bad := range []string{"", "acme", "a/b/c", "/x"} {
		_, err = k.client.BranchesAt(t.Context(), bad, "x")
		require.ErrorIs(t, err, githost.ErrNotFound)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, k.client.Ping(ctx))
}

func TestNothingToMerge(t *testing.T) {
	t.Parallel()
	k := setup(t, forgetest.Options{})
	run(t, k.clone, "push", "--quiet", "origin", "HEAD:refs/heads/feature/empty")
	_, err := k.client.OpenPullRequest(t.Context(), githost.NewPullRequest{Repo: repo, Head: "feature/empty", Base: "main", Title: "T"})
	require.ErrorContains(t, err, "No commits between")
	var e *github.Error
	require.ErrorAs(t, err, &e)
	require.False(t, e.Retryable())
}

func TestDecode(t *testing.T) {
	t.Parallel()
	c, err := github.New(github.Options{Token: "t"})
	require.NoError(t, err)
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
	h, err := c.Decode("unheard_of", []byte(`{}`))
	require.NoError(t, err)
	require.Equal(t, githost.HookOther, h.Kind)
	_, err = c.Decode("unheard_of", []byte(`{`))
	require.Error(t, err)
}

// A push, CI and a merge send signed webhooks that the client decodes.
func TestJourneyOfWebhooks(t *testing.T) {
	t.Parallel()
	got := make(chan githost.Hook, 50)
	k := setup(t, forgetest.Options{CI: func(p forgetest.Push) forgetest.Outcome {
		if _, err := p.File("file1.txt"); err != nil {
			return forgetest.Outcome{Conclusion: "failure", Title: err.Error()}
		}
		return forgetest.Outcome{Conclusion: "success", Title: "fine", After: time.Millisecond}
	}})
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body := make([]byte, r.ContentLength)
		for n := 0; n < len(body); {
			m, err := r.Body.Read(body[n:])
			if n += m; err != nil {
				break
			}
		}
		if !passes(k.client, r.Header, body) {
			t.Error("the signature is wrong")
		}
		_, event := k.client.Delivery(r.Header)
		h, err := k.client.Decode(event, body)
		if err != nil {
			t.Errorf("decode %s: %v", event, err)
		}
		got <- h
	}))
	defer receiver.Close()
	k.server.SetHookURL(receiver.URL)
	head := k.commit("feature/a")
	_, err := k.client.OpenPullRequest(t.Context(), githost.NewPullRequest{Repo: repo, Head: "feature/a", Base: "main", Title: "T"})
	require.NoError(t, err)
	seen := map[string]githost.Hook{}
	wait := func(want string) githost.Hook {
		t.Helper()
		for {
			if h, ok := seen[want]; ok {
				return h
			}
			select {
			case h := <-got:
				seen[h.Event+" "+h.State] = h
			case <-time.After(10 * time.Second):
				t.Fatalf("no %q among %v", want, seen)
			}
		}
	}
	require.Equal(t, head, wait("check_run passed").SHA)
	require.NoError(t, k.server.Review(repo, "feature/a", "kim", "APPROVED", "", ""))
	require.Equal(t, head, wait("pull_request_review approved").SHA)
	require.NoError(t, k.server.Comment(repo, "feature/a", forgetest.LineComment{Author: "kim", Path: "a", Line: 1, Body: "Why?"}))
	k.server.ResolveThread(repo, "feature/a", 1)
	resolved := wait("pull_request_review_thread ")
	require.Equal(t, []any{githost.HookThread, "resolved", head}, []any{resolved.Kind, resolved.Action, resolved.SHA})
	require.NoError(t, k.server.Merge(repo, "feature/a"))
	require.Equal(t, githost.HookMerged, wait("pull_request closed").Kind)
	require.Error(t, k.server.Merge(repo, "feature/a"))
}

func TestNewRefuses(t *testing.T) {
	_, err := github.New(github.Options{})
	require.ErrorContains(t, err, "Token is missing")
	_, err = github.New(github.Options{Token: "t", BaseURL: "example.org"})
	require.ErrorContains(t, err, "BaseURL")
}

func FuzzDecode(f *testing.F) {
	c, err := github.New(github.Options{Token: "t"})
	require.NoError(f, err)
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
