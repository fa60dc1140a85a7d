package github_test

import (
	"cmp"
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
	"github.com/signalbox-dev/signalbox/internal/forgetest/forgekit"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/effects"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/features/mergegate"
	"github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
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
	base            string // of the pull request; empty = main
	approvals       int    // that the protection of main demands
	merges, reruns  int
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
		"head": map[string]any{"ref": f.branch, "sha": f.head, "repo": map[string]any{"full_name": "acme/app"}}, "base": map[string]any{"ref": cmp.Or(f.base, "main")},
	}
}

func (f *forge) answer(w http.ResponseWriter, r *http.Request) {
	say := func(v any) { _ = json.NewEncoder(w).Encode(v) }
	path := strings.TrimPrefix(r.URL.Path, "/repos/acme/app")
	if path == "/graphql" {
		say(map[string]any{"data": map[string]any{"repository": map[string]any{"mergeQueue": nil}}})
		return
	}
	if r.Method == http.MethodPost && path != "/pulls" {
		f.reruns++
		w.WriteHeader(http.StatusCreated)
		return
	}
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
	case end == "branches-where-head":
		say([]any{map[string]any{"name": f.branch}})
	case end == "reviews", strings.HasPrefix(path, "/rules/branches/"):
		say([]any{})
	case strings.HasPrefix(path, "/pulls/"):
		say(f.pull())
	case end == "statuses":
		say([]any{})
	case end == "check-runs":
		fmt.Fprintf(w, `{"check_runs":[%s]}`, f.runs)
	case end == "check-suites":
		fmt.Fprintf(w, `{"check_suites":[%s]}`, f.suites)
	case end == "required_pull_request_reviews":
		say(map[string]any{"required_approving_review_count": f.approvals})
	case strings.HasPrefix(path, "/branches/"):
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
			gate, err := mergegate.New(mergegate.Options{Parts: r.Parts(c), Leases: memlease.New(nil), Merge: effects.Runners(with)[stage.EffectMerge], Off: true})
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
		reruns  int
	}
	person := func(f *forge, says string, reruns int) row {
		return row{f, stage.Development, stage.HoldBlocked, 3, says, 0, reruns}
	}
	rows := map[string]row{
		"success":           {&forge{runs: ok}, stage.Done, "", 7, "", 0, 0},
		"neutral":           {&forge{runs: ciRun("build", "completed", "neutral")}, stage.Done, "", 7, "", 0, 0},
		"skipped":           {&forge{runs: ciRun("build", "completed", "skipped")}, stage.Done, "", 7, "", 0, 0},
		"pending":           {&forge{runs: ciRun("build", "in_progress", "")}, stage.Development, "", 3, "", 0, 0},
		"expected":          {&forge{runs: ok, required: `"build","e2e"`}, stage.Development, "", 3, "", 0, 0},
		"queued":            {&forge{runs: ciRun("build", "queued", "")}, stage.Development, "", 3, "", 0, 0},
		"waiting":           {&forge{runs: ciRun("build", "waiting", "")}, stage.Development, "", 3, "", 0, 0},
		"failure":           {&forge{runs: ciRun("build", "completed", "failure")}, stage.Development, stage.HoldBlocked, 6, "out of retries", 3, 0},
		"timed_out":         {&forge{runs: ciRun("build", "completed", "timed_out")}, stage.Development, stage.HoldBlocked, 6, "out of retries", 3, 4},
		"action_required":   person(&forge{runs: ok + "," + ciRun("cla", "completed", "action_required")}, "cla held by app/github-actions: action_required (https://github.example.org/runs/1)", 0),
		"startup_failure":   person(&forge{runs: ciRun("build", "completed", "startup_failure")}, "startup_failure", 1),
		"cancelled":         person(&forge{runs: ciRun("build", "completed", "cancelled")}, "have it run again at the git host: build cancelled", 1),
		"stale":             person(&forge{runs: ciRun("build", "completed", "stale")}, "stale", 1),
		"awaiting approval": person(&forge{suites: `{"id":1,"status":"completed","conclusion":"action_required","app":{"slug":"github-actions","name":"GitHub Actions"}}`}, "waits for a person at the git host: GitHub Actions held", 0),
		"none at all":       person(&forge{}, "no CI is configured", 0),
		"optional red":      {&forge{runs: ok + "," + ciRun("codecov/project", "completed", "failure"), required: `"build"`}, stage.Done, "", 7, "", 0, 0},
	}
	require.Len(t, rows, 16)
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
				r.Settle(20 * time.Minute)
				task := r.Task(item)
				require.Equal(r, c.at, task.State.Stage, task.State.HoldReason)
				require.Equal(r, c.hold, task.State.Hold)
				require.Equal(r, c.retries, task.State.Retries)
				require.Contains(r, task.State.HoldReason, c.says)
				require.Len(r, r.Roles(), c.runs)
				require.Equal(r, c.reruns, f.reruns, "once for each commit")
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

// A check that is run again and passes then costs nobody anything.
func TestRunAgainAndGreen(t *testing.T) {
	t.Parallel()
	for _, conclusion := range []string{"timed_out", "cancelled", "stale", "startup_failure"} {
		f := &forge{standing: "clean", runs: ciRun("build", "completed", conclusion)}
		played(t, f, func(r *orchestratortest.Rig) {
			item := r.Card(orchestratortest.App, "x")
			r.ToDone(orchestratortest.App, item)
			r.Settle(2 * time.Minute)
			require.Equal(r, 1, f.reruns, conclusion)
			require.Equal(r, stage.HoldNone, r.Task(item).State.Hold)
			f.set(func() { f.runs = ciRun("build", "in_progress", "") })
			r.Settle(10 * time.Minute)
			require.Equal(r, stage.HoldNone, r.Task(item).State.Hold)
			f.set(func() { f.runs = ciRun("build", "completed", "success") })
			r.Settle(10 * time.Minute)
			require.Equal(r, stage.Done, r.Task(item).State.Stage)
			require.Len(r, r.Roles(), 7)
			require.Equal(r, 1, f.reruns)
			r.Replays()
		})
	}
}

// What a person does to a pull request holds its task within seconds of the webhook, and without one before the next agent; undone, the
// task goes on by itself. No agent is run for it again, and no other pull request is opened.
func TestPullRequestThatPeopleChange(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		to, back func(*forge)
		action   string
		says, do string
	}{
		"closed": {func(f *forge) { f.open = false }, func(f *forge) { f.open = true }, "closed", "is closed", "reopen it"},
		"draft":  {func(f *forge) { f.standing = "draft" }, func(f *forge) { f.standing = "clean" }, "converted_to_draft", "is a draft", "mark it ready for review"},
		"retargeted": {
			func(f *forge) { f.base = "release" }, func(f *forge) { f.base = "main" }, "edited", "goes into release, and not into main", "set its base back",
		},
	} {
		for _, hooked := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, hooked %t", name, hooked), func(t *testing.T) {
				t.Parallel()
				f := &forge{standing: "clean", runs: ciRun("build", "completed", "success")}
				played(t, f, func(r *orchestratortest.Rig) {
					changed := make(chan struct{})
					r.Place.SetScript(func(ctx context.Context, cmd work.Command, files map[string]string) work.Result {
						if cmd.Role == stage.Tester {
							<-changed
						}
						return orchestratortest.GoodAgent(ctx, cmd, files)
					})
					item := r.Card(orchestratortest.App, "x")
					r.ToDone(orchestratortest.App, item)
					require.Equal(r, stage.Testing, r.Task(item).State.Stage)
					hook := githost.Hook{Kind: githost.HookPullRequest, Event: "pull_request", Action: c.action, Repo: orchestratortest.AppRepo, Branch: r.Task(item).Branch, Number: 1, Sender: "ann"}
					f.set(func() { c.to(f) })
					if hooked {
						r.HostHook(hook)
						r.HostHook(hook)
						r.Settle(10 * time.Second)
					} else {
						close(changed)
						r.Settle(time.Minute)
					}
					why := r.Explain(item)
					require.Contains(r, why.Summary, "Held: pull request 1 (https://github.example.org/acme/app/pull/1) "+c.says)
					require.Contains(r, strings.ToLower(why.Blockers[0].Do), c.do+", and the task goes on by itself; set stop")
					require.Equal(r, 1, strings.Count(r.Notices(), c.says), "told once")
					if hooked {
						require.Contains(r, r.Notices(), ", by ann")
						close(changed)
					}
					r.Settle(24 * time.Hour)
					require.Equal(r, stage.DeployStaging, r.Task(item).State.Stage, "what the tester had begun is taken in")
					require.Len(r, r.Roles(), 5)
					f.set(func() { c.back(f) })
					if hooked {
						r.HostHook(githost.Hook{Kind: githost.HookPullRequest, Event: "pull_request", Action: map[string]string{"closed": "reopened", "draft": "ready_for_review"}[name], Repo: orchestratortest.AppRepo, Branch: r.Task(item).Branch, Number: 1, Sender: "ann"})
						r.HostHook(hook)
						r.Settle(5 * time.Minute)
						require.Equal(r, stage.Done, r.Task(item).State.Stage)
						require.Len(r, r.Roles(), 7)
					}
					require.Equal(r, 1, f.number, "no second pull request")
					r.Replays()
				})
			})
		}
	}
}

// Approvals that are missing are waited for before the merge is tried; the review ends that.
func TestApprovalsAreWaitedFor(t *testing.T) {
	t.Parallel()
	f := &forge{standing: "blocked", words: "At least 1 approving review is required by reviewers with write access.", approvals: 1, runs: ciRun("build", "completed", "success")}
	played(t, f, func(r *orchestratortest.Rig) {
		item := r.Card(orchestratortest.App, "x")
		r.ToDone(orchestratortest.App, item)
		r.Settle(10 * time.Minute)
		const waits = "pull request 1 (https://github.example.org/acme/app/pull/1) waits for 1 approval by somebody with write access"
		require.Equal(r, stage.HoldNone, r.Task(item).State.Hold)
		require.Equal(r, "Held: "+waits+".", r.Explain(item).Summary)
		require.Len(r, r.Explain(item).Blockers, 1, "the merge that waits for it says the same")
		require.Contains(r, r.Notices(), waits)
		require.Zero(r, f.merges, "no merge is tried")
		hook := githost.Hook{Kind: githost.HookReview, Repo: orchestratortest.AppRepo, Branch: r.Task(item).Branch, State: string(githost.ReviewApproved), Number: 1, Sender: "octocat"}
		r.HostHook(hook)
		r.Settle(time.Minute)
		require.Zero(r, f.merges, "it is not there yet")
		f.set(func() { f.words, f.standing = "", "clean" })
		r.HostHook(hook)
		r.Settle(time.Minute)
		require.Equal(r, stage.Done, r.Task(item).State.Stage)
		require.Len(r, r.Roles(), 7)
		require.Equal(r, 1, f.merges)
	})
}

// The double refuses, closes and reopens as GitHub does.
func TestMergeOfWhatIsClosed(t *testing.T) {
	t.Parallel()
	k := setup(t, forgetest.Options{})
	m := forgekit.Closed(k.Kit)
	for standing, is := range map[string]error{"blocked": githost.ErrDenied, "draft": githost.ErrDenied, "behind": githost.ErrBehind, "dirty": githost.ErrNotMergeable} {
		k.Server.SetSettings(repo, func(s *forgetest.Settings) { s.Standing, s.Refusal = standing, "in GitHub's words" })
		_, err := k.client.Merge(t.Context(), m)
		require.ErrorIs(t, err, is, standing)
		require.ErrorContains(t, err, "in GitHub's words")
		require.False(t, fault.Retryable(err))
	}
	k.Server.SetSettings(repo, func(s *forgetest.Settings) { s.Standing = "unknown" })
	_, err := k.client.Merge(t.Context(), m)
	require.True(t, fault.Retryable(err))
	k.Server.SetSettings(repo, func(s *forgetest.Settings) { s.Standing, s.Refusal = "", "" })
	_, err = k.client.Merge(t.Context(), m)
	require.NoError(t, err)
}
