package app_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/gitea"
	"github.com/signalbox-dev/signalbox/adapters/github"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/apidoc"
	"github.com/signalbox-dev/signalbox/internal/forgetest"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/effects"
	"github.com/signalbox-dev/signalbox/orchestrator/features/mergegate"
	"github.com/signalbox-dev/signalbox/orchestrator/features/stop"
	"github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/queue/lease/memlease"
)

// twin is a forge beside workspaces that have no git: each of their commits has one of the same branch in the forge's
// repository, and what is sent is translated.
type twin struct {
	server *forgetest.Server
	host   http.Handler // the server, held against the host's own description
	git    func(args ...string) string
	gitea  bool
	gated  bool   // the merge gate is on, from the next start
	ci     string // what CI concludes of each commit; empty = nothing

	mu    sync.Mutex
	pairs []string // of their commits and the forge's
	heads []string // the forge's, of what was pushed
	count int
}

func (w *twin) translate(text string, back bool) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	for pair := range slices.Chunk(w.pairs, 2) {
		from, to := pair[0], pair[1]
		if back {
			from, to = to, from
		}
		text = strings.ReplaceAll(text, from, to)
	}
	return text
}

func (w *twin) RoundTrip(r *http.Request) (*http.Response, error) {
	body := ""
	if r.Body != nil {
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		body = w.translate(string(raw), false)
	}
	in := httptest.NewRequest(r.Method, w.translate(r.URL.String(), false), strings.NewReader(body))
	in.Header = r.Header
	rec := httptest.NewRecorder()
	w.host.ServeHTTP(rec, in)
	out := rec.Result()
	out.Body = io.NopCloser(strings.NewReader(w.translate(rec.Body.String(), true)))
	out.ContentLength = -1
	return out, nil
}

// pushed makes the twin of a commit, and reports CI of it.
func (w *twin) pushed(_, branch, sha string) {
	if branch == "main" {
		return
	}
	w.mu.Lock()
	w.count++
	made := w.git("commit-tree", "main^{tree}", "-p", "main", "-m", fmt.Sprint(w.count))
	w.git("update-ref", "refs/heads/"+branch, made)
	w.pairs, w.heads = append(w.pairs, sha, made), append(w.heads, made)
	w.mu.Unlock()
	w.report(made)
}

func (w *twin) report(sha string) {
	waits := map[string]string{"pending": "in_progress", "queued": "queued", "waiting": "waiting"}[w.ci]
	switch {
	case w.ci == "":
	case w.ci == "awaiting approval":
		w.server.SetSuite(orchestratortest.AppRepo, sha, forgetest.Actions, "completed", "action_required")
	case w.ci == "optional red":
		w.server.SetCheckRun(orchestratortest.AppRepo, sha, "codecov/project", "completed", "failure")
		w.server.SetCheckRun(orchestratortest.AppRepo, sha, "build", "completed", "success")
	case w.gitea:
		w.server.SetStatus(orchestratortest.AppRepo, sha, "build", w.ci)
	case waits != "":
		w.server.SetCheckRun(orchestratortest.AppRepo, sha, "build", waits, "")
	default:
		w.server.SetCheckRun(orchestratortest.AppRepo, sha, "build", "completed", w.ci)
	}
}

// twinned plays a card on a forge with its real adapter, with the merge gate on for no repository.
func twinned(t *testing.T, onGitea bool, ci string, test func(*orchestratortest.Rig, *twin)) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "app.git")
	w := &twin{gitea: onGitea, ci: ci, git: func(args ...string) string {
		cmd := exec.Command("git", append([]string{"--git-dir=" + dir, "-c", "user.name=x", "-c", "user.email=x@example.org"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("git %v: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}}
	w.git("init", "--quiet", "--bare", "--initial-branch=main", dir)
	w.git("update-ref", "refs/heads/main", w.git("commit-tree", "4b825dc642cb6eb9a060e54bf8d69288fbee4904", "-m", "base"))
	opt := forgetest.Options{Poll: 1000 * time.Hour}
	var host orchestrator.Hosting
	var err error
	if client := (&http.Client{Transport: w}); onGitea {
		w.server = forgetest.NewGitea(opt)
		host, err = gitea.New(gitea.Options{BaseURL: "http://forge", Token: "t", HTTPClient: client, Now: time.Now})
	} else {
		w.server = forgetest.NewGitHub(opt)
		host, err = github.New(github.Options{BaseURL: "http://forge", Token: "t", HTTPClient: client})
	}
	require.NoError(t, err)
	name, prefix := "github", ""
	if onGitea {
		name, prefix = "gitea", forgetest.Prefix
	}
	doc, err := apidoc.OfHost(name)
	require.NoError(t, err)
	w.host = doc.Watch(w.server, func(wrong string) { t.Error(wrong) }, prefix, "/graphql")
	t.Cleanup(w.server.Close)
	require.NoError(t, w.server.AddRepo(orchestratortest.AppRepo, dir))
	w.server.SetRole("kim", "write")
	orchestratortest.Run(t, func(r *orchestratortest.Rig) {
		r.Projects[0].Protected.None, r.Projects[0].Contexts = true, []string{"build"}
		if ci == "" {
			r.Projects[0].Contexts = nil
		}
		var with effects.Deps
		r.Effects = func(d *effects.Deps) { d.Host = host; with = *d }
		r.Deps = func(d *orchestrator.Deps) { d.Host = host }
		r.Features = func() []orchestrator.Feature {
			gate, err := mergegate.New(mergegate.Options{Parts: r.Parts(host), Leases: memlease.New(nil), Merge: effects.Runners(with)[stage.EffectMerge], Off: !w.gated, Repos: []string{"*"}})
			require.NoError(r, err)
			ends, err := stop.Feature(r.Parts())
			require.NoError(r, err)
			return []orchestrator.Feature{gate.Feature(), ends}
		}
	}, func(r *orchestratortest.Rig) {
		r.Place.OnPush = w.pushed
		test(r, w)
	})
}

// refusal holds the words with which a host refuses a merge, and how it comes about.
type refusal struct {
	words string
	set   func(*forgetest.Settings)
	by    func(*forgetest.Pull)
	runs  int  // until a person has acted; 0 = 6: one for each role, the deployer for staging
	again bool // it is tried by itself
}

func standing(words, state string) refusal {
	return refusal{words: words, set: func(s *forgetest.Settings) { s.Refusal, s.Standing = words, state }}
}

func refused(words string) refusal {
	return refusal{words: words, set: func(s *forgetest.Settings) { s.Refusal = words }}
}

// Whatever a host refuses a merge with, no agent is run for it again: six runs are right, and eighteen a bug.
func TestRefusalsRunNoAgent(t *testing.T) {
	t.Parallel()
	protect := func(s *forgetest.Settings) { s.Required["main"], s.Approvals, s.Admin = nil, 1, true }
	draft := func(p *forgetest.Pull) { p.Draft = true }
	unknown := standing("Base branch was modified. Review and try the merge again.", "unknown")
	unknown.again = true
	for host, rows := range map[string][]refusal{
		"GitHub": {
			standing("Waiting on code owner review from octocat.", "blocked"),
			standing("Commits must have verified signatures.", "blocked"),
			standing("A conversation must be resolved before this pull request can be merged.", "blocked"),
			standing("You're not authorized to push to this branch.", "blocked"),
			standing("New changes require approval from someone other than the last pusher.", "blocked"),
			standing("Required status check \"x\" is expected.", "blocked"),
			standing("Required deployment to staging is expected.", "blocked"),
			standing("Cannot change this locked branch", "blocked"),
			{words: "waits for 1 approval by somebody with write access", set: protect},
			{words: "is a draft", by: draft, runs: 4},
			standing("Head branch is out of date", "behind"),
			standing("Pull Request is not mergeable", "dirty"),
			unknown,
		},
		"Gitea": {
			{words: "waits for 1 approval by somebody with write access", set: protect},
			{words: "is a draft", by: draft, runs: 4},
			{words: "User not allowed to merge PR", set: func(s *forgetest.Settings) { s.Push = false }},
			{words: "is not allowed an allowed merge style", set: func(s *forgetest.Settings) { s.Methods = nil }},
			refused("There are requested changes"), refused("There are official review requests"), refused("Changed protected files"),
			refused("The head branch is behind the base branch"), refused("the commit would not be signed"),
		},
	} {
		for _, c := range rows {
			t.Run(host+"/"+c.words, func(t *testing.T) {
				t.Parallel()
				twinned(t, host == "Gitea", "success", func(r *orchestratortest.Rig, w *twin) {
					before := w.server.Settings(orchestratortest.AppRepo)
					if c.set != nil {
						w.server.SetSettings(orchestratortest.AppRepo, c.set)
					}
					change := func(by func(*forgetest.Pull)) {
						w.server.ChangePull(orchestratortest.AppRepo, "feature/APP-1-x", "ann", "edited", by)
					}
					r.Place.SetScript(func(ctx context.Context, cmd work.Command, files map[string]string) work.Result {
						if c.by != nil && cmd.Role == stage.Reviewer { // and its webhook is lost
							change(c.by)
						}
						return orchestratortest.GoodAgent(ctx, cmd, files)
					})
					item := r.Card(orchestratortest.App, "x")
					r.ToDone(orchestratortest.App, item)
					r.Settle(20 * time.Minute)
					held := r.Task(item)
					require.Equal(r, "feature/APP-1-x", held.Branch)
					require.Len(r, r.Roles(), cmp.Or(c.runs, 6), "18 is a bug")
					require.Zero(r, held.State.Retries)
					why := r.Explain(item)
					if !c.again {
						require.Contains(r, fmt.Sprintf("%+v", why.Blockers), c.words)
					}
					review := githost.Hook{
						Kind: githost.HookReview, Action: "edited", Repo: orchestratortest.AppRepo, Branch: held.Branch, Number: 1,
						State: string(githost.ReviewApproved), Sender: "kim",
					}
					if strings.Contains(c.words, "approval by") {
						require.Equal(r, stage.HoldNone, held.State.Hold)
						require.Regexp(r, `^Held: pull request 1 \(\S+\) `+c.words+`\.$`, why.Summary)
						require.Len(r, why.Blockers, 1, "the merge that waits for it says the same")
						require.Contains(r, r.Notices(), c.words)
						r.HostHook(review)
						r.Settle(time.Minute)
						for call := range w.server.Requests() {
							require.NotContains(r, call, "/merge", "none is tried: the review is not there yet")
						}
					}

					w.server.SetSettings(orchestratortest.AppRepo, func(s *forgetest.Settings) {
						approvals, required := s.Approvals, s.Required
						*s = before
						s.Approvals, s.Required = approvals, required
					})
					hook := githost.Hook{Kind: githost.HookPullRequest, Action: "edited", Repo: orchestratortest.AppRepo, Branch: held.Branch, Number: 1}
					switch {
					case c.by != nil:
						change(func(p *forgetest.Pull) { p.Draft = false })
						r.HostHook(hook)
					case strings.Contains(c.words, "owner review"): // a review has the merge tried again
						r.HostHook(review)
					case strings.Contains(c.words, "approval by"):
						require.NoError(r, w.server.Review(orchestratortest.AppRepo, held.Branch, "kim", "APPROVED", "", ""))
						r.HostHook(review)
					case !c.again:
						r.Move(orchestratortest.App, item, stage.StatusInProgress)
					}
					r.Settle(10 * time.Minute)
					isDone(r, item)
					require.Len(r, r.Roles(), 7, "and the one that deploys")
					r.Replays()
				})
			})
		}
	}
}
