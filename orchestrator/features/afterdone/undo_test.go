package afterdone_test

import (
	"context"
	"io/fs"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/features/afterdone"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

func undo(r *Rig, t task.Task) error {
	return admin.Undo(context.Background(), r.Engine, t.ID, admin.OperatorBy(stage.ViaAPI))
}

// workers counts the agents that have worked before a deployment.
func workers(r *Rig) int { return len(r.Roles()) - r.Ran(stage.Deployer) }

// takenBack are the merges that the commit of an undo takes back.
func takenBack(r *Rig, u task.Task) string {
	r.Helper()
	files, err := r.Place.Files(context.Background(), r.Projects[0].Workspace(u), u.State.Head)
	require.NoError(r, err)
	body, err := fs.ReadFile(files, "reverted")
	require.NoError(r, err)
	return string(body)
}

// What was merged for a deployment that was rejected is taken back too, the newest first.
func TestUndoOfTwoLandings(t *testing.T) {
	answering(t, func(r *Rig) {
		var works atomic.Bool
		r.Place.SetScript(func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			memwork.Good(ctx, c, files)
			if c.Env["SIGNALBOX_PHASE"] == string(stage.PhaseRelease) && !works.Load() {
				files[work.ReportPath] = strings.Replace(files[work.ReportPath], "success", "failed", 1)
			}
			return work.Result{Kind: work.ResultOK, Usage: memwork.Usage()}
		})
		item := r.Finish("x")
		first := r.Task(item).State.MergeSHA
		works.Store(true)
		r.Set(item, stage.StatusRejected)
		r.Settle(5 * time.Minute)
		r.Stands(item, stage.Done)
		second := r.Task(item).State.MergeSHA
		require.NotEqual(r, first, second)
		r.Place.FailCall("Begin", &fault.Error{Text: "the remote is away", Again: true})
		require.NoError(r, undo(r, r.Task(item)))
		r.Settle(10 * time.Second)
		require.Contains(r, r.Explain(item).Summary, "Waits: the revert waits for the git remote")
		r.Place.FailCall("Begin", nil)
		r.Settle(time.Minute)
		require.Equal(r, second+"\n"+first+"\n", takenBack(r, r.Task(item)))
	})
}

// A whole life of an undo: no agent makes it, CI and a person judge it, it is merged and deployed, and nobody else
// begins or merges meanwhile.
func TestUndo(t *testing.T) {
	answering(t, func(r *Rig) {
		item := r.Finish("the work")
		former := r.Task(item)
		merging := r.Begin("is about to merge")
		r.Settle(10 * time.Second)
		worked := workers(r)
		require.NoError(r, undo(r, former))
		r.Settle(time.Minute)
		u := r.Task(item)
		require.Equal(r, []string{former.WorkItemID + "-undo", former.WorkItemID, "undo"}, []string{u.WorkItemID, u.State.Follows, u.State.Lane})
		require.Equal(r, stage.StatusInReview, r.Status(App, item))
		r.Waits(item, stage.HoldApproval)
		require.Equal(r, "Set Approved on the card to let the commit pass, or STOP to give the undo up", r.Explain(item).Blockers[0].Do)
		require.Contains(r, u.Branch, "-undo-")
		require.Equal(r, worked, workers(r), "no agent has made it")
		judged := u.State.Head
		require.Equal(r, former.State.MergeSHA+"\n", takenBack(r, u))
		require.ErrorContains(r, undo(r, former), u.WorkItemID)

		next := r.Begin("begins meanwhile")
		r.Set(merging, stage.StatusApproved)
		r.Settle(5 * time.Minute)
		require.Contains(r, r.Explain(next).Summary, AppRepo+" is frozen until "+u.WorkItemID)
		require.Contains(r, r.Explain(merging).Summary, AppRepo+" is frozen until "+u.WorkItemID)
		require.Equal(r, stage.Deploy, r.Task(merging).State.Stage, "it is not merged")
		require.Empty(r, r.Task(merging).State.MergeSHA)

		r.Set(item, stage.StatusApproved)
		r.Settle(5 * time.Minute)
		r.Stands(item, stage.Done)
		u = r.Task(item)
		require.NotEmpty(r, u.State.MergeSHA)
		require.Equal(r, judged, u.State.Vouched.SHA)
		require.Equal(r, stage.StatusDone, r.Status(App, item))
		r.Stands(merging, stage.Done)
		r.Waits(next, stage.HoldApproval)
		holdNothing(r)
		require.ErrorContains(r, undo(r, former), "has taken it back")
		r.Replays()
		tell(r, item, stage.StatusToAnalyse) // and the card goes on answering
		r.Settle(time.Minute)
		require.Equal(r, former.WorkItemID+"-2", r.Task(item).WorkItemID)
	})
}

// The end of one undo does not let others merge while another one of the repository goes on.
func TestTwoUndosOfARepository(t *testing.T) {
	answering(t, func(r *Rig) {
		one, two, merging := r.Finish("one"), r.Finish("two"), r.Begin("is about to merge")
		r.Settle(10 * time.Second)
		require.NoError(r, undo(r, r.Task(one)))
		require.NoError(r, undo(r, r.Task(two)))
		r.Settle(time.Minute)
		former := queue.Hold{Subject: orchestrator.MergesIn(AppRepo), Name: afterdone.Freeze} // of a version before
		require.NoError(r, r.Store.Hold(r.Context(), former))
		tell(r, one, stage.StatusStop)
		r.Set(merging, stage.StatusApproved)
		r.Settle(5 * time.Minute)
		r.Cancelled(one)
		require.Equal(r, stage.Deploy, r.Task(merging).State.Stage)
		require.Contains(r, r.Explain(merging).Blockers[0].Do, "until "+r.Task(two).WorkItemID+" is over: a person sets")
		r.Set(two, stage.StatusApproved)
		r.Settle(5 * time.Minute)
		r.Stands(merging, stage.Done)
		holdNothing(r)
	})
}

// What was brought back by the undo of an undo can be taken back again.
func TestUndoOfAnUndo(t *testing.T) {
	answering(t, func(r *Rig) {
		item := r.Finish("x")
		former := r.Task(item)
		for range 2 {
			require.NoError(r, undo(r, r.Task(item)))
			r.Settle(time.Minute)
			r.Set(item, stage.StatusApproved)
			r.Settle(5 * time.Minute)
			r.Stands(item, stage.Done)
		}
		require.NoError(r, undo(r, former))
	})
}

// What is not done, or has landed nothing, is refused with the reason; so is a card on which something else is open.
func TestUndoThatIsRefused(t *testing.T) {
	answering(t, func(r *Rig) {
		item := r.Begin("x")
		r.Settle(10 * time.Second)
		require.ErrorContains(r, undo(r, r.Task(item)), "the task is at analysis")
		r.Set(item, stage.StatusApproved)
		r.Settle(time.Minute)
		former := r.Task(item)
		tell(r, item, stage.StatusToAnalyse)
		r.Settle(10 * time.Second)
		require.ErrorContains(r, undo(r, former), r.Task(item).WorkItemID+" (task 2) of the same card is not finished")

		by := r.Begin("merged by hand")
		r.Settle(10 * time.Second)
		r.MergeByHand(r.Task(by))
		r.Settle(time.Minute)
		r.Stands(by, stage.Done)
		require.ErrorContains(r, undo(r, r.Task(by)), "merged nothing of it")
	})
	with(t, false, "", func(r *Rig) {
		require.ErrorContains(r, undo(r, r.Task(r.Finish("x"))), "ORCH_AFTER_DONE_ENABLED")
	})
}

func holdNothing(r *Rig) {
	held, err := r.Store.Holds(context.Background())
	require.NoError(r, err)
	require.Empty(r, held)
}

// What cannot be taken back is told once, with the files and the way on. STOP frees what was held; so does the push of
// a person's own revert, which is judged and approved as the service's.
func TestUndoThatConflicts(t *testing.T) {
	for _, byHand := range []bool{false, true} {
		answering(t, func(r *Rig) {
			item := r.Finish("the work")
			former := r.Task(item)
			branch := "feature/" + former.WorkItemID + "-undo-" + task.Slug("Undo "+former.WorkItemID+": the work")
			r.Place.SetConflict(AppRepo, branch, "src/a.go", "src/b.go")
			require.NoError(r, undo(r, former))
			r.Settle(10 * time.Minute)
			require.Equal(r, branch, r.Task(item).Branch)
			r.Waits(item, stage.HoldBlocked)
			require.Equal(r, stage.StatusBlocked, r.Status(App, item))
			said := strings.Join(r.Comments(App, item), "\n")
			require.Equal(r, 1, strings.Count(said, "src/a.go, src/b.go"), said)
			require.Contains(r, said, "git revert")
			if byHand {
				r.PushByHand(item, map[string]string{"src/a.go": "as it was"})
				r.Settle(time.Minute)
				r.Place.SetRemote(AppRepo, branch, "") // In Progress makes it anew, to go on from
				for range 2 {
					r.Set(item, stage.StatusInProgress)
					r.Settle(time.Minute)
				}
				r.PushByHand(item, map[string]string{"src/b.go": "as it was"})
				r.Settle(time.Minute)
				r.Waits(item, stage.HoldApproval)
				r.Set(item, stage.StatusApproved)
				r.Settle(5 * time.Minute)
				r.Stands(item, stage.Done)
			} else {
				tell(r, item, stage.StatusStop)
				r.Settle(5 * time.Minute)
				r.Cancelled(item)
			}
			holdNothing(r)
		})
	}
}

// Red CI and a rejection wait for people: no agent works on an undo. In Progress has it tested again.
func TestUndoThatIsRed(t *testing.T) {
	answering(t, func(r *Rig) {
		item := r.Finish("the work")
		worked := workers(r)
		r.SetCI(githost.CheckFailed)
		require.NoError(r, undo(r, r.Task(item)))
		r.Settle(5 * time.Minute)
		r.Waits(item, stage.HoldBlocked)
		require.True(r, r.Commented(App, item, "Push what is missing to its branch"), "%q", r.Comments(App, item))
		r.Host.SetChecks(r.Task(item).State.Head, githost.Check{Name: "build", State: githost.CheckPassed, Kind: "check_run"})
		r.Set(item, stage.StatusInProgress)
		r.Settle(time.Minute)
		r.Waits(item, stage.HoldApproval)
		r.Set(item, stage.StatusRejected)
		r.Settle(time.Minute)
		r.Waits(item, stage.HoldBlocked)
		require.Equal(r, worked, workers(r))
		r.Replays()
	})
}

// Killed at any moment, an undo is made once: one task, one commit on its branch, one merge.
func TestUndoThatIsKilled(t *testing.T) {
	for after := time.Duration(0); after < 4*time.Second; after += 130 * time.Millisecond {
		answering(t, func(r *Rig) {
			item := r.Finish("the work")
			former := r.Task(item)
			require.NoError(r, undo(r, former))
			_ = undo(r, former) // and requested twice
			r.Settle(after)
			r.Shutdown()
			r.Start()
			r.Settle(5 * time.Minute)
			require.Len(r, tasks(r, item), 2)
			r.Waits(item, stage.HoldApproval)
			r.Set(item, stage.StatusApproved)
			r.Settle(after)
			r.Shutdown()
			r.Start()
			r.Settle(5 * time.Minute)
			r.Stands(item, stage.Done)
			said := strings.Join(r.Comments(App, item), "\n")
			require.Equal(r, 1, strings.Count(said, "is taken back, on a branch of its own"), said)
			holdNothing(r)
		})
	}
}

// A STOP that was said to an earlier undo of the card, and whose webhook comes late, is none of the next one's.
func TestUndoAfterAStop(t *testing.T) {
	answering(t, func(r *Rig) {
		item := r.Finish("x")
		former := r.Task(item)
		require.NoError(r, undo(r, former))
		r.Settle(5 * time.Minute)
		late := tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: App, ItemID: item, ActorID: "kim", Status: true, At: time.Now()}
		late.To, late.Word = string(stage.StatusStop), stage.StatusStop
		r.Set(item, stage.StatusStop)
		r.Settle(time.Minute)
		r.Cancelled(item)
		require.NoError(r, undo(r, former))
		r.Settle(time.Second)
		r.Hook(late)
		r.Settle(5 * time.Minute)
		u := r.Task(item)
		r.Waits(item, stage.HoldApproval)
		approved := admin.Word{On: stage.OnApproved, Of: u.State.Head}
		require.NoError(r, admin.Decide(context.Background(), r.Engine, u.ID, approved, admin.OperatorBy(stage.ViaAPI)))
		r.Settle(10 * time.Minute)
		r.Stands(item, stage.Done)
	})
}
