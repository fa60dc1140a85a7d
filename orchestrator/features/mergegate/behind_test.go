package mergegate_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gates/checks"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// gateOff is a rig with the merge gate on for no repository.
func gateOff(t *testing.T, f func(*gateRig)) {
	t.Helper()
	mergeGate(t, func(g *gateRig) {
		g.Shutdown()
		g.off = true
		g.Start()
		g.Place.SetRemote(AppRepo, "main", "") // where branches begin
		f(g)
	})
}

// Where the merge gate is off a branch that has all of main is merged at once.
func TestGateOffUpToDate(t *testing.T) {
	gateOff(t, func(g *gateRig) {
		item := g.Finish("x")
		g.Stands(item, stage.Done)
		require.Equal(g, 1, g.Host.Merges())
		results, err := g.Store.GateResults(context.Background(), g.Task(item).ID)
		require.NoError(g, err)
		for _, v := range results {
			require.NotEqual(g, checks.BranchMergeable, v.Verdict.Check)
		}
		require.False(g, g.Commented(App, item, "up to date"))
		g.free()
	})
}

// One that is merely behind is not merged untested: it is brought up to date and tested
// again, and no developer has to be called for it.
func TestGateOffBehind(t *testing.T) {
	gateOff(t, func(g *gateRig) {
		item := g.Card(App, "x")
		var red atomic.Bool
		told := g.Place.OnPush
		g.Place.OnPush = func(repo, branch, sha string) {
			told(repo, branch, sha)
			if list, _ := g.Store.Tasks(context.Background(), task.Filter{Branch: branch}); list[0].State.Phase == stage.PhaseCatchUp {
				g.red(sha)
				g.Place.OnPush = told
				red.Store(true)
			}
		}
		g.Place.SetScript(func(ctx context.Context, c work.Command, in map[string]string) work.Result {
			if c.Role == stage.Tester && len(g.forge.bases()) == 0 { // main moves meanwhile
				g.Place.SetRemote(AppRepo, "main", "m1")
			}
			return GoodAgent(ctx, c, in)
		})
		g.Set(item, stage.StatusToAnalyse)
		g.Settle(10 * time.Second)
		g.Set(item, stage.StatusApproved)
		for range 120 {
			if g.Settle(time.Second); red.Load() {
				break
			}
		}
		require.Empty(g, g.forge.bases(), "what does not work on the new main has not been merged")
		require.True(g, g.Commented(App, item, "the branch is behind main, which is at m1; it is brought up to date and tested again"))
		g.Settle(2 * time.Minute)
		require.True(g, g.Commented(App, item, "does not compile on the new main"))
		require.Equal(g, stage.Done, g.Task(item).State.Stage, g.Comments(App, item))
		require.Equal(g, []string{"m1"}, g.forge.bases())
		require.Equal(g, 2, g.Ran(stage.Developer), "once for the red tests")
		g.free()
	})
}

// A task that has been sent back as often as may be is brought up to date all the same.
func TestBehindCostsNoRetry(t *testing.T) {
	gateOff(t, func(g *gateRig) {
		item := g.Card(App, "x")
		reviews := 0
		g.Place.SetScript(func(ctx context.Context, c work.Command, in map[string]string) work.Result {
			switch c.Role {
			case stage.Reviewer:
				result := GoodAgent(ctx, c, in)
				if reviews++; reviews <= 3 {
					in[work.ReportPath] = "---\nverdict: changes_requested\nsha: " + c.Env["SIGNALBOX_SHA"] + "\n---\n"
				}
				return result
			case stage.Tester:
				g.Place.SetRemote(AppRepo, "main", "m1")
			default:
			}
			return GoodAgent(ctx, c, in)
		})
		g.ToDone(App, item)
		g.Settle(2 * time.Minute)
		require.Equal(g, stage.Done, g.Task(item).State.Stage, g.Comments(App, item))
		require.Equal(g, 3, g.Task(item).State.Retries)
	})
}

// Of two tasks that are ready at once the second is tested on top of the first.
func TestGateOffTwo(t *testing.T) {
	gateOff(t, func(g *gateRig) {
		one, two := g.both()
		require.Len(g, g.forge.bases(), 2)
		for _, item := range []string{one, two} {
			g.Stands(item, stage.Done)
		}
		head := g.Task(two).State.Head
		if g.forge.bases()[1] != g.Place.Base(head) {
			head = g.Task(one).State.Head
		}
		require.Equal(g, g.forge.bases()[1], g.Place.Base(head), "merged on the main that it was tested on")
		g.free()
	})
}
