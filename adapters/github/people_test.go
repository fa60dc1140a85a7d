package github_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/github"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/forgetest"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/effects"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/features/mergegate"
	"github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/queue/lease/memlease"
)

// forge answers as GitHub does for one repository, without git and without a network.
type forge struct {
	mu              sync.Mutex
	branch, head    string
	number          int // of the newest pull request; 0 = there is none
	open, merged    bool
	standing, words string // mergeable_state, and what merges are refused with
	runs, suites    string // JSON of check runs and suites of every commit
	required        string // JSON of the contexts that the protection of main demands
	merges          int
}

// landedSHA names the commit that a merge makes.
const landedSHA = "1234567890123456789012345678901234567890"

// RoundTrip implements http.RoundTripper.
func (f *forge) RoundTrip(r *http.Request) (*http.Response, error) {
	rec := httptest.NewRecorder()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer(rec, r)
	return rec.Result(), nil
}

func (f *forge) pull() map[string]any {
	return map[string]any{
		"number": f.number, "state": map[bool]string{true: "open", false: "closed"}[f.open], "merged": f.merged, "merge_commit_sha": landedSHA, "mergeable_state": f.standing,
		"draft": f.standing == "draft", "html_url": fmt.Sprintf("https://github.example.org/acme/app/pull/%d", f.number), "user": map[string]any{"login": "box"},
		"head": map[string]any{"ref": f.branch, "sha": f.head, "repo": map[string]any{"full_name": "acme/app"}}, "base": map[string]any{"ref": "main"},
	}
}

func (f *forge) answer(w http.ResponseWriter, r *http.Request) {
	say := func(v any) { _ = json.NewEncoder(w).Encode(v) }
	path := strings.TrimPrefix(r.URL.Path, "/repos/acme/app")
	switch end := path[strings.LastIndex(path, "/")+1:]; {
	case path == "/pulls" && r.Method == http.MethodPost:
		f.number, f.open = f.number+1, true
		say(f.pull())
	case path == "/pulls" && f.number == 0:
		say([]any{})
	case path == "/pulls":
		say([]any{f.pull()})
	case end == "merge" && f.words != "":
		f.merges++
		w.WriteHeader(http.StatusMethodNotAllowed)
		say(map[string]any{"message": f.words})
	case end == "merge":
		f.merges, f.open, f.merged = f.merges+1, false, true
		say(map[string]any{"sha": landedSHA, "merged": true})
	case end == "reviews", path == "/rules/branches/main", end == "branches-where-head":
		say([]any{})
	case strings.HasPrefix(path, "/pulls/"):
		say(f.pull())
	case end == "statuses":
		say([]any{})
	case end == "check-runs":
		fmt.Fprintf(w, `{"check_runs":[%s]}`, f.runs)
	case end == "check-suites":
		fmt.Fprintf(w, `{"check_suites":[%s]}`, f.suites)
	case path == "/branches/main":
		fmt.Fprintf(w, `{"name":"main","protected":true,"commit":{"sha":"m"},"protection":{"required_status_checks":{"contexts":[%s]}}}`, f.required)
	default:
		say(map[string]any{"full_name": "acme/app", "allow_merge_commit": true, "allow_squash_merge": true})
	}
}

func (f *forge) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// played runs an engine on GitHub as a forge answers for it, with the merge gate on for no repository.
func played(t *testing.T, f *forge, test func(*orchestratortest.Rig)) {
	t.Helper()
	c, err := github.New(github.Options{BaseURL: "http://host", Token: token, HTTPClient: &http.Client{Transport: f}})
	require.NoError(t, err)
	orchestratortest.Run(t, func(r *orchestratortest.Rig) {
		r.Projects[0].Protected.None = true
		var with effects.Deps
		r.Effects = func(d *effects.Deps) { d.Host = c; with = *d }
		r.Deps = func(d *orchestrator.Deps) { d.Host = c }
		r.Features = func() []orchestrator.Feature {
			projects, err := task.NewProjects(r.Projects...)
			require.NoError(r, err)
			gate, err := mergegate.New(mergegate.Options{
				Store: r.Store, Jobs: r.Store, Projects: projects, Spaces: r.Place, Leases: memlease.New(nil), Host: c, Merge: effects.Runners(with)[stage.EffectMerge], Off: true,
			})
			require.NoError(r, err)
			return []orchestrator.Feature{gate.Feature()}
		}
	}, func(r *orchestratortest.Rig) {
		r.Place.OnPush = func(_, branch, sha string) {
			if branch != "main" {
				f.set(func() { f.branch, f.head = branch, sha })
			}
		}
		test(r)
	})
}

// ciRun is a check run.
func ciRun(name, status, conclusion string) string {
	return fmt.Sprintf(`{"id":1,"name":%q,"status":%q,"conclusion":%q,"html_url":"https://github.example.org/runs/1","app":{"slug":"github-actions"}}`, name, status, conclusion)
}

// The runs of a card are six up to the merge: one for each role, the deployer for staging. The seventh
// deploys what was merged. Whatever GitHub refuses a merge with, no agent is run for it again.
func TestRefusedMergesRunNoAgent(t *testing.T) {
	t.Parallel()
	for words, standing := range map[string]string{
		"Waiting on code owner review from octocat.":                                                         "blocked",
		"Commits must have verified signatures.":                                                             "blocked",
		"A conversation must be resolved before this pull request can be merged.":                            "blocked",
		"You're not authorized to push to this branch. Visit https://docs.github.com/ for more information.": "blocked",
		"New changes require approval from someone other than the last pusher.":                              "blocked",
		"Required status check \"x\" is expected.":                                                           "blocked",
		"Required deployment to staging is expected.":                                                        "blocked",
		"Cannot change this locked branch":                                                                   "blocked",
		"At least 1 approving review is required by reviewers with write access.":                            "blocked",
		"Pull Request is still a draft":                                                                      "draft",
		"Head branch is out of date":                                                                         "behind",
		"Pull Request is not mergeable":                                                                      "dirty",
		"Base branch was modified. Review and try the merge again.":                                          "unknown",
	} {
		t.Run(words, func(t *testing.T) {
			t.Parallel()
			f := &forge{standing: standing, words: words, runs: ciRun("build", "completed", "success")}
			played(t, f, func(r *orchestratortest.Rig) {
				item := r.Card(orchestratortest.App, "x")
				r.ToDone(orchestratortest.App, item)
				r.Settle(10 * time.Minute)
				task := r.Task(item)
				require.Len(r, r.Roles(), 6, "18 is a bug")
				require.Equal(r, stage.Deploy, task.State.Stage)
				require.Zero(r, task.State.Retries)
				if standing != "unknown" {
					require.Equal(r, stage.HoldBlocked, task.State.Hold)
					require.Equal(r, stage.StatusBlocked, r.Status(orchestratortest.App, item))
					require.Contains(r, task.State.HoldReason, words)
					require.Contains(r, task.State.HoldReason, "https://github.example.org/acme/app/pull/1")
				}
				f.set(func() { f.words, f.standing = "", "clean" })
				if standing != "unknown" { // else it is tried by itself
					r.Move(orchestratortest.App, item, stage.StatusInProgress)
				}
				r.Settle(10 * time.Minute)
				require.Equal(r, stage.Done, r.Task(item).State.Stage, r.Comments(orchestratortest.App, item))
				require.Len(r, r.Roles(), 7)
			})
		})
	}
}

// A review at the host has a merge tried again that was refused.
func TestReviewEndsARefusal(t *testing.T) {
	t.Parallel()
	f := &forge{standing: "blocked", words: "Waiting on code owner review from octocat.", runs: ciRun("build", "completed", "success")}
	played(t, f, func(r *orchestratortest.Rig) {
		item := r.Card(orchestratortest.App, "x")
		r.ToDone(orchestratortest.App, item)
		f.set(func() { f.words, f.standing = "", "clean" })
		r.HostHook(githost.Hook{Kind: githost.HookReview, Repo: orchestratortest.AppRepo, Branch: r.Task(item).Branch, State: string(githost.ReviewApproved), Number: 1, Sender: "octocat"})
		r.Settle(time.Minute)
		require.Equal(r, stage.Done, r.Task(item).State.Stage)
		require.Len(r, r.Roles(), 7)
	})
}

// What CI concludes is the developer's, nobody's or a person's matter; only the developer's runs an
// agent again.
func TestVerdictsOfCI(t *testing.T) {
	t.Parallel()
	ok := ciRun("build", "completed", "success")
	type row struct {
		forge   *forge
		at      stage.Stage
		hold    stage.Hold
		runs    int
		says    string
		retries int
	}
	person := func(f *forge, says string) row { return row{f, stage.Development, stage.HoldBlocked, 3, says, 0} }
	rows := map[string]row{
		"success":           {&forge{runs: ok}, stage.Done, "", 7, "", 0},
		"neutral":           {&forge{runs: ciRun("build", "completed", "neutral")}, stage.Done, "", 7, "", 0},
		"skipped":           {&forge{runs: ciRun("build", "completed", "skipped")}, stage.Done, "", 7, "", 0},
		"queued":            {&forge{runs: ciRun("build", "queued", "")}, stage.Development, "", 3, "", 0},
		"waiting":           {&forge{runs: ciRun("build", "waiting", "")}, stage.Development, "", 3, "", 0},
		"failure":           {&forge{runs: ciRun("build", "completed", "failure")}, stage.Development, stage.HoldBlocked, 6, "out of retries", 3},
		"timed_out":         {&forge{runs: ciRun("build", "completed", "timed_out")}, stage.Development, stage.HoldBlocked, 6, "out of retries", 3},
		"action_required":   person(&forge{runs: ok + "," + ciRun("cla", "completed", "action_required")}, "cla held: action_required (https://github.example.org/runs/1)"),
		"startup_failure":   person(&forge{runs: ciRun("build", "completed", "startup_failure")}, "startup_failure"),
		"cancelled":         person(&forge{runs: ciRun("build", "completed", "cancelled")}, "have it run again at the git host: build cancelled"),
		"stale":             person(&forge{runs: ciRun("build", "completed", "stale")}, "stale"),
		"awaiting approval": person(&forge{suites: `{"id":1,"status":"completed","conclusion":"action_required","app":{"slug":"github-actions","name":"GitHub Actions"}}`}, "waits for a person at the git host: GitHub Actions held"),
		"none at all":       person(&forge{}, "no CI is configured"),
		"optional red":      {&forge{runs: ok + "," + ciRun("codecov/project", "completed", "failure"), required: `"build"`}, stage.Done, "", 7, "", 0},
	}
	require.Len(t, rows, 14)
	for name, c := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := c.forge
			f.standing = "clean"
			played(t, f, func(r *orchestratortest.Rig) {
				if f.runs+f.suites == "" {
					r.Place.SetScript(orchestratortest.Instead(stage.Developer, func(ctx context.Context, cmd work.Command, files map[string]string) work.Result {
						delete(files, ".github/workflows/ci.yml")
						return orchestratortest.GoodAgent(ctx, cmd, files)
					}))
				}
				item := r.Card(orchestratortest.App, "x")
				r.ToDone(orchestratortest.App, item)
				r.Settle(10 * time.Minute)
				task := r.Task(item)
				require.Equal(r, c.at, task.State.Stage, task.State.HoldReason)
				require.Equal(r, c.hold, task.State.Hold)
				require.Equal(r, c.retries, task.State.Retries)
				require.Contains(r, task.State.HoldReason, c.says)
				require.Len(r, r.Roles(), c.runs)
				if !task.State.Outside {
					return
				}
				said := len(r.Comments(orchestratortest.App, item))
				hook := githost.Hook{Kind: githost.HookCI, Repo: orchestratortest.AppRepo, Branch: task.Branch, SHA: task.State.Head}
				r.HostHook(hook)
				r.Settle(time.Minute)
				require.Len(r, r.Comments(orchestratortest.App, item), said, "people are told once")
				r.Move(orchestratortest.App, item, stage.StatusInProgress)
				r.Settle(time.Minute)
				require.Equal(r, stage.StatusBlocked, r.Status(orchestratortest.App, item), "it was looked at again")
				f.set(func() { f.runs, f.suites = ok, "" })
				r.HostHook(hook)
				r.Settle(5 * time.Minute)
				require.Equal(r, stage.Done, r.Task(item).State.Stage)
				require.Len(r, r.Roles(), 7)
				r.Replays()
			})
		})
	}
}

// A pull request that a person closes holds its task at once, and no other is opened; a close by the
// service's own account, and one that the host does not show, hold nothing.
func TestClosedPullRequest(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		who   string
		open  bool
		holds bool
	}{"a person": {"ann", false, true}, "own": {"box", false, false}, "only said": {"ann", true, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &forge{standing: "clean", runs: ciRun("build", "completed", "success")}
			played(t, f, func(r *orchestratortest.Rig) {
				r.Place.SetScript(orchestratortest.Instead(stage.Tester, orchestratortest.Hang))
				item := r.Card(orchestratortest.App, "x")
				r.ToDone(orchestratortest.App, item)
				require.Equal(r, stage.Testing, r.Task(item).State.Stage)
				f.set(func() { f.open = c.open })
				hook := githost.Hook{Kind: githost.HookPullRequest, Event: "pull_request", Action: "closed", Repo: orchestratortest.AppRepo, Branch: r.Task(item).Branch, Number: 1, Sender: c.who, State: "closed"}
				r.HostHook(hook)
				r.HostHook(hook)
				r.Settle(time.Minute)
				held := r.Task(item)
				require.Equal(r, c.holds, held.State.Hold == stage.HoldNeedsInput)
				require.Equal(r, c.holds, held.State.Active == "")
				if !c.holds {
					return
				}
				require.Equal(r, stage.StatusNeedsInput, r.Status(orchestratortest.App, item))
				require.Contains(r, held.State.HoldReason, "ann closed pull request 1 (https://github.example.org/acme/app/pull/1): reopen it and set In Progress, or STOP")
				require.Contains(r, r.Notices(), "ann closed pull request 1")
				r.Settle(24 * time.Hour)
				require.Equal(r, held.State.Seq, r.Task(item).State.Seq, "nothing goes on")
				r.Place.SetScript(orchestratortest.GoodAgent)
				f.set(func() { f.open = true })
				r.Move(orchestratortest.App, item, stage.StatusInProgress)
				r.Settle(5 * time.Minute)
				require.Equal(r, stage.Done, r.Task(item).State.Stage)
				require.Equal(r, 1, f.number, "no second pull request")
				r.Replays()
			})
		})
	}
}

// A merge of a pull request that is closed is refused, and no other is opened for it.
func TestMergeOfAClosedPullRequest(t *testing.T) {
	t.Parallel()
	f := &forge{standing: "clean", runs: ciRun("build", "completed", "success")}
	played(t, f, func(r *orchestratortest.Rig) {
		r.Place.SetScript(func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			if c.Role == stage.Tester { // and its webhook is lost
				f.set(func() { f.open, f.standing, f.words = false, "unknown", "Pull Request is not mergeable" })
			}
			return orchestratortest.GoodAgent(ctx, c, files)
		})
		item := r.Card(orchestratortest.App, "x")
		r.ToDone(orchestratortest.App, item)
		r.Settle(10 * time.Minute)
		require.Equal(r, stage.HoldBlocked, r.Task(item).State.Hold)
		require.Contains(r, r.Task(item).State.HoldReason, "the pull request is closed")
		require.Len(r, r.Roles(), 6)
		require.Equal(r, 1, f.number, "no second pull request")
	})
}

// The double refuses, closes and reopens as GitHub does.
func TestMergeOfWhatIsClosed(t *testing.T) {
	t.Parallel()
	k := setup(t, forgetest.Options{})
	head := k.commit("feature/a")
	pr, err := k.client.OpenPullRequest(t.Context(), githost.NewPullRequest{Repo: repo, Head: "feature/a", Base: "main", Title: "T"})
	require.NoError(t, err)
	m := githost.Merge{Repo: repo, Number: pr.Number, HeadSHA: head, Title: "T"}
	k.server.SetOpen(repo, "feature/a", "ann", false)
	_, err = k.client.Merge(t.Context(), m)
	require.ErrorIs(t, err, githost.ErrDenied)
	require.ErrorContains(t, err, "the pull request is closed")
	k.server.SetOpen(repo, "feature/a", "ann", true)
	for standing, is := range map[string]error{"blocked": githost.ErrDenied, "draft": githost.ErrDenied, "behind": githost.ErrBehind, "dirty": githost.ErrNotMergeable} {
		k.server.SetSettings(repo, func(s *forgetest.Settings) { s.Standing, s.Refusal = standing, "in GitHub's words" })
		_, err = k.client.Merge(t.Context(), m)
		require.ErrorIs(t, err, is, standing)
		require.ErrorContains(t, err, "in GitHub's words")
		require.False(t, fault.Retryable(err))
	}
	k.server.SetSettings(repo, func(s *forgetest.Settings) { s.Standing = "unknown" })
	_, err = k.client.Merge(t.Context(), m)
	require.True(t, fault.Retryable(err))
	k.server.SetSettings(repo, func(s *forgetest.Settings) { s.Standing, s.Refusal = "", "" })
	_, err = k.client.Merge(t.Context(), m)
	require.NoError(t, err)
}
