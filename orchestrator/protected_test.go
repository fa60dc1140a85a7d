package orchestrator_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features/reconcile"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
	"github.com/signalbox-dev/signalbox/tracker"
)

const workflow = ".github/workflows/ci.yml"

// meddler is a developer that changes the workflow, to another one in each run that
// differs says so of.
func meddler(differs func(run int64) string) memwork.Script {
	return instead(stage.Developer, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
		res := goodAgent(ctx, c, files)
		files[workflow] = differs(c.Run)
		return res
	})
}

func same(int64) string { return "on: never" }

// toWord takes a card to where a person has to stand for its commit.
func (r *rig) toWord(project, item string) orchestrator.Task {
	r.Helper()
	r.toDone(project, item)
	task := r.task(item)
	require.Equal(r, stage.Development, task.State.Stage)
	require.Equal(r, stage.HoldApproval, task.State.Hold)
	return task
}

// A change of a protected path waits for a person's word, for that very commit.
func TestProtectedPaths(t *testing.T) {
	run(t, func(r *rig) {
		r.place.SetScript(meddler(same))
		item := r.card(appProject, "x")
		task := r.toWord(appProject, item)
		require.Contains(r, task.State.HoldReason, "changes protected paths: "+workflow)
		require.Contains(r, task.State.HoldReason, task.State.Head[:12])
		require.Equal(r, stage.StatusInReview, r.status(appProject, item))
		require.True(r, contains(r.comments(appProject, item), "Set the status Approved to let them pass"))
		require.Contains(r, r.notices(), "approval needed: ")
		x, err := r.engine.Explain(r.Context(), task.ID)
		require.NoError(r, err)
		require.Contains(r, x.Summary, workflow)
		require.Equal(r, "Set Approved on the card, or Rejected with a comment that says what is wrong", x.Blockers[0].Do)
		r.settle(2 * time.Hour)
		r.hostHook(githost.Hook{Kind: githost.HookCI, Repo: appRepo, Branch: task.Branch, SHA: task.State.Head})
		r.settle(time.Minute)
		require.Equal(r, task.State.Seq, r.task(item).State.Seq, "nobody else's word counts, and nobody is asked twice")
		r.move(appProject, item, stage.StatusApproved)
		r.settle(time.Minute)
		require.Equal(r, stage.Done, r.task(item).State.Stage)
		require.Equal(r, task.State.Head, r.task(item).State.Vouched)
		r.replays()
	})
}

// Whoever is asked is asked again when the protected files change again, and not when
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
			run(t, func(r *rig) {
				rejected := false
				develop := meddler(c.differs)
				r.place.SetScript(func(ctx context.Context, cmd work.Command, files map[string]string) work.Result {
					res := develop(ctx, cmd, files)
					if cmd.Role == stage.Reviewer && !rejected {
						rejected = true
						files[work.ReportPath] = "---\nverdict: changes_requested\nsha: " + cmd.Env["SIGNALBOX_SHA"] + "\n---\n"
					}
					return res
				})
				item := r.card(appProject, "x")
				first := r.toWord(appProject, item)
				r.move(appProject, item, stage.StatusApproved)
				r.settle(time.Minute)
				require.True(r, rejected)
				if !c.asked {
					require.Equal(r, stage.Done, r.task(item).State.Stage)
					return
				}
				second := r.task(item)
				require.Equal(r, stage.HoldApproval, second.State.Hold)
				require.NotEqual(r, first.State.Head, second.State.Head)
				require.Equal(r, first.State.Head, second.State.Vouched)
				r.move(appProject, item, stage.StatusApproved)
				r.settle(time.Minute)
				require.Equal(r, stage.Done, r.task(item).State.Stage)
			})
		})
	}
}

// Rejected sends it back to the developer with the person's reason; In Progress runs the
// developer again.
func TestProtectedPathsRejected(t *testing.T) {
	for _, word := range []stage.Status{stage.StatusRejected, stage.StatusInProgress} {
		run(t, func(r *rig) {
			r.place.SetScript(meddler(same))
			item := r.card(appProject, "x")
			r.toWord(appProject, item)
			r.place.SetScript(instead(stage.Developer, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
				res := goodAgent(ctx, c, files)
				files[workflow] = "on: push\n" // as main has it
				return res
			}))
			r.move(appProject, item, word)
			r.settle(time.Minute)
			task := r.task(item)
			require.Equal(r, stage.Done, task.State.Stage)
			require.Empty(r, task.State.Vouched)
			require.Equal(r, 2, count(r.roles(), stage.Developer))
		})
	}
}

// Nobody is asked while CI has not said yet what it says.
func TestProtectedPathsWaitForCI(t *testing.T) {
	run(t, func(r *rig) {
		r.setCI("")
		r.place.SetScript(meddler(same))
		item := r.card(appProject, "x")
		r.toDone(appProject, item)
		r.settle(time.Hour)
		task := r.task(item)
		require.Equal(r, stage.HoldNone, task.State.Hold)
		require.Equal(r, 1, count(r.roles(), stage.Developer))
		r.host.SetChecks(task.State.Head, githost.Check{Name: "build", State: githost.CheckPassed, Kind: "check_run"})
		r.settle(time.Minute)
		require.Equal(r, stage.HoldApproval, r.task(item).State.Hold)
	})
}

// Red CI is the developer's before it is a person's; a repository without CI has the same
// gate, and who is no approver lets nothing pass.
func TestProtectedPathsAmongOthers(t *testing.T) {
	run(t, func(r *rig) {
		r.setCI(githost.CheckFailed)
		r.place.SetScript(meddler(same))
		item := r.card(appProject, "x")
		r.toDone(appProject, item)
		r.settle(time.Hour)
		require.Equal(r, stage.HoldBlocked, r.task(item).State.Hold)
		require.Equal(r, 4, count(r.roles(), stage.Developer))
	})
	runWith(t, func(r *rig) {
		r.project[0].CINone = true
		r.project[0].People.Approvers = []string{"kim"}
	}, func(r *rig) {
		r.place.SetScript(meddler(same))
		item := r.card(appProject, "x")
		task := r.toWord(appProject, item)
		r.moveAs("mallory", appProject, item, stage.StatusApproved)
		r.hook(tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: appProject, ItemID: item, ActorID: "mallory", Status: true})
		r.settle(time.Minute)
		require.Equal(r, stage.HoldApproval, r.task(item).State.Hold)
		require.True(r, contains(r.comments(appProject, item), "mallory may not set Approved here"))
		require.Empty(r, r.task(item).State.Vouched)
		r.move(appProject, item, stage.StatusApproved)
		r.settle(time.Minute)
		require.Equal(r, stage.Done, r.task(item).State.Stage)
		require.Equal(r, task.State.Head, r.task(item).State.Vouched)
	})
}

// The registry can add paths, or protect none.
func TestProtectedPathsOfTheRegistry(t *testing.T) {
	for _, c := range []struct {
		protected orchestrator.Protected
		path      string
		held      bool
	}{
		{orchestrator.Protected{None: true}, workflow, false},
		{orchestrator.Protected{More: []string{"infra/**"}}, "infra/a/b.tf", true},
		{orchestrator.Protected{}, "infra/a/b.tf", false},
		{orchestrator.Protected{}, "CODEOWNERS", true},
		{orchestrator.Protected{}, "sub/Jenkinsfile", true},
	} {
		runWith(t, func(r *rig) { r.project[0].Protected = c.protected }, func(r *rig) {
			r.place.SetScript(instead(stage.Developer, func(ctx context.Context, cmd work.Command, files map[string]string) work.Result {
				res := goodAgent(ctx, cmd, files)
				files[c.path] = "changed"
				return res
			}))
			item := r.card(appProject, "x")
			r.toDone(appProject, item)
			require.Equal(r, c.held, r.task(item).State.Hold == stage.HoldApproval, c.path)
			require.Equal(r, !c.held, r.task(item).State.Stage == stage.Done, c.path)
		})
	}
}

// The reconciler passes no protected path.
func TestReconcilerPassesNoProtectedPath(t *testing.T) {
	reconciled(t, func(r *rig, rec *reconcile.Reconciler) {
		r.place.SetScript(meddler(same))
		item := r.card(appProject, "x")
		task := r.toWord(appProject, item)
		for range 5 {
			r.settle(time.Hour)
			require.NoError(r, rec.Pass(r.Context(), r.engine))
		}
		require.Equal(r, task.State.Seq, r.task(item).State.Seq)
		r.move(appProject, item, stage.StatusApproved)
		r.settle(time.Minute)
		require.Equal(r, stage.Done, r.task(item).State.Stage)
	})
}
