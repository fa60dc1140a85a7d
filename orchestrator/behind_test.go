package orchestrator_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gates/checks"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// gateOff is a rig with the merge gate on for no repository.
func gateOff(t *testing.T, f func(*gateRig)) {
	t.Helper()
	mergeGate(t, func(g *gateRig) {
		g.shutdown()
		g.off = true
		g.start()
		g.place.SetRemote(appRepo, "main", "") // where branches begin
		f(g)
	})
}

// Where the merge gate is off a branch that has all of main is merged at once.
func TestGateOffUpToDate(t *testing.T) {
	gateOff(t, func(g *gateRig) {
		item := g.card(appProject, "x")
		g.toDone(appProject, item)
		require.Equal(g, stage.Done, g.task(item).State.Stage)
		require.Equal(g, 1, g.host.Merges())
		results, err := g.store.GateResults(context.Background(), g.task(item).ID)
		require.NoError(g, err)
		for _, v := range results {
			require.NotEqual(g, checks.BranchMergeable, v.Verdict.Check)
		}
		require.False(g, contains(g.comments(appProject, item), "up to date"))
		g.free()
	})
}

// One that is merely behind is not merged untested: it is brought up to date and tested
// again, and no developer has to be called for it.
func TestGateOffBehind(t *testing.T) {
	gateOff(t, func(g *gateRig) {
		item := g.card(appProject, "x")
		red := false
		told := g.place.OnPush
		g.place.OnPush = func(repo, branch, sha string) {
			told(repo, branch, sha)
			if list, _ := g.store.Tasks(context.Background(), orchestrator.TaskFilter{Branch: branch}); list[0].State.Phase == stage.PhaseCatchUp {
				g.host.SetChecks(sha, githost.Check{Name: "build", State: githost.CheckFailed, Kind: "check_run", Note: "does not compile on the new main"})
				red, g.place.OnPush = true, told
			}
		}
		g.place.SetScript(func(ctx context.Context, c work.Command, in map[string]string) work.Result {
			if c.Role == stage.Tester && len(g.forge.bases()) == 0 { // main moves meanwhile
				g.place.SetRemote(appRepo, "main", "m1")
			}
			return goodAgent(ctx, c, in)
		})
		g.move(appProject, item, stage.StatusToAnalyse)
		g.settle(10 * time.Second)
		g.move(appProject, item, stage.StatusApproved)
		for range 120 {
			if g.settle(time.Second); red {
				break
			}
		}
		require.Empty(g, g.forge.bases(), "what does not work on the new main has not been merged")
		require.True(g, contains(g.comments(appProject, item), "the branch is behind main, which is at m1; it is brought up to date and tested again"))
		g.settle(2 * time.Minute)
		require.True(g, contains(g.comments(appProject, item), "does not compile on the new main"))
		require.Equal(g, stage.Done, g.task(item).State.Stage, g.comments(appProject, item))
		require.Equal(g, []string{"m1"}, g.forge.bases())
		require.Equal(g, 2, count(g.roles(), stage.Developer), "once for the red tests")
		g.free()
	})
}

// A task that has been sent back as often as may be is brought up to date all the same.
func TestBehindCostsNoRetry(t *testing.T) {
	gateOff(t, func(g *gateRig) {
		item := g.card(appProject, "x")
		reviews := 0
		g.place.SetScript(func(ctx context.Context, c work.Command, in map[string]string) work.Result {
			switch c.Role {
			case stage.Reviewer:
				result := goodAgent(ctx, c, in)
				if reviews++; reviews <= 3 {
					in[work.ReportPath] = "---\nverdict: changes_requested\nsha: " + c.Env["SIGNALBOX_SHA"] + "\n---\n"
				}
				return result
			case stage.Tester:
				g.place.SetRemote(appRepo, "main", "m1")
			default:
			}
			return goodAgent(ctx, c, in)
		})
		g.toDone(appProject, item)
		g.settle(2 * time.Minute)
		require.Equal(g, stage.Done, g.task(item).State.Stage, g.comments(appProject, item))
		require.Equal(g, 3, g.task(item).State.Retries)
	})
}

// Of two tasks that are ready at once the second is tested on top of the first.
func TestGateOffTwo(t *testing.T) {
	gateOff(t, func(g *gateRig) {
		one, two := g.card(appProject, "one"), g.card(appProject, "two")
		for _, item := range []string{one, two} {
			g.move(appProject, item, stage.StatusToAnalyse)
		}
		g.settle(10 * time.Second)
		for _, item := range []string{one, two} {
			g.move(appProject, item, stage.StatusApproved)
		}
		g.settle(10 * time.Minute)
		require.Len(g, g.forge.bases(), 2)
		for _, item := range []string{one, two} {
			require.Equal(g, stage.Done, g.task(item).State.Stage)
		}
		head := g.task(two).State.Head
		if g.forge.bases()[1] != g.place.Base(head) {
			head = g.task(one).State.Head
		}
		require.Equal(g, g.forge.bases()[1], g.place.Base(head), "merged on the main that it was tested on")
		g.free()
	})
}
