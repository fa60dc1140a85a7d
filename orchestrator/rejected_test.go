package orchestrator_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator/effects"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
)

// A deployment that failed is rejected: the developer gets the reason, what follows is
// merged by a pull request of its own and deployed, and a late word of the old merge ends
// nothing. The column Deploying is not shown for what is not deployed.
func TestRejectedAfterAFailedDeployment(t *testing.T) {
	run(t, func(r *rig) {
		var failing atomic.Bool
		failing.Store(true)
		r.place.SetScript(func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			time.Sleep(time.Second)
			memwork.Diligent(c, files)
			if c.Env["SIGNALBOX_PHASE"] == string(stage.PhaseRelease) && failing.Load() {
				files[work.ReportPath] = strings.Replace(files[work.ReportPath], "success", "failed", 1)
			}
			return work.Result{Kind: work.ResultOK, Usage: usage()}
		})
		item := r.card(appProject, "x")
		r.toDone(appProject, item)
		task := r.task(item)
		require.Equal(r, stage.HoldBlocked, task.State.Hold, task.State.Stage)
		require.Equal(r, stage.Deploy, task.State.Stage)
		require.Equal(r, 1, r.host.Merges())
		require.True(r, contains(r.comments(appProject, item), "or Rejected with a comment to send it back to development."))
		require.Contains(r, r.notices(), "deploy failure: ")
		x, err := r.engine.Explain(context.Background(), task.ID)
		require.NoError(r, err)
		require.Contains(r, x.Blockers[0].Do, "Rejected with a comment to send it back to development")
		require.NoError(r, r.host.DeleteBranch(context.Background(), appRepo, task.Branch)) // as hosts do after a merge
		r.place.SetRemote(appRepo, task.Branch, "")
		failing.Store(false)
		r.board.Say(item, "kim", "the button is gone")
		r.move(appProject, item, stage.StatusRejected)
		r.settle(500 * time.Millisecond)
		require.Equal(r, stage.Development, r.task(item).State.Stage)
		require.Equal(r, "the button is gone", r.task(item).State.Feedback)
		require.Equal(r, stage.StatusInProgress, r.status(appProject, item))
		r.hostHook(githost.Hook{Kind: githost.HookMerged, Repo: appRepo, Branch: task.Branch, SHA: task.State.Head, Number: task.State.PR, MergeSHA: task.State.MergeSHA})
		r.settle(2 * time.Minute)
		require.Equal(r, stage.Done, r.task(item).State.Stage, r.task(item).State.HoldReason)
		require.Equal(r, 2, r.host.Merges(), "the second merge is another one")
		require.NotEqual(r, task.State.MergeSHA, r.task(item).State.MergeSHA)
		r.replays()
	})
}

// oncePicky is a host that refuses the first merge.
type oncePicky struct {
	githost.Host
	asked bool
}

func (h *oncePicky) Merge(ctx context.Context, m githost.Merge) (string, error) {
	if !h.asked {
		h.asked = true
		return "", githost.ErrNotMergeable
	}
	return h.Host.Merge(ctx, m)
}

// A branch that conflicts is sent back with the files and what to do where the merge gate
// is off, too; one that is only behind is brought up to date.
func TestConflictWithoutTheMergeGate(t *testing.T) {
	for _, files := range [][]string{{"src/a.go", "src/b.go"}, nil} {
		runWith(t, func(r *rig) {
			r.around = func(d *effects.Deps) { d.Host = &oncePicky{Host: d.Host} }
		}, func(r *rig) {
			item := r.card(appProject, "x")
			var feedback []string
			r.place.SetScript(func(ctx context.Context, c work.Command, in map[string]string) work.Result {
				task := r.task(item)
				switch {
				case c.Role == stage.Tester && r.host.Merges() == 0 && len(feedback) == 0: // main moves meanwhile
					r.place.SetRemote(appRepo, "main", "m1")
					r.place.SetConflict(appRepo, task.Branch, files...)
				case c.Role == stage.Developer && task.State.Feedback != "":
					feedback = append(feedback, task.State.Feedback)
					r.place.SetConflict(appRepo, task.Branch)
				}
				return goodAgent(ctx, c, in)
			})
			r.toDone(appProject, item)
			r.settle(2 * time.Minute)
			want := "the merge failed: the branch conflicts with main at m1 in src/a.go, src/b.go: rebase it onto origin/main and resolve that"
			if files == nil {
				want = "the merge failed: the branch was behind main and could not be merged; it stands on origin/main at m1 now: look whether the work still fits"
			}
			require.Len(r, feedback, 1)
			require.Contains(r, feedback[0], want)
			require.Equal(r, stage.Done, r.task(item).State.Stage)
		})
	}
}
