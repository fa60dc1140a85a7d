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

// A branch that main has left behind is rebased, tested again and merged on the
// main that it was tested on.
func TestMergeGate(t *testing.T) {
	mergeGate(t, func(g *gateRig) {
		item := g.card(appProject, "x")
		g.toDone(appProject, item)
		task := g.task(item)
		require.Equal(g, stage.Done, task.State.Stage, g.comments(appProject, item))
		require.Equal(g, []string{"m0"}, g.forge.bases())
		g.free()
		results, err := g.store.GateResults(context.Background(), task.ID)
		require.NoError(g, err)
		var seen []string
		for _, v := range results {
			seen = append(seen, v.Verdict.Check+" "+v.Verdict.Outcome.String())
		}
		require.Contains(g, seen, checks.BranchMergeable+" green")
		require.Contains(g, seen[len(seen)-2], checks.CIGreen+" green", "tested again after it was brought up to date")
	})
}

// A branch that is up to date is not pushed, so that CI does not start.
func TestMergeGateUpToDate(t *testing.T) {
	mergeGate(t, func(g *gateRig) {
		g.place.SetRemote(appRepo, "main", "")
		pushes := map[string]int{}
		told := g.place.OnPush
		g.place.OnPush = func(repo, branch, sha string) { pushes[sha]++; told(repo, branch, sha) }
		item := g.card(appProject, "x")
		g.toDone(appProject, item)
		require.Equal(g, stage.Done, g.task(item).State.Stage)
		require.Len(g, pushes, 8, "the request, and what the agents have committed")
		for sha, n := range pushes {
			require.Equal(g, 1, n, sha)
		}
	})
}

func TestMergeGateBusy(t *testing.T) {
	mergeGate(t, func(g *gateRig) {
		ctx := context.Background()
		other, err := g.leases.Acquire(ctx, mergeLease, "somebody", time.Hour)
		require.NoError(g, err)
		item := g.card(appProject, "x")
		g.toDone(appProject, item)
		require.Equal(g, stage.PhaseCatchUp, g.task(item).State.Phase)
		require.Equal(g, "The merge gate: 2nd in line to merge in acme/app, behind somebody.", g.summary(item))
		v, err := g.engine.QueueView(ctx)
		require.NoError(g, err)
		raw, err := v.MarshalJSON()
		require.NoError(g, err)
		require.Contains(g, string(raw), `"why":"2nd in line to merge in acme/app, behind somebody"`, "the same words")
		require.NoError(g, g.leases.Release(ctx, other))
		g.settle(2 * time.Minute)
		require.Equal(g, stage.Done, g.task(item).State.Stage)

		// One that stays busy is waited for, without a look at it again and again, until it ends.
		_, err = g.leases.Acquire(ctx, mergeLease, "somebody", 24*time.Hour)
		require.NoError(g, err)
		second := g.card(appProject, "y")
		g.toDone(appProject, second)
		g.settle(20 * time.Hour)
		require.Equal(g, stage.PhaseCatchUp, g.task(second).State.Phase)
		require.Equal(g, stage.HoldNone, g.task(second).State.Hold)
		for _, j := range g.open() {
			require.LessOrEqual(g, j.Attempt, 2, j.Kind)
		}
		g.settle(5 * time.Hour)
		require.Equal(g, stage.Done, g.task(second).State.Stage, "a lease that nobody renews ends by itself")
	})
}

// A conflict goes to the developer, who resolves it.
func TestMergeGateConflict(t *testing.T) {
	mergeGate(t, func(g *gateRig) {
		item := g.card(appProject, "x")
		g.move(appProject, item, stage.StatusToAnalyse)
		g.settle(10 * time.Second)
		branch := g.task(item).Branch
		g.place.SetConflict(appRepo, branch, "src/a.go", "src/b.go")
		g.place.SetScript(instead(stage.Developer, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			if c.Run > 6 {
				require.Contains(g, c.Prompt, "the branch conflicts with main at m0 in src/a.go, src/b.go: rebase it onto origin/main and resolve that")
				g.place.SetConflict(appRepo, branch)
			}
			return goodAgent(ctx, c, files)
		}))
		g.move(appProject, item, stage.StatusApproved)
		g.settle(3 * time.Minute)
		require.Equal(g, stage.Done, g.task(item).State.Stage, g.comments(appProject, item))
		require.Equal(g, 2, count(g.roles(), stage.Developer))
		g.free()
	})
}

// Red tests of what would be merged go to the developer too.
func TestMergeGateRedRetest(t *testing.T) {
	mergeGate(t, func(g *gateRig) {
		told, red := g.place.OnPush, false
		item := g.card(appProject, "x")
		g.place.OnPush = func(repo, branch, sha string) {
			told(repo, branch, sha)
			if list, _ := g.store.Tasks(context.Background(), orchestrator.TaskFilter{Branch: branch}); !red && list[0].State.Phase == stage.PhaseCatchUp && sha != list[0].State.Head {
				red = true // what was rebased
				g.host.SetChecks(sha, githost.Check{Name: "build", State: githost.CheckFailed, Kind: "check_run", Note: "does not compile on the new main"})
			}
		}
		g.move(appProject, item, stage.StatusToAnalyse)
		g.settle(10 * time.Second)
		g.move(appProject, item, stage.StatusApproved)
		for range 120 {
			if g.settle(time.Second); g.task(item).State.Retries > 0 {
				break
			}
		}
		require.Equal(g, stage.Development, g.task(item).State.Stage)
		require.True(g, contains(g.comments(appProject, item), "does not compile on the new main"))
		require.Empty(g, g.forge.bases())
		g.settle(3 * time.Minute)
		require.Equal(g, stage.Done, g.task(item).State.Stage)
		g.free()
	})
}

// Main moves between the tests and the merge: nothing is merged that was not
// tested on it.
func TestMergeGateMainMoves(t *testing.T) {
	mergeGate(t, func(g *gateRig) {
		g.setCI("")
		item := g.card(appProject, "x")
		g.toDone(appProject, item)
		pass := func() {
			g.host.SetChecks(g.task(item).State.Head, githost.Check{Name: "build", State: githost.CheckPassed, Kind: "check_run"})
		}
		for g.task(item).State.Phase != stage.PhaseRetest {
			pass()
			g.settle(10 * time.Second)
		}
		require.Equal(g, "Waits for CI before the merge.", g.summary(item))
		require.Equal(g, "m0", g.task(item).State.Base)
		g.place.SetRemote(appRepo, "main", "m1")
		pass()
		g.settle(40 * time.Second)
		task := g.task(item)
		require.Equal(g, stage.PhaseRetest, task.State.Phase)
		require.Equal(g, "m1", task.State.Base)
		require.Equal(g, 1, task.State.Retests)
		require.Empty(g, g.forge.bases())
		require.True(g, contains(g.comments(appProject, item), "main has moved from m0, where the branch was tested, to m1; it is brought up to date and tested again"))
		pass()
		g.settle(time.Minute)
		require.Equal(g, stage.Done, g.task(item).State.Stage)
		require.Equal(g, []string{"m1"}, g.forge.bases())
		g.free()
	})
}

// A person confirms a deployment; when main moves before it is merged, what would
// land is something else, and is to be confirmed again.
func TestMergeGateConfirm(t *testing.T) {
	mergeGate(t, func(g *gateRig) {
		g.place.SetRemote(selfRepo, "main", "m0")
		item := g.card(selfProject, "x")
		g.toDone(selfProject, item)
		require.Equal(g, stage.HoldConfirm, g.task(item).State.Hold)
		g.settle(2 * time.Hour)
		l, held, err := g.leases.Holder(context.Background(), "merge/"+selfRepo)
		require.NoError(g, err)
		require.True(g, held, "renewed while a person thinks")
		require.Equal(g, "SLF-1 (task 1)", l.Holder)
		g.place.SetRemote(selfRepo, "main", "m1")
		g.move(selfProject, item, stage.StatusConfirmDeploy)
		g.settle(time.Minute)
		require.Equal(g, stage.HoldConfirm, g.task(item).State.Hold, "asked again")
		require.Empty(g, g.forge.bases())
		g.move(selfProject, item, stage.StatusConfirmDeploy)
		g.settle(time.Minute)
		require.Equal(g, stage.Done, g.task(item).State.Stage)
		require.Equal(g, []string{"m1"}, g.forge.bases())
	})
}

// Code that comes after the tests is not merged on their word.
func TestMergeGateLateCode(t *testing.T) {
	mergeGate(t, func(g *gateRig) {
		sneaked := false
		g.place.SetScript(instead(stage.Deployer, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			if c.Env["SIGNALBOX_PHASE"] == string(stage.PhaseAwait) && !sneaked {
				sneaked = true
				files["src/late.go"] = "package late"
			}
			return goodAgent(ctx, c, files)
		}))
		item := g.card(selfProject, "x")
		g.toDone(selfProject, item)
		g.move(selfProject, item, stage.StatusConfirmDeploy)
		g.settle(time.Minute)
		require.Equal(g, stage.HoldConfirm, g.task(item).State.Hold)
		require.Empty(g, g.forge.bases())
		require.True(g, contains(g.comments(selfProject, item), "the branch has other code at"))
		g.move(selfProject, item, stage.StatusConfirmDeploy)
		g.settle(time.Minute)
		require.Equal(g, stage.Done, g.task(item).State.Stage)
	})
}

// The lease comes back whatever ends the wait.
func TestMergeGateEnds(t *testing.T) {
	for name, end := range map[string]func(*gateRig, string){
		"STOP":              func(g *gateRig, item string) { g.move(appProject, item, stage.StatusStop) },
		"rejected":          func(g *gateRig, item string) { g.move(appProject, item, stage.StatusRejected) },
		"merged by a human": func(g *gateRig, item string) { g.mergedByHand(g.task(item)) },
		"retry": func(g *gateRig, item string) {
			require.NoError(g, g.engine.Retry(context.Background(), g.task(item).ID, operator))
		},
	} {
		t.Run(name, func(t *testing.T) {
			mergeGate(t, func(g *gateRig) {
				g.place.SetScript(instead(stage.Deployer, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
					g.setCI("")
					return goodAgent(ctx, c, files)
				}))
				item := g.card(appProject, "x")
				g.toDone(appProject, item)
				require.Equal(g, stage.PhaseRetest, g.task(item).State.Phase)
				_, held, err := g.leases.Holder(context.Background(), mergeLease)
				require.NoError(g, err)
				require.True(g, held)
				g.place.SetScript(instead(stage.Deployer, hang))
				g.place.SetScript(instead(stage.Developer, hang))
				end(g, item)
				g.settle(500 * time.Millisecond)
				if name == "retry" {
					g.settle(time.Minute)
					return // the deployer has been asked again, and the gate took the lease again
				}
				g.settle(10 * time.Second)
				g.free()
			})
		})
	}
}

// A process that dies in the gate is followed by one that goes on.
func TestMergeGateRestart(t *testing.T) {
	for wait := range 8 {
		mergeGate(t, func(g *gateRig) {
			item := g.card(appProject, "x")
			g.move(appProject, item, stage.StatusToAnalyse)
			g.settle(10 * time.Second)
			g.move(appProject, item, stage.StatusApproved)
			for g.task(item).State.Stage != stage.DeployStaging {
				g.settle(100 * time.Millisecond)
			}
			for range 6 {
				g.settle(time.Duration(wait) * 150 * time.Millisecond)
				g.shutdown()
				g.start()
			}
			g.settle(2 * time.Minute)
			require.Equal(g, stage.Done, g.task(item).State.Stage)
			require.Len(g, g.forge.bases(), 1)
			g.free()
		})
	}
}

// Two tasks that are ready at once land one after the other, the second on top of
// the first.
func TestMergeGateTwo(t *testing.T) {
	mergeGate(t, func(g *gateRig) {
		one, two := g.card(appProject, "one"), g.card(appProject, "two")
		for _, item := range []string{one, two} {
			g.move(appProject, item, stage.StatusToAnalyse)
		}
		g.settle(10 * time.Second)
		for _, item := range []string{one, two} {
			g.move(appProject, item, stage.StatusApproved)
		}
		g.settle(10 * time.Minute)
		require.Equal(g, stage.Done, g.task(one).State.Stage)
		require.Equal(g, stage.Done, g.task(two).State.Stage)
		require.Len(g, g.forge.bases(), 2)
		require.Equal(g, "m0", g.forge.bases()[0])
		require.NotEqual(g, "m0", g.forge.bases()[1])
		g.free()
	})
}

// Somebody who pushes to main in the very moment of the merge cannot be kept from
// it; that the result was not tested is told.
func TestMergeGateLandedOther(t *testing.T) {
	mergeGate(t, func(g *gateRig) {
		item := g.card(appProject, "x")
		g.forge.before = func() { g.place.SpoilTree(g.task(item).State.Head) }
		g.toDone(appProject, item)
		require.Equal(g, stage.Done, g.task(item).State.Stage)
		require.Contains(g, g.notices(), "is not what was tested at")
	})
}

// Tasks that are in the gate's hands when it is switched off go on without it.
func TestMergeGateSwitchedOff(t *testing.T) {
	ctx := context.Background()
	for phase, prepare := range map[stage.Phase]func(*gateRig){
		stage.PhaseCatchUp: func(g *gateRig) {
			_, err := g.leases.Acquire(ctx, mergeLease, "somebody", time.Hour)
			require.NoError(g, err)
		},
		stage.PhaseRetest: func(g *gateRig) {
			g.place.SetScript(instead(stage.Deployer, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
				g.setCI("")
				return goodAgent(ctx, c, files)
			}))
		},
	} {
		mergeGate(t, func(g *gateRig) {
			prepare(g)
			item := g.card(appProject, "x")
			g.toDone(appProject, item)
			require.Equal(g, phase, g.task(item).State.Phase)
			g.shutdown()
			g.off = true
			g.start()
			if l, held, err := g.leases.Holder(ctx, mergeLease); phase == stage.PhaseCatchUp {
				require.NoError(g, err)
				require.True(g, held)
				require.NoError(g, g.leases.Release(ctx, l))
			}
			g.setCI(githost.CheckPassed)
			if phase == stage.PhaseRetest {
				g.host.SetChecks(g.task(item).State.Head, githost.Check{Name: "build", State: githost.CheckPassed, Kind: "check_run"})
			}
			g.settle(2 * time.Minute)
			require.Equal(g, stage.Done, g.task(item).State.Stage, "%+v", g.task(item).State)
			require.Equal(g, []string{"m0"}, g.forge.bases())
			g.free()
		})
	}
}
