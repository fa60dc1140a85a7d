package orchestrator_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features/reconcile"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// atWork has something happen once, while the agent of a role is at work, which takes a minute more.
func atWork(role stage.Role, what func()) func(context.Context, work.Command, map[string]string) work.Result {
	var once sync.Once
	return func(ctx context.Context, c work.Command, files map[string]string) work.Result {
		if c.Role == role {
			once.Do(func() {
				time.Sleep(time.Second) // what was owed before is done
				what()
				select {
				case <-ctx.Done():
				case <-time.After(time.Minute):
				}
			})
		}
		if ctx.Err() != nil {
			return work.Result{Kind: work.ResultCancelled}
		}
		return GoodAgent(ctx, c, files)
	}
}

// theirs has the files of a person's commit.
var theirs = map[string]string{"theirs.go": "package theirs"}

// adopted asserts that a card is done with the commit of a person, after so many runs.
func adopted(r *Rig, item, sha string, runs int) {
	r.Helper()
	t := r.Task(item)
	require.Equal(r, stage.Done, t.State.Stage, r.Comments(App, item))
	require.True(r, r.Place.Contains(t.State.Head, sha), "the person's commit is in what was merged")
	require.Len(r, r.Roles(), runs, r.Roles())
	require.Zero(r, t.State.Retries)
	require.Empty(r, t.State.Adopted, "later runs may make the branch anew")
	said := 0
	for _, c := range r.Comments(App, item) {
		said += strings.Count(c, ": 1 commit, up to "+sha[:12])
	}
	require.Equal(r, 1, said, "it is told once: %s", r.Comments(App, item))
	r.Replays()
}

func journal(r *Rig, item string) []task.JournalEntry {
	r.Helper()
	list := read(r, r.Store.Journal, r.Task(item).ID)
	return list
}

// A person's commit on the branch is taken in at whatever stage, and costs the runs that judge it again alone. A
// card without one has seven.
func TestPeoplesCommitsAreTakenIn(t *testing.T) {
	for role, runs := range map[stage.Role]int{
		stage.Analyst: 7, stage.Architect: 7, stage.Developer: 7, stage.Reviewer: 8, stage.Tester: 9, stage.Deployer: 10,
	} {
		for _, heard := range []bool{true, false} {
			name := string(role) + map[bool]string{true: " heard", false: " unheard"}[heard]
			t.Run(name, func(t *testing.T) {
				Run(t, nil, func(r *Rig) {
					item, sha := r.Card(App, "x"), ""
					r.Place.SetScript(atWork(role, func() {
						if sha = r.PushUnheard(item, "", theirs); heard {
							r.HostHook(githost.Hook{Kind: githost.HookPush, Repo: AppRepo, Branch: r.Task(item).Branch, SHA: sha, Sender: "ann"})
						}
					}))
					r.Set(item, stage.StatusToAnalyse)
					r.Settle(2 * time.Minute)
					r.Set(item, stage.StatusApproved)
					r.Settle(10 * time.Minute)
					adopted(r, item, sha, runs)
				})
			})
		}
	}
}

// Nobody is at work: the next run begins from there, and none is made in vain.
func TestPushedBetweenRuns(t *testing.T) {
	for name, c := range map[string]struct {
		at   func(*Rig, string)
		runs int
	}{
		"while the requirements are read": {func(r *Rig, item string) { r.PushByHand(item, theirs) }, 7},
		"unheard":                         {func(r *Rig, item string) { r.PushUnheard(item, "", theirs) }, 7},
	} {
		t.Run(name, func(t *testing.T) {
			Run(t, nil, func(r *Rig) {
				item := r.Begin("x")
				r.Settle(10 * time.Second)
				c.at(r, item)
				r.Settle(10 * time.Second)
				sha := r.Place.Remote(AppRepo, r.Task(item).Branch)
				r.Set(item, stage.StatusApproved)
				r.Settle(5 * time.Minute)
				adopted(r, item, sha, c.runs)
			})
		})
	}
}

// A merge that is held, or waits in line, is never tried once a person has pushed: at once where that is heard of, and else
// before it takes its right.
func TestPushedWhileAMergeIsHeld(t *testing.T) {
	for _, heard := range []bool{true, false} {
		t.Run(map[bool]string{true: "heard", false: "unheard"}[heard], func(t *testing.T) {
			Run(t, nil, func(r *Rig) {
				waits := githost.Readiness{Standing: githost.StandingBlocked, Required: 1}
				set := func(item string, is githost.Readiness) {
					r.Host.ChangePull(AppRepo, r.Task(item).Branch, func(p *githost.PullRequest) { p.Readiness = is })
				}
				item := r.Card(App, "x")
				r.Place.SetScript(atWork(stage.Tester, func() { set(item, waits) }))
				r.ToDone(App, item)
				r.Settle(5 * time.Minute)
				require.Equal(r, stage.PhaseMerge, r.Task(item).State.Phase)
				require.Contains(r, r.Explain(item).Summary, "waits for 1 approval")
				require.Len(r, r.Roles(), 6)

				sha := r.PushUnheard(item, "", theirs)
				push := githost.Hook{Kind: githost.HookPush, Repo: AppRepo, Branch: r.Task(item).Branch, SHA: sha, Sender: "ann"}
				if heard {
					r.HostHook(push)
					r.Settle(4 * time.Minute)
					require.Len(r, r.Roles(), 9, "it is judged again, and waits again")
					require.Contains(r, r.Explain(item).Summary, "waits for 1 approval")
				}
				set(item, githost.Readiness{})
				push.Kind, push.State, push.Sender = githost.HookReview, string(githost.ReviewApproved), "kim"
				r.HostHook(push)
				r.Settle(2 * time.Second)
				if !heard {
					require.NotEqual(r, stage.Deploy, r.Task(item).State.Stage, "no merge was tried")
				}
				r.Settle(5 * time.Minute)
				adopted(r, item, sha, 10)
			})
		})
	}
}

// A card that is out of retries goes on by what a person has pushed, without a word and without a run.
func TestAPersonMendsABlockedCard(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		r.SetCI(githost.CheckFailed)
		item := r.Finish("x")
		r.Settle(10 * time.Minute)
		r.Waits(item, stage.HoldBlocked)
		runs := len(r.Roles())
		r.SetCI(githost.CheckPassed)
		sha := r.PushByHand(item, theirs)
		r.Settle(5 * time.Minute)
		require.Equal(r, stage.Done, r.Task(item).State.Stage, r.Comments(App, item))
		require.True(r, r.Place.Contains(r.Task(item).State.Head, sha))
		require.Len(r, r.Roles(), runs+4)
	})
}

// Commits that conflict with what a person has pushed meanwhile are kept; the agent works again from there, which
// counts as no failure.
func TestConflictWithAPersonsCommit(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		item, sha := r.Card(App, "x"), ""
		mine := map[string]string{"src/APP-1.go": "package x // by hand"}
		r.Place.SetScript(atWork(stage.Developer, func() { sha = r.PushByHand(item, mine) }))
		r.ToDone(App, item)
		r.Settle(5 * time.Minute)
		adopted(r, item, sha, 8)
		require.Zero(r, r.Task(item).State.Failures)
		said := strings.Join(r.Comments(App, item), "\n")
		require.Contains(r, said, "the commits of agents conflict with what others have pushed in src/APP-1.go; "+
			"they are kept as refs/signalbox/left/APP-1/1")
		left := 0
		for _, entry := range journal(r, item) {
			if _, err := entry.Left(); err == nil {
				left++
			}
		}
		require.Equal(r, 1, left)
		for _, c := range r.Place.Runs() {
			if c.Run == 4 {
				require.Contains(r, c.Prompt, "conflict with what others have pushed in src/APP-1.go")
			}
		}
	})
}

// Questions reach people where the commits of their run conflict, too, and the run after the answers is told of that.
func TestQuestionsBesideAConflict(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		item := r.Card(App, "x")
		run := atWork(stage.Developer, func() { r.PushByHand(item, map[string]string{"src/APP-1.go": "package x // by hand"}) })
		r.Place.SetScript(func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			if c.Role == stage.Developer && c.Run == 3 {
				files[c.Env["SIGNALBOX_DOCS"]+"/"+stage.QuestionsFile] = "which zoom?"
			}
			return run(ctx, c, files)
		})
		r.Set(item, stage.StatusToAnalyse)
		r.Settle(time.Minute)
		r.Set(item, stage.StatusApproved)
		r.Settle(5 * time.Minute)
		r.Waits(item, stage.HoldNeedsInput)
		require.Contains(r, strings.Join(r.Comments(App, item), "\n"), "which zoom?")
		r.Set(item, stage.StatusInProgress)
		r.Settle(5 * time.Minute)
		r.Stands(item, stage.Done)
		for _, c := range r.Place.Runs() {
			if c.Run == 4 {
				require.Contains(r, c.Prompt, "conflict with what others have pushed in src/APP-1.go")
			}
		}
		r.Replays()
	})
}

// What a person changes at a protected path needs a person's word, as a branch's change does.
func TestPushedProtectedPath(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		item, sha := r.Card(App, "x"), ""
		r.Place.SetScript(atWork(stage.Tester, func() {
			sha = r.PushByHand(item, map[string]string{".github/workflows/ci.yml": "on: [push, pull_request]\n"})
		}))
		r.ToDone(App, item)
		r.Settle(5 * time.Minute)
		t := r.Task(item)
		require.Equal(r, []any{stage.Development, stage.HoldApproval}, []any{t.State.Stage, t.State.Hold})
		require.Contains(r, t.State.HoldReason, ".github/workflows/ci.yml")
		r.Set(item, stage.StatusApproved)
		r.Settle(5 * time.Minute)
		adopted(r, item, sha, 9)
	})
}

// A branch that was set elsewhere stops the next run before it starts; the card goes on by itself when the commits
// are pushed again on top of what the service has left.
func TestForcedPush(t *testing.T) {
	for _, files := range []map[string]string{theirs, nil} { // nil: it is set back, and has less
		Run(t, nil, func(r *Rig) {
			item := r.Card(App, "x")
			r.Place.SetScript(atWork(stage.Reviewer, func() { r.PushUnheard(item, r.Place.Runs()[2].Env["SIGNALBOX_SHA"], files) }))
			r.ToDone(App, item)
			r.Settle(5 * time.Minute)
			blocked := r.Task(item)
			require.Equal(r, stage.HoldBlocked, blocked.State.Hold)
			require.Contains(r, blocked.State.HoldReason, "on top of "+blocked.State.Pushed[:12])
			require.Len(r, r.Roles(), 4, "no tester is run for it")
			sha := r.PushUnheard(item, blocked.State.Pushed, theirs)
			r.HostHook(githost.Hook{
				Kind: githost.HookPush, Action: "synchronize", Repo: AppRepo, Branch: blocked.Branch,
				Number: blocked.State.PR, SHA: sha, Sender: "ann",
			})
			r.Settle(5 * time.Minute)
			adopted(r, item, sha, 8)
		})
	}
}

// A branch that was deleted stops the next run too; In Progress makes it anew.
func TestDeletedBranchBeforeARun(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		item := r.Card(App, "x")
		r.Place.SetScript(atWork(stage.Developer, func() { r.Place.SetRemote(AppRepo, r.Task(item).Branch, "") }))
		r.ToDone(App, item)
		r.Settle(5 * time.Minute)
		r.Waits(item, stage.HoldBlocked)
		require.Contains(r, r.Task(item).State.HoldReason, "was deleted")
		require.Len(r, r.Roles(), 3)
		r.Set(item, stage.StatusInProgress)
		r.Settle(5 * time.Minute)
		r.Stands(item, stage.Done)
	})
}

// The reconciler sees what no webhook has told of, and raises it once.
func TestUnheardPushIsReconciled(t *testing.T) {
	reconciled(t, func(r *Rig, _ *reconcile.Reconciler) {
		r.SetCI("")
		item := r.Finish("x")
		r.Settle(time.Minute)
		r.Stands(item, stage.Development)
		sha := r.PushUnheard(item, "", theirs)
		r.Settle(7 * time.Minute)
		require.Equal(r, sha, r.Task(item).State.Head)
		require.Equal(r, sha, r.Task(item).State.Pushed)

		r.PushUnheard(item, r.Place.Runs()[1].Env["SIGNALBOX_SHA"], theirs)
		r.Settle(7 * time.Minute)
		before := r.Task(item).State
		r.Settle(10 * time.Minute)
		require.Equal(r, before, r.Task(item).State, "what cannot be taken in is left to the next push of the service")
	})
}

// Workspaces that cannot take in anything leave it to people, as ever.
func TestWithoutAnAdopter(t *testing.T) {
	Run(t, func(r *Rig) {
		r.Deps = func(d *orchestrator.Deps) { d.Workspaces = struct{ orchestrator.Workspaces }{r.Place} }
	}, func(r *Rig) {
		item := r.Begin("x")
		r.Settle(10 * time.Second)
		r.PushByHand(item, theirs)
		r.Set(item, stage.StatusApproved)
		r.Settle(5 * time.Minute)
		require.Contains(r, r.Task(item).State.HoldReason, "set it back (git push --force-with-lease origin")
	})
}
