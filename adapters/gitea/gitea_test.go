package gitea_test

import (
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

	"github.com/signalbox-dev/signalbox/adapters/gitea"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/githost/hosttest"
	"github.com/signalbox-dev/signalbox/internal/apidoc"
	"github.com/signalbox-dev/signalbox/internal/forgetest"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/fault/faulttest"
	"github.com/signalbox-dev/signalbox/orchestrator/signature"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	token  = "0123456789abcdef-secret-token"
	secret = "s3cret"
	repo   = "acme/shop"
	below  = forgetest.Prefix + "/repos/{owner}/{repo}"
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
	client *gitea.Client
	server *forgetest.Server
	url    string
	bare   string
	clone  string
	n      int
	clock  atomic.Int64 // how far the client's clock is ahead
}

// plainHTTP leaves no connection behind.
func plainHTTP(limit time.Duration) *http.Client {
	return &http.Client{Timeout: limit, Transport: &http.Transport{DisableKeepAlives: true}}
}

// described holds what the client sends and the double answers against the host's own description.
func described(t testing.TB, double http.Handler) http.Handler {
	t.Helper()
	d, err := apidoc.OfHost("gitea")
	require.NoError(t, err)
	return d.Watch(double, func(wrong string) { t.Error(wrong) }, forgetest.Prefix)
}

func setup(t testing.TB, o forgetest.Options) *kit {
	t.Helper()
	k := &kit{TB: t, bare: filepath.Join(t.TempDir(), "shop.git"), clone: filepath.Join(t.TempDir(), "clone")}
	run(t, t.TempDir(), "init", "--quiet", "--bare", "--initial-branch=main", k.bare)
	run(t, t.TempDir(), "clone", "--quiet", k.bare, k.clone)
	run(t, k.clone, "checkout", "--quiet", "-B", "main")
	k.write("shared.txt", "one\n")
	o.Token, o.Secret = token, secret
	k.server = forgetest.NewGitea(o)
	require.NoError(t, k.server.AddRepo(repo, k.bare))
	srv := httptest.NewServer(described(t, k.server))
	k.url = srv.URL
	t.Cleanup(func() { k.server.Close(); srv.Close() })
	var err error
	k.client, err = gitea.New(gitea.Options{
		BaseURL: srv.URL, Token: token, Secrets: signature.Of(secret), HTTPClient: plainHTTP(time.Minute),
		Now: func() time.Time { return time.Now().Add(time.Duration(k.clock.Load())) },
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

// pull opens the pull request of a branch.
func (k *kit) pull(branch string) githost.PullRequest {
	k.Helper()
	pr, err := k.client.OpenPullRequest(k.Context(), githost.NewPullRequest{Repo: repo, Head: branch, Base: "main", Title: "T"})
	require.NoError(k, err)
	return pr
}

func TestConformance(t *testing.T) {
	hosttest.Run(t, func(t *testing.T) hosttest.Fixture {
		k := setup(t, forgetest.Options{})
		// A conflict looks like what has yet to be compared: time decides.
		var err error
		k.client, err = gitea.New(gitea.Options{BaseURL: k.url, Token: token, HTTPClient: plainHTTP(5 * time.Second), Comparing: -1})
		require.NoError(t, err)
		return hosttest.Fixture{
			Host: k.client, Repo: repo, Commit: k.commit, Conflict: k.conflict, Statuses: true,
			SetChecks: func(sha string, checks ...githost.Check) {
				for _, c := range checks {
					k.server.SetStatus(repo, sha, c.Name, "pending")
					k.server.SetStatus(repo, sha, c.Name, map[githost.CheckState]string{githost.CheckPassed: "skipped", githost.CheckFailed: "error", githost.CheckPending: "pending"}[c.State])
				}
			},
			AddReview: func(branch string, r githost.Review) {
				if !r.Bot {
					k.server.SetRole(r.Author, string(r.Permission))
				}
				require.NoError(t, k.server.Review(repo, branch, r.Author, strings.ToUpper(string(r.State)), r.SHA, "b"))
			},
			Require: func(base string, names ...string) {
				k.server.SetSettings(repo, func(s *forgetest.Settings) { s.Required[base] = names })
			},
			AddLineComment: func(branch string, c githost.LineComment) {
				k.server.SetRole(c.Author, string(c.Permission))
				k.server.SetSettings(repo, func(s *forgetest.Settings) { s.Admin = true }) // else it is not shown who may write
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
					"OpenPullRequest": "POST " + below + "/pulls", "Merge": "POST " + below + "/pulls/{number}/merge", "DeleteBranch": "DELETE " + below + "/branches/{branch...}",
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
	for _, f := range []forgetest.Fault{forgetest.TooMany, forgetest.ErrorBefore, forgetest.ErrorAfter, forgetest.Dropped, forgetest.DroppedLate} {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			k := setup(t, forgetest.Options{})
			head := k.commit("feature/a")
			pr := k.pull("feature/a")
			k.server.Fail(f, f, f) // more than is tried at once
			_, err := k.client.Checks(t.Context(), repo, "main", head)
			require.True(t, fault.Retryable(err), "%v", err)
			require.NotContains(t, err.Error(), "secret")
			if f == forgetest.TooMany {
				require.Equal(t, time.Second, fault.After(err))
				return
			}
			// A merge whose answer was lost is found, not made again.
			k.server.Fail(f)
			sha, err := k.client.Merge(t.Context(), githost.Merge{Repo: repo, Number: pr.Number, HeadSHA: head, Title: "T"})
			if err != nil {
				require.True(t, fault.Retryable(err), "%v", err)
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
	c, err := gitea.New(gitea.Options{BaseURL: k.url + "/api/v1/", Token: "wrong", HTTPClient: plainHTTP(0)})
	require.NoError(t, err)
	require.ErrorIs(t, c.Ping(t.Context()), githost.ErrDenied)
	require.NoError(t, k.client.Ping(t.Context()))
	_, err = k.client.Checks(t.Context(), "acme/none", "main", strings.Repeat("a", 40))
	require.ErrorIs(t, err, githost.ErrNotFound)
	for _, bad := range []string{"", "acme", "a/b/c", "/x", "acme/.."} {
		_, err = k.client.BranchesAt(t.Context(), bad, head40)
		require.ErrorIs(t, err, githost.ErrNotFound)
	}
	for _, bad := range []string{"../../../../user", "", "main"} {
		_, err = k.client.Checks(t.Context(), repo, "main", bad)
		require.ErrorIs(t, err, githost.ErrNotFound)
	}
	for _, bad := range []string{"../../../issues/1", ""} {
		require.Error(t, k.client.DeleteBranch(t.Context(), repo, bad))
	}
	require.ErrorIs(t, k.client.DeleteBranch(t.Context(), repo, "main"), githost.ErrDenied)
	k.server.SetSettings(repo, func(s *forgetest.Settings) { s.Archived = true })
	_, err = k.client.OpenPullRequest(t.Context(), githost.NewPullRequest{Repo: repo, Head: "x", Base: "main", Title: "T"})
	require.ErrorIs(t, err, githost.ErrDenied)
}

func TestNewRefuses(t *testing.T) {
	_, err := gitea.New(gitea.Options{BaseURL: "https://git.example.org"})
	require.ErrorContains(t, err, "Token is missing")
	for _, bad := range []string{"", "example.org", "ftp://example.org", "https://kim:pw@example.org"} {
		_, err = gitea.New(gitea.Options{Token: "t", BaseURL: bad})
		require.ErrorContains(t, err, "BaseURL", bad)
	}
}
