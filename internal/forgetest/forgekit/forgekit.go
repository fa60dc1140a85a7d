// Package forgekit shows of the adapters of git hosts what they have in common: a double with a
// repository, people who work in it, and the cases that hold for each of them.
package forgekit

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/githost/hosttest"
	"github.com/signalbox-dev/signalbox/internal/apidoc"
	"github.com/signalbox-dev/signalbox/internal/fakehttp"
	"github.com/signalbox-dev/signalbox/internal/forgetest"
	"github.com/signalbox-dev/signalbox/internal/gittest"
	"github.com/signalbox-dev/signalbox/orchestrator/fault/faulttest"
)

// The repository of a kit, and the keys of its client.
const (
	Token  = "0123456789abcdef-secret-token"
	Secret = "s3cret"
	Repo   = "acme/shop"
)

// Client holds the methods that the adapters have in common.
type Client interface {
	githost.Host
	githost.Branches
	githost.Receiver
	githost.Examiner
	Ping(ctx context.Context) error
}

// Kit is a double with a repository, and a clone of it that somebody works in. An adapter adds its client.
type Kit struct {
	testing.TB
	Client           Client
	Server           *forgetest.Server
	URL, Bare, Clone string
	Clock            atomic.Int64 // how far the client's clock is ahead

	n int // commits
}

// New makes the double of a host of internal/apidoc, and holds what is sent and answered against the
// host's own description.
func New(t testing.TB, host string, o forgetest.Options) *Kit {
	t.Helper()
	k := &Kit{TB: t, Bare: filepath.Join(t.TempDir(), "shop.git"), Clone: filepath.Join(t.TempDir(), "clone")}
	gittest.Run(t, "", "init", "--quiet", "--bare", "--initial-branch=main", k.Bare)
	gittest.Run(t, "", "clone", "--quiet", k.Bare, k.Clone)
	k.Git("checkout", "--quiet", "-B", "main")
	k.Write("shared.txt", "one\n")
	double, prefix := forgetest.NewGitHub, ""
	if host == "gitea" {
		double, prefix = forgetest.NewGitea, forgetest.Prefix
	}
	o.Token, o.Secret = Token, Secret
	k.Server = double(o)
	require.NoError(t, k.Server.AddRepo(Repo, k.Bare))
	d, err := apidoc.OfHost(host)
	require.NoError(t, err)
	srv := httptest.NewServer(d.Watch(k.Server, func(wrong string) { t.Error(wrong) }, prefix, "/graphql", "/_files/"))
	t.Cleanup(func() { k.Server.Close(); srv.Close() })
	k.URL = srv.URL
	return k
}

// HTTP leaves no connection behind.
func HTTP(limit time.Duration) *http.Client {
	return &http.Client{Timeout: limit, Transport: &http.Transport{DisableKeepAlives: true}}
}

// Now is the time of the client.
func (k *Kit) Now() time.Time { return time.Now().Add(time.Duration(k.Clock.Load())) }

// Git runs git in the clone.
func (k *Kit) Git(args ...string) string {
	k.Helper()
	return gittest.Run(k, k.Clone, args...)
}

// Write commits a file on the branch that is checked out and pushes it.
func (k *Kit) Write(name, body string) string {
	k.Helper()
	require.NoError(k, os.WriteFile(filepath.Join(k.Clone, name), []byte(body), 0o600))
	k.Git("add", "--all")
	k.Git("commit", "--quiet", "-m", "change "+name)
	k.Git("push", "--quiet", "origin", "HEAD")
	return k.Git("rev-parse", "HEAD")
}

// Commit adds a commit to a branch, made from main if there is none.
func (k *Kit) Commit(branch string) string {
	k.Helper()
	if k.Server.Heads(Repo)[branch] == "" {
		k.Git("checkout", "--quiet", "-B", branch, "main")
	} else {
		k.Git("checkout", "--quiet", branch)
	}
	k.n++
	return k.Write(fmt.Sprintf("file%d.txt", k.n), branch)
}

// Conflict makes a branch impossible to merge into main, and returns its head.
func (k *Kit) Conflict(branch string) string {
	k.Helper()
	k.Git("checkout", "--quiet", "-B", branch, "main")
	head := k.Write("shared.txt", "theirs\n")
	k.Git("checkout", "--quiet", "main")
	k.Write("shared.txt", "ours\n")
	return head
}

// Pull opens the pull request of a branch.
func (k *Kit) Pull(branch string) githost.PullRequest {
	k.Helper()
	pr, err := k.Client.OpenPullRequest(k.Context(), githost.NewPullRequest{Repo: Repo, Head: branch, Base: "main", Title: "T"})
	require.NoError(k, err)
	return pr
}

// Approved opens a pull request of feature/a that kim, who may write, has approved.
func (k *Kit) Approved() {
	k.Helper()
	k.Commit("feature/a")
	k.Pull("feature/a")
	k.Server.SetRole("kim", "write")
	require.NoError(k, k.Server.Review(Repo, "feature/a", "kim", "APPROVED", "", ""))
}

// Fixture begins that of the conformance suite; calls are the routes of the methods that can fail.
func (k *Kit) Fixture(calls map[string]string) hosttest.Fixture {
	return hosttest.Fixture{
		Host: k.Client, Repo: Repo, Commit: k.Commit, Conflict: k.Conflict, Self: forgetest.Self,
		AddReview: func(branch string, r githost.Review) {
			if !r.Bot {
				k.Server.SetRole(r.Author, string(r.Permission))
			}
			require.NoError(k, k.Server.Review(Repo, branch, r.Author, strings.ToUpper(string(r.State)), r.SHA, "b"))
		},
		AddLineComment: func(branch string, c githost.LineComment) {
			k.Server.SetRole(c.Author, string(c.Permission))
			said := forgetest.LineComment{Author: c.Author, Path: c.Path, Line: c.Line, Old: c.Old, Body: c.Body, SHA: c.SHA}
			require.NoError(k, k.Server.Comment(Repo, branch, said))
		},
		Comments: func(number int64) []string { return k.Server.Comments(Repo, int(number)) },
		Answers: func(branch, thread string) (out []string) {
			for _, l := range k.Server.LineComments(Repo, branch) {
				if l.Answers != 0 && strconv.Itoa(l.Answers) == thread {
					out = append(out, l.Body)
				}
			}
			return out
		},
		Fail: func(call string, how faulttest.Kind) {
			k.Server.Break(calls[call], map[faulttest.Kind]fakehttp.Fault{
				faulttest.Final: fakehttp.Denied, faulttest.Passing: fakehttp.ErrorBefore, faulttest.Later: fakehttp.TooMany,
			}[how])
		},
	}
}

// Passes checks a body as a receiver does.
func Passes(c githost.Receiver, h http.Header, body []byte) bool {
	check, err := c.Signature(h)
	if err != nil {
		return false
	}
	_, _ = check.Write(body)
	return check.Passed()
}

// Proof shows that a webhook which nobody has signed says so, and one that was signed does not.
func Proof(t testing.TB, open, signed githost.Receiver) {
	t.Helper()
	for c, unsigned := range map[githost.Receiver]bool{open: true, signed: false} {
		h, err := c.Decode("push", []byte(`{"ref":"refs/heads/a","after":"b","repository":{"full_name":"`+Repo+`"}}`))
		require.NoError(t, err)
		require.Equal(t, unsigned, h.Unsigned)
	}
}

// Delivered is one webhook that a receiver got.
type Delivered struct {
	ID     string
	Hook   githost.Hook
	Header http.Header
}

// Webhooks are those that a receiver gets, all of which must verify and decode.
func (k *Kit) Webhooks() <-chan Delivered {
	k.Helper()
	got := make(chan Delivered, 100)
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || !Passes(k.Client, r.Header, body) {
			k.Errorf("a webhook that does not verify: %v", err)
		}
		id, event := k.Client.Delivery(r.Header)
		h, err := k.Client.Decode(event, body)
		if err != nil {
			k.Errorf("decode %s: %v", event, err)
		}
		got <- Delivered{id, h, r.Header}
	}))
	k.Cleanup(srv.Close)
	k.Server.SetHookURL(srv.URL)
	return got
}

// Next waits for the next webhook that fits.
func (k *Kit) Next(got <-chan Delivered, fits func(githost.Hook) bool) Delivered {
	k.Helper()
	for {
		select {
		case d := <-got:
			if fits(d.Hook) {
				return d
			}
		case <-time.After(10 * time.Second):
			k.Fatal("no such webhook")
		}
	}
}

// Kind fits webhooks of a kind, and of a state unless that is empty.
func Kind(kind, state string) func(githost.Hook) bool {
	return func(h githost.Hook) bool { return h.Kind == kind && (state == "" || h.State == state) }
}
