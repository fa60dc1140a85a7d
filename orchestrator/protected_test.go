package orchestrator_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator/features/reconcile"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

const workflow = ".github/workflows/ci.yml"

// meddler is a developer that changes the workflow of a run to the text that differs returns.
func meddler(differs func(run int64) string) memwork.Script {
	return Instead(stage.Developer, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
		res := GoodAgent(ctx, c, files)
		files[workflow] = differs(c.Run)
		return res
	})
}

func same(int64) string { return "on: never" }

// toWord takes a card to where a person has to stand for its commit.
func toWord(r *Rig, project, item string) task.Task {
	r.Helper()
	r.ToDone(project, item)
	task := r.Task(item)
	require.Equal(r, stage.Development, task.State.Stage)
	require.Equal(r, stage.HoldApproval, task.State.Hold)
	return task
}

// A change of a protected path waits for a person's word, for that very commit.
func TestProtectedPaths(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		r.Place.SetScript(meddler(same))
		item := r.Card(App, "x")
		task := toWord(r, App, item)
		require.Contains(r, task.State.HoldReason, "changes protected paths: "+workflow)
		require.Contains(r, task.State.HoldReason, task.State.Head[:12])
		require.Equal(r, stage.StatusInReview, r.Status(App, item))
		require.True(r, r.Commented(App, item, "Set the status Approved to let it pass"))
		require.Contains(r, r.Notices(), "approval needed: ")
		x := r.Explain(item)
		require.Contains(r, x.Summary, workflow)
		require.Equal(r, "Set Approved on the card to let the commit pass, In Progress to run the developer again, or Rejected with a comment that says what is wrong", x.Blockers[0].Do)
		r.Settle(2 * time.Hour)
		r.HostHook(githost.Hook{Kind: githost.HookCI, Repo: AppRepo, Branch: task.Branch, SHA: task.State.Head})
		r.Settle(time.Minute)
		require.Equal(r, task.State.Seq, r.Task(item).State.Seq, "nobody else's word counts, and nobody is asked twice")
		r.Set(item, stage.StatusApproved)
		r.Settle(time.Minute)
		r.Stands(item, stage.Done)
		require.Equal(r, task.State.Head, r.Task(item).State.Vouched.SHA)
		r.Replays()
	})
}

// A person's word is acted on at once, though a seldom look at CI waits for its time.
func TestWordBesideASeldomLook(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		r.SetCI(githost.CheckPending)
		r.Place.SetScript(meddler(same))
		_, err := r.Store.Receive(context.Background(), task.Delivery{Source: task.HostGitHub, ID: "1", BodyHash: "h", ReceivedAt: time.Now()}, queue.Job{Pool: "nobody"})
		require.NoError(r, err)
		item := r.Finish("x")
		row := r.Task(item)
		r.Host.SetChecks(row.State.Head, githost.Check{Name: "build", State: githost.CheckPassed})
		r.HostHook(githost.Hook{Kind: githost.HookCI, Repo: AppRepo, Branch: row.Branch, SHA: row.State.Head})
		r.Settle(10 * time.Second)
		r.Waits(item, stage.HoldApproval)
		r.Set(item, stage.StatusApproved)
		r.Settle(10 * time.Second)
		require.NotEqual(r, stage.Development, r.Task(item).State.Stage)
	})
}

// A person's word is required again when the protected files change again, and not when
// anything else does.
func TestProtectedPathsAgain(t *testing.T) {
	for name, c := range map[string]struct {
		differs func(int64) string
		asked   bool
	}{
		"other code":                 {same, false},
		"the protected file changes": {func(run int64) string { return "on: run " + string(rune('a'+run)) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			Run(t, nil, func(r *Rig) {
				rejected := false
				develop := meddler(c.differs)
				r.Place.SetScript(func(ctx context.Context, cmd work.Command, files map[string]string) work.Result {
					res := develop(ctx, cmd, files)
					if cmd.Role == stage.Reviewer && !rejected {
						rejected = true
						files[work.ReportPath] = "---\nverdict: changes_requested\nsha: " + cmd.Env["SIGNALBOX_SHA"] + "\n---\n"
					}
					return res
				})
				item := r.Card(App, "x")
				first := toWord(r, App, item)
				r.Set(item, stage.StatusApproved)
				r.Settle(time.Minute)
				require.True(r, rejected)
				if !c.asked {
					r.Stands(item, stage.Done)
					return
				}
				second := r.Task(item)
				require.Equal(r, stage.HoldApproval, second.State.Hold)
				require.NotEqual(r, first.State.Head, second.State.Head)
				require.Equal(r, first.State.Head, second.State.Vouched.SHA)
				r.Set(item, stage.StatusApproved)
				r.Settle(time.Minute)
				r.Stands(item, stage.Done)
			})
		})
	}
}

// Rejected sends it back to the developer with the person's reason; In Progress runs the
// developer again.
func TestProtectedPathsRejected(t *testing.T) {
	for _, word := range []stage.Status{stage.StatusRejected, stage.StatusInProgress} {
		Run(t, nil, func(r *Rig) {
			r.Place.SetScript(meddler(same))
			item := r.Card(App, "x")
			toWord(r, App, item)
			r.Place.SetScript(Instead(stage.Developer, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
				res := GoodAgent(ctx, c, files)
				files[workflow] = "on: push\n" // as main has it
				return res
			}))
			r.Set(item, word)
			r.Settle(time.Minute)
			task := r.Task(item)
			require.Equal(r, stage.Done, task.State.Stage)
			require.Empty(r, task.State.Vouched.SHA)
			require.Equal(r, 2, r.Ran(stage.Developer))
		})
	}
}

// No person's word is required before CI has a result.
func TestProtectedPathsWaitForCI(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		r.SetCI("")
		r.Place.SetScript(meddler(same))
		item := r.Finish("x")
		r.Settle(time.Hour)
		task := r.Task(item)
		require.Equal(r, stage.HoldNone, task.State.Hold)
		require.Equal(r, 1, r.Ran(stage.Developer))
		r.Host.SetChecks(task.State.Head, githost.Check{Name: "build", State: githost.CheckPassed, Kind: "check_run"})
		r.Settle(time.Minute)
		r.Waits(item, stage.HoldApproval)
	})
}

// Red CI is the developer's before it is a person's; a repository without CI has the same
// gate, and a person who is no approver lets nothing pass.
func TestProtectedPathsAmongOthers(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		r.SetCI(githost.CheckFailed)
		r.Place.SetScript(meddler(same))
		item := r.Finish("x")
		r.Settle(time.Hour)
		r.Waits(item, stage.HoldBlocked)
		require.Equal(r, 4, r.Ran(stage.Developer))
	})
	Run(t, func(r *Rig) {
		r.Projects[0].CINone = true
		r.Projects[0].People.Approvers = []string{"kim"}
	}, func(r *Rig) {
		r.Place.SetScript(meddler(same))
		item := r.Card(App, "x")
		task := toWord(r, App, item)
		r.MoveAs("mallory", App, item, stage.StatusApproved)
		r.Hook(tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: App, ItemID: item, ActorID: "mallory", Status: true})
		r.Settle(time.Minute)
		r.Waits(item, stage.HoldApproval)
		require.True(r, r.Commented(App, item, "mallory may not set Approved here"))
		require.Empty(r, r.Task(item).State.Vouched.SHA)
		r.Set(item, stage.StatusApproved)
		r.Settle(time.Minute)
		r.Stands(item, stage.Done)
		require.Equal(r, task.State.Head, r.Task(item).State.Vouched.SHA)
	})
}

// The registry can add paths, or protect none.
func TestProtectedPathsOfTheRegistry(t *testing.T) {
	for _, c := range []struct {
		protected task.Protected
		path      string
		held      bool
	}{
		{task.Protected{None: true}, workflow, false},
		{task.Protected{More: []string{"infra/**"}}, "infra/a/b.tf", true},
		{task.Protected{}, "infra/a/b.tf", false},
		{task.Protected{}, "CODEOWNERS", true},
		{task.Protected{}, "sub/Jenkinsfile", true},
	} {
		Run(t, func(r *Rig) { r.Projects[0].Protected = c.protected }, func(r *Rig) {
			r.Place.SetScript(Instead(stage.Developer, func(ctx context.Context, cmd work.Command, files map[string]string) work.Result {
				res := GoodAgent(ctx, cmd, files)
				files[c.path] = "changed"
				return res
			}))
			item := r.Finish("x")
			require.Equal(r, c.held, r.Task(item).State.Hold == stage.HoldApproval, c.path)
			require.Equal(r, !c.held, r.Task(item).State.Stage == stage.Done, c.path)
		})
	}
}

// The reconciler passes no protected path.
func TestReconcilerPassesNoProtectedPath(t *testing.T) {
	reconciled(t, func(r *Rig, rec *reconcile.Reconciler) {
		r.Place.SetScript(meddler(same))
		item := r.Card(App, "x")
		task := toWord(r, App, item)
		for range 5 {
			r.Settle(time.Hour)
			require.NoError(r, rec.Pass(r.Context(), r.Engine))
		}
		require.Equal(r, task.State.Seq, r.Task(item).State.Seq)
		r.Set(item, stage.StatusApproved)
		r.Settle(time.Minute)
		r.Stands(item, stage.Done)
	})
}
