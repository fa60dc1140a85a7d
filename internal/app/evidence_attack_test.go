package app_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/gitea"
	"github.com/signalbox-dev/signalbox/adapters/github"
	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/gates/checks"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/forgetest"
	"github.com/signalbox-dev/signalbox/internal/gittest"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
	"github.com/signalbox-dev/signalbox/orchestrator/signature"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
	"github.com/signalbox-dev/signalbox/orchestrator/web/limit"
)

// besieged is a repository on a forge, read by its real adapter: main, on which CI has reported, and a pull request.
type besieged struct {
	*testing.T
	server  *forgetest.Server
	host    githost.Host
	hooks   githost.Receiver
	git     func(args ...string) string
	main    string
	before  string // an earlier commit of the branch, which CI has passed and kim has approved
	head    string
	facts   gates.Facts
	refused string
}

const (
	besiegedRepo   = "acme/app"
	besiegedBranch = "feature/APP-1-x"
	besiegedSecret = "of-the-webhooks-of-this-repository-128-bits"
)

func besiege(t *testing.T, onGitea bool) *besieged {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "app.git")
	b := &besieged{T: t, git: func(args ...string) string {
		return gittest.Run(t, "", append([]string{"--git-dir=" + dir}, args...)...)
	}}
	const empty = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
	b.git("init", "--quiet", "--bare", "--initial-branch=main", dir)
	b.main = b.git("commit-tree", empty, "-m", "base")
	b.before = b.git("commit-tree", empty, "-p", b.main, "-m", "before")
	b.head = b.git("commit-tree", empty, "-p", b.before, "-m", "head")
	b.git("update-ref", "refs/heads/main", b.main)
	b.git("update-ref", "refs/heads/"+besiegedBranch, b.head)
	opt := forgetest.Options{Token: "t", Poll: time.Hour}
	b.server = map[bool]func(forgetest.Options) *forgetest.Server{false: forgetest.NewGitHub, true: forgetest.NewGitea}[onGitea](opt)
	t.Cleanup(b.server.Close)
	require.NoError(t, b.server.AddRepo(besiegedRepo, dir))
	srv := httptest.NewServer(b.server)
	t.Cleanup(srv.Close)
	secrets := signature.Of(besiegedSecret)
	if onGitea {
		c, err := gitea.New(gitea.Options{BaseURL: srv.URL, Token: "t", Secrets: secrets})
		require.NoError(t, err)
		b.host, b.hooks = c, c
	} else {
		c, err := github.New(github.Options{BaseURL: srv.URL, Token: "t", Secrets: secrets})
		require.NoError(t, err)
		b.host, b.hooks = c, c
	}
	b.server.SetRole("kim", "write")
	b.server.SetRole("reader", "read")
	_, err := b.host.OpenPullRequest(t.Context(), githost.NewPullRequest{Repo: besiegedRepo, Head: besiegedBranch, Base: "main", Title: "x"})
	require.NoError(t, err)
	for _, sha := range []string{b.main, b.before} {
		b.status(forgetest.CIBot, sha, "success")
	}
	b.facts = gates.Facts{
		At: time.Now(), SHA: b.head, CI: b.host, Reviews: b.host, Settled: true,
		Task:   gates.Task{Repo: besiegedRepo, Branch: besiegedBranch, Main: "main", WorkItem: "APP-1", Docs: "docs/work/APP-1"},
		Policy: gates.Policy{Contexts: []string{"e2e"}, Protected: checks.DefaultProtected(), Verify: []string{"make test"}},
	}
	return b
}

func (b *besieged) status(by, sha, state string) {
	b.server.SetStatusAs(by, besiegedRepo, sha, "e2e", state)
}

func (b *besieged) review(by, state, sha string) {
	require.NoError(b, b.server.Review(besiegedRepo, besiegedBranch, by, state, sha, "fine"))
}

// judge has a real gate judge; a green verdict is an attack that got through.
func (b *besieged) judge(gate string) {
	r, err := gates.NewRegistry(checks.All(nil)...)
	require.NoError(b, err)
	v := r.Judge(b.Context(), b.facts, gate)
	if b.refused = v.Reason; v.Passed() {
		b.refused = "GOT THROUGH: " + v.Reason
	}
	for _, e := range v.Evidence {
		b.refused += "\n" + e.String()
	}
}

// report has a run of a role leave a report.
func (b *besieged) report(at stage.Stage, role stage.Role, verdict, sha string) {
	b.facts.Stage, b.facts.Filed = at, gates.ParseReport(role, 7, gates.FormatReport(verdict, sha, "fine"))
}

// identify says whom a request with a header of a person is taken for, behind a proxy at a network or of a user.
func (b *besieged) identify(proxy access.Proxy, from string, header ...string) {
	proxy.User = "X-Forwarded-User"
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	r.RemoteAddr = from
	r.Header.Set("X-Forwarded-User", "boss@acme.org")
	for pair := range slices.Chunk(header, 2) {
		r.Header.Set(pair[0], pair[1])
	}
	guard := access.New(access.Options{Proxy: proxy})
	limit.Behind(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		p, err := guard.Identify(r)
		require.NoError(b, err)
		b.refused = "nobody: " + p.Name
	}), proxy.From).ServeHTTP(httptest.NewRecorder(), r)
	if strings.Contains(b.refused, "boss") {
		b.refused = "GOT THROUGH as boss"
	}
}

// hook says whether a webhook is taken for the forge's: signed with a secret, and then changed.
func (b *besieged) hook(secretOf, body, sent string) {
	sum := hmac.New(sha256.New, []byte(secretOf))
	sum.Write([]byte(body))
	signed := hex.EncodeToString(sum.Sum(nil))
	check, err := b.hooks.Signature(http.Header{"X-Hub-Signature-256": {"sha256=" + signed}, "X-Gitea-Signature": {signed}})
	require.NoError(b, err)
	_, _ = check.Write([]byte(sent))
	b.refused = "the signature does not fit"
	if check.Passed() {
		b.refused = "GOT THROUGH: signed"
	}
}

// decide has the machine decide an event about a state; what moves it got through.
func (b *besieged) decide(s stage.State, ev stage.Event) {
	m, err := stage.New(stage.Default(), stage.Options{})
	require.NoError(b, err)
	d := m.Decide(s, ev)
	if b.refused = strings.Join(d.Notes, "; "); d.State.Stage != s.Stage || d.Launch != nil {
		b.refused = "GOT THROUGH: " + b.refused
	}
}

// Attacks on what counts as evidence, by the forges' real adapters, the real gates, machine and guard: each says what
// has refused it.
func TestAttacksOnEvidence(t *testing.T) {
	t.Parallel()
	loopback := limit.Trusted{Prefix: netip.MustParsePrefix("127.0.0.0/8")}
	for _, a := range []struct {
		name   string
		attack func(b *besieged)
		want   string // a part of what refused it
		only   string // github or gitea; empty = both
	}{
		{"stale: a green of an earlier commit", func(b *besieged) { b.judge(checks.CIGreen) }, "CI is not finished", ""},
		{"success after failure, of another account", func(b *besieged) {
			b.status(forgetest.CIBot, b.head, "failure")
			b.status("mallory", b.head, "success")
			b.judge(checks.CIGreen)
		}, "CI failed", ""},
		{"doubled: the success twice more", func(b *besieged) {
			b.status(forgetest.CIBot, b.head, "failure")
			for range 3 {
				b.status("mallory", b.head, "success")
			}
			b.judge(checks.CIGreen)
		}, "CI failed", ""},
		{"foreign: a success of another account alone", func(b *besieged) {
			b.status("mallory", b.head, "success")
			b.judge(checks.CIGreen)
		}, "on main it comes from user/" + forgetest.CIBot, ""},
		{"the other account reports on main too", func(b *besieged) {
			b.status(forgetest.CIBot, b.head, "pending")
			b.judge(checks.CIGreen) // main is seen
			b.status("mallory", b.main, "success")
			b.status("mallory", b.head, "success")
			b.judge(checks.CIGreen)
		}, "user/mallory", ""},
		{"renamed: a check of almost the name", func(b *besieged) {
			for _, name := range []string{"E2E", "e2e ", "ci / e2e"} {
				b.server.SetStatusAs(forgetest.CIBot, besiegedRepo, b.head, name, "success")
			}
			b.judge(checks.CIGreen)
		}, "CI is not finished", ""},
		{"an account in the place of the app that the entry names", func(b *besieged) {
			b.facts.Policy.Issuers = map[string]string{"e2e": stage.IssuerApp + "github-actions"}
			b.status("github-actions", b.head, "success")
			b.judge(checks.CIGreen)
		}, "the project's entry takes it from app/github-actions", ""},
		{"run again by another app", func(b *besieged) {
			b.facts.Policy.Issuers = map[string]string{"e2e": stage.IssuerApp + "github-actions"}
			b.server.SetCheckRun(besiegedRepo, b.head, "e2e", "completed", "failure")
			b.server.SetCheckRunAs("evil-ci", besiegedRepo, b.head, "e2e", "completed", "success")
			b.judge(checks.CIGreen)
		}, "CI failed", "github"},
		{"a check of another app alone", func(b *besieged) {
			b.facts.Policy.Issuers = map[string]string{"e2e": stage.IssuerApp + "github-actions"}
			b.server.SetCheckRunAs("evil-ci", besiegedRepo, b.head, "e2e", "completed", "success")
			b.judge(checks.CIGreen)
		}, "by the word of app/evil-ci", "github"},
		{"a status of another app's account, where a ruleset takes it from the workflows", func(b *besieged) {
			b.server.SetSettings(besiegedRepo, func(s *forgetest.Settings) { s.Rules = map[string][]string{"main": {"lint@15368"}} })
			b.facts.Policy.Contexts = nil
			b.server.SetStatusAs("evil[bot]", besiegedRepo, b.head, "lint", "success")
			b.judge(checks.CIGreen)
		}, "demands it of the app 15368", "github"},
		{"a moved name: a branch that is called as the commit is", func(b *besieged) {
			b.git("update-ref", "refs/heads/"+b.head, b.before)
			b.judge(checks.CIGreen)
		}, "it is about", "gitea"},
		{"an approval of an earlier commit", func(b *besieged) {
			b.review("kim", "APPROVED", b.before)
			b.judge(checks.ReviewApproved)
		}, "the reviewer has not reported yet", ""},
		{"an approval of who may not write", func(b *besieged) {
			b.review("reader", "APPROVED", b.head)
			b.judge(checks.ReviewApproved)
		}, "the account may not write", ""},
		{"an approval that was dismissed", func(b *besieged) {
			b.review("kim", "APPROVED", b.head)
			b.review("kim", "DISMISSED", b.head)
			b.judge(checks.ReviewApproved)
		}, "the reviewer has not reported yet", ""},
		{"the approval of the service's account, which agents' pull requests are of", func(b *besieged) {
			pr, err := b.host.PullRequest(b.Context(), besiegedRepo, besiegedBranch, "main")
			require.NoError(b, err)
			b.facts.Policy.Reviewers = []string{pr.Author}
			b.review(pr.Author, "APPROVED", b.head)
			b.judge(checks.ReviewApproved)
		}, "the author of the pull request", ""},
		{"an approval over another's objection", func(b *besieged) {
			b.server.SetRole("ann", "write")
			b.review("ann", "CHANGES_REQUESTED", b.head)
			b.review("kim", "APPROVED", b.head)
			b.report(stage.Review, stage.Reviewer, "approved", b.head)
			b.judge(checks.ReviewApproved)
		}, "ann requests changes", ""},
		{"a report of another role", func(b *besieged) {
			b.report(stage.Review, stage.Developer, "approved", b.head)
			b.judge(checks.ReviewApproved)
		}, "the reviewer has not reported yet", ""},
		{"a report about another commit", func(b *besieged) {
			b.report(stage.Testing, stage.Tester, "passed", b.before)
			b.judge(checks.TestsPassed)
		}, "the tester's report is about", ""},
		{"a report about a commit of six digits", func(b *besieged) {
			b.report(stage.Testing, stage.Tester, "passed", b.head[:6])
			b.judge(checks.TestsPassed)
		}, "the tester's report is about", ""},
		{"a report file in the branch, of another run", func(b *besieged) {
			b.facts.Stage, b.facts.Tree = stage.Review, fstest.MapFS{"docs/work/APP-1/review.md": {Data: []byte(gates.FormatReport("approved", b.head, "fine"))}}
			b.judge(checks.ReviewApproved)
		}, "the reviewer has not reported yet", ""},
		{"the result of an earlier run, replayed", func(b *besieged) {
			s := stage.State{Stage: stage.Review, Run: 5, Active: stage.Reviewer, Head: b.head}
			filed := gates.ParseReport(stage.Reviewer, 4, gates.FormatReport("approved", b.head, "fine"))
			b.decide(s, stage.Event{
				On: stage.OnAgentFinished, Run: 4, SHA: b.head, Agent: &stage.Report{Role: stage.Reviewer, Filed: filed},
				Derived: stage.Derived{Verdict: stage.Verdict{Outcome: stage.Green, SHA: b.head}},
			})
		}, "run 4", ""},
		{"the service's own result of another commit", func(b *besieged) {
			b.report(stage.Testing, stage.Tester, "passed", b.head)
			b.facts.Filed.Verified = []stage.Verified{{Command: "make test", Provenance: stage.Provenance{SHA: b.before, Issuer: stage.IssuerService}}}
			b.judge(checks.TestsPassed)
		}, "the service has not run make test", ""},
		{"the service's own result of another command", func(b *besieged) {
			b.report(stage.Testing, stage.Tester, "passed", b.head)
			b.facts.Filed.Verified = []stage.Verified{{Command: "make  test", Provenance: stage.Provenance{SHA: b.head, Issuer: stage.IssuerService}}}
			b.judge(checks.TestsPassed)
		}, "the service has not run make test", ""},
		{"the answer of another deployment", func(b *besieged) {
			b.report(stage.Deploy, stage.Deployer, "success", b.head)
			b.facts.Deployed, b.facts.Policy.Probe = b.head, map[stage.Stage]string{stage.Deploy: "https://app.example.org/version"}
			b.facts.Filed.Probed = &stage.Probed{Address: "https://evil.example.org/version", Provenance: stage.Provenance{SHA: b.head}}
			b.judge(checks.DeployStatus)
		}, "the service has not read https://app.example.org/version", ""},
		{"a person's word for an earlier commit, and the workflow changed since", func(b *besieged) {
			const workflow = ".github/workflows/ci.yml"
			b.facts.Vouched = stage.Vouch{SHA: b.before, Issuer: "person/kim"}
			b.facts.Changes = gates.StaticChanges{Paths: map[string][]string{"": {workflow}, b.before: {workflow}}}
			b.judge(checks.ProtectedPaths)
		}, "changes protected paths", ""},
		{"an approval of the requirements at an earlier commit", func(b *besieged) {
			docs := fstest.MapFile{Data: []byte("x")}
			b.facts.Tree = fstest.MapFS{"docs/work/APP-1/requirements.md": &docs, "docs/work/APP-1/acceptance.md": &docs}
			b.facts.Approval = stage.Vouch{SHA: b.before, Issuer: "person/kim"}
			b.judge(checks.AnalysisApproved)
		}, "a human's approval of", ""},
		{"a webhook with the secret of another repository", func(b *besieged) {
			b.hook("of-the-webhooks-of-another-repository-128-b", `{"a":1}`, `{"a":1}`)
		}, "the signature does not fit", ""},
		{"a webhook whose body was changed", func(b *besieged) { b.hook(besiegedSecret, `{"a":1}`, `{"a":2}`) }, "the signature does not fit", ""},
		{"a person's header without the proxy's proof", func(b *besieged) {
			b.identify(access.Proxy{From: []limit.Trusted{loopback}, Secret: secret.New("0f1e2d3c4b5a69788796a5b4c3d2e1f0")}, "127.0.0.1:9")
		}, "nobody", ""},
		{"a person's header, and the proxy's address in another", func(b *besieged) {
			b.identify(access.Proxy{From: []limit.Trusted{{Prefix: netip.MustParsePrefix("10.1.0.0/16")}}}, "192.0.2.7:9", "X-Forwarded-For", "10.1.0.5")
		}, "nobody", ""},
		{"a person's header, and the proxy's user in another", func(b *besieged) {
			b.identify(access.Proxy{From: []limit.Trusted{loopback, {User: "uid:33"}}, Secret: secret.New("0f1e2d3c4b5a69788796a5b4c3d2e1f0")}, "127.0.0.1:9", "X-Forwarded-For", "uid:33")
		}, "nobody", ""},
	} {
		for _, onGitea := range []bool{false, true} {
			at := map[bool]string{false: "github", true: "gitea"}[onGitea]
			if a.only != "" && a.only != at {
				continue
			}
			t.Run(a.name+" at "+at, func(t *testing.T) {
				t.Parallel()
				b := besiege(t, onGitea)
				a.attack(b)
				require.NotContains(t, b.refused, "GOT THROUGH")
				require.Contains(t, b.refused, a.want)
			})
		}
	}
	t.Run("and what is right passes", func(t *testing.T) {
		t.Parallel()
		for _, onGitea := range []bool{false, true} {
			b := besiege(t, onGitea)
			b.status(forgetest.CIBot, b.head, "success")
			b.review("kim", "APPROVED", b.head)
			for gate, by := range map[string]string{checks.CIGreen: "check e2e: passed, by user/ci-bot (host), at ", checks.ReviewApproved: "review kim: approved, by user/kim (host), at "} {
				b.judge(gate)
				require.Contains(t, b.refused, "GOT THROUGH")
				require.Contains(t, b.refused, by+b.head[:12])
			}
			b.identify(access.Proxy{From: []limit.Trusted{loopback}, Secret: secret.New("0f1e2d3c4b5a69788796a5b4c3d2e1f0")}, "127.0.0.1:9", "X-Signalbox-Proxy", "0f1e2d3c4b5a69788796a5b4c3d2e1f0")
			require.Contains(t, b.refused, "GOT THROUGH")
			b.hook(besiegedSecret, `{"a":1}`, `{"a":1}`)
			require.Contains(t, b.refused, "GOT THROUGH")
		}
	})
}
