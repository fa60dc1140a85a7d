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
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/effects"
	"github.com/signalbox-dev/signalbox/orchestrator/features/mergegate"
	"github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/queue/lease/memlease"
)

// forge answers as GitHub does for one repository, without git and without a network.
type forge struct {
	mu           sync.Mutex
	branch, head string
	closedAt     string // head of the pull request that is closed: it follows the branch no more
	number       int    // of the newest pull request; 0 = there is none
	open, merged bool
	standing     string // mergeable_state
	base         string // of the pull request; empty = main
	merges       int
}

// landedSHA names the commit that a merge makes.
const landedSHA = "1234567890123456789012345678901234567890"

// RoundTrip implements http.RoundTripper.
func (f *forge) RoundTrip(r *http.Request) (*http.Response, error) {
	time.Sleep(time.Millisecond)
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
		"head": map[string]any{"ref": f.branch, "sha": cmp.Or(f.closedAt, f.head), "repo": map[string]any{"full_name": "acme/app"}}, "base": map[string]any{"ref": cmp.Or(f.base, "main")},
	}
}

func (f *forge) answer(w http.ResponseWriter, r *http.Request) {
	say := func(v any) { _ = json.NewEncoder(w).Encode(v) }
	path := strings.TrimPrefix(r.URL.Path, "/repos/acme/app")
	if path == "/graphql" {
		say(map[string]any{"data": map[string]any{"repository": map[string]any{"mergeQueue": nil}}})
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
	case end == "merge":
		f.merges, f.open, f.merged = f.merges+1, false, true
		say(map[string]any{"sha": landedSHA, "merged": true})
	case end == "branches-where-head" && strings.Contains(path, f.head):
		say([]any{map[string]any{"name": f.branch}})
	case end == "branches-where-head":
		say([]any{})
	case end == "reviews", end == "statuses", strings.HasPrefix(path, "/rules/branches/"):
		say([]any{})
	case strings.HasPrefix(path, "/pulls/"):
		say(f.pull())
	case end == "check-runs":
		const green = `{"id":1,"name":"build","status":"completed","conclusion":"success","app":{"slug":"github-actions"}}`
		fmt.Fprintf(w, `{"check_runs":[%s]}`, green)
	case end == "check-suites":
		fmt.Fprint(w, `{"check_suites":[]}`)
	case strings.HasPrefix(path, "/branches/"):
		fmt.Fprint(w, `{"name":"main","commit":{"sha":"m"}}`)
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
	c := client(t, github.Options{BaseURL: "http://host", HTTPClient: &http.Client{Transport: f}})
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
				time.Sleep(100 * time.Millisecond) // it is recorded later than it is read
			}
		}
		test(r)
	})
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
		"closed": {
			func(f *forge) { f.open = false }, func(f *forge) { f.open = true }, "closed", "is closed", "reopen it",
		},
		"closed, then pushed to": {
			func(f *forge) { f.open, f.closedAt = false, landedSHA }, func(f *forge) { f.open, f.closedAt = true, "" }, "closed", "is closed", "reopen it",
		},
		"draft": {func(f *forge) { f.standing = "draft" }, func(f *forge) { f.standing = "clean" }, "converted_to_draft", "is a draft", "mark it ready for review"},
		"retargeted": {
			func(f *forge) { f.base = "release" }, func(f *forge) { f.base = "main" }, "edited", "goes into release, and not into main", "set its base back, or open another",
		},
	} {
		for _, hooked := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, hooked %t", name, hooked), func(t *testing.T) {
				t.Parallel()
				f := &forge{standing: "clean"}
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
					r.Stands(item, stage.Testing)
					hook := githost.Hook{Kind: githost.HookPullRequest, Event: "pull_request", Action: c.action, Repo: orchestratortest.AppRepo, Branch: r.Task(item).Branch, Number: 1, Sender: "ann"}
					undone := hook
					undone.Action = map[string]string{"closed": "reopened", "converted_to_draft": "ready_for_review"}[c.action]
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
					require.Contains(r, strings.ToLower(why.Blockers[0].Do), c.do+", and the task goes on by itself, once the webhook of that has come; set stop")
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
						r.HostHook(undone)
						r.HostHook(hook)
						r.Settle(5 * time.Minute)
						r.Stands(item, stage.Done)
						require.Len(r, r.Roles(), 7)
					}
					require.Equal(r, 1, f.number, "no second pull request")
					r.Replays()
				})
			})
		}
	}
}
