package mergegate_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gates/checks"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/explain"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// A branch that main has left behind is rebased, tested again and merged on the
// main that it was tested on.
func TestMergeGate(t *testing.T) {
	mergeGate(t, func(g *gateRig) {
		item := g.Finish("x")
		task := g.Task(item)
		require.Equal(g, stage.Done, task.State.Stage, g.Comments(App, item))
		require.Equal(g, []string{"m0"}, g.forge.bases())
		g.free()
		results, err := g.Store.GateResults(context.Background(), task.ID)
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
		g.Place.SetRemote(AppRepo, "main", "")
		pushes := map[string]int{}
		told := g.Place.OnPush
		g.Place.OnPush = func(repo, branch, sha string) { pushes[sha]++; told(repo, branch, sha) }
		item := g.Finish("x")
		g.Stands(item, stage.Done)
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
		item := g.Finish("x")
		require.Equal(g, stage.PhaseCatchUp, g.Task(item).State.Phase)
		require.Equal(g, "The merge gate: number 2 in line to merge in acme/app, behind somebody.", g.summary(item))
		v, err := explain.ReadQueue(ctx, g.Engine)
		require.NoError(g, err)
		raw, err := v.MarshalJSON()
		require.NoError(g, err)
		require.Contains(g, string(raw), `"why":"number 2 in line to merge in acme/app, behind somebody"`, "the same words")
		require.NoError(g, g.leases.Release(ctx, other))
		g.Settle(2 * time.Minute)
		g.Stands(item, stage.Done)

		// One that stays busy is waited for, without a look at it again and again, until it ends.
		_, err = g.leases.Acquire(ctx, mergeLease, "somebody", 24*time.Hour)
		require.NoError(g, err)
		second := g.Finish("y")
		g.Settle(20 * time.Hour)
		require.Equal(g, stage.PhaseCatchUp, g.Task(second).State.Phase)
		g.Waits(second, stage.HoldNone)
		for _, j := range g.Open() {
			require.LessOrEqual(g, j.Attempt, 2, j.Kind)
		}
		g.Settle(5 * time.Hour)
		require.Equal(g, stage.Done, g.Task(second).State.Stage, "a lease that nobody renews ends by itself")
	})
}

// A conflict goes to the developer, who resolves it.
func TestMergeGateConflict(t *testing.T) {
	mergeGate(t, func(g *gateRig) {
		item := g.Begin("x")
		g.Settle(10 * time.Second)
		branch := g.Task(item).Branch
		g.Place.SetConflict(AppRepo, branch, "src/a.go", "src/b.go")
		g.Place.SetScript(Instead(stage.Developer, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			if c.Run > 6 {
				require.Contains(g, c.Prompt, "the branch conflicts with main at m0 in src/a.go, src/b.go: rebase it onto origin/main and resolve that")
				g.Place.SetConflict(AppRepo, branch)
			}
			return GoodAgent(ctx, c, files)
		}))
		g.Set(item, stage.StatusApproved)
		g.Settle(3 * time.Minute)
		require.Equal(g, stage.Done, g.Task(item).State.Stage, g.Comments(App, item))
		require.Equal(g, 2, g.Ran(stage.Developer))
		g.free()

		g.Shutdown()
		g.Features = nil
		g.Start()
		list, err := admin.Backtest(context.Background(), g.Engine, time.Time{})
		require.NoError(g, err)
		require.Equal(g, stage.Done, list[0].Stage)
		require.Zero(g, list[0].Runs, "without the gate the merge would have met the conflict: %v", list[0])
	})
}

// Red tests of what would be merged go to the developer too.
func TestMergeGateRedRetest(t *testing.T) {
	mergeGate(t, func(g *gateRig) {
		told, red := g.Place.OnPush, false
		item := g.Card(App, "x")
		g.Place.OnPush = func(repo, branch, sha string) {
			told(repo, branch, sha)
			if list, _ := g.Store.Tasks(context.Background(), task.Filter{Branch: branch}); !red && list[0].State.Phase == stage.PhaseCatchUp && sha != list[0].State.Head {
				red = true // what was rebased
				g.red(sha)
			}
		}
		g.Set(item, stage.StatusToAnalyse)
		g.Settle(10 * time.Second)
		g.Set(item, stage.StatusApproved)
		for range 120 {
			if g.Settle(time.Second); g.Task(item).State.Retries > 0 {
				break
			}
		}
		g.Stands(item, stage.Development)
		require.True(g, g.Commented(App, item, "does not compile on the new main"))
		require.Empty(g, g.forge.bases())
		g.Settle(3 * time.Minute)
		g.Stands(item, stage.Done)
		g.free()
	})
}

// Main moves between the tests and the merge: nothing is merged that was not
// tested on it.
func TestMergeGateMainMoves(t *testing.T) {
	mergeGate(t, func(g *gateRig) {
		g.SetCI("")
		item := g.Finish("x")
		for g.Task(item).State.Phase != stage.PhaseRetest {
			g.green(item)
			g.Settle(10 * time.Second)
		}
		require.Equal(g, "Waits for CI before the merge.", g.summary(item))
		require.Equal(g, "m0", g.Task(item).State.Base)
		g.Place.SetRemote(AppRepo, "main", "m1")
		g.green(item)
		g.Settle(40 * time.Second)
		require.Equal(g, stage.PhaseRetest, g.Task(item).State.Phase)
		require.Equal(g, "m1", g.Task(item).State.Base)
		require.Equal(g, 1, g.Task(item).State.Retests)
		require.Empty(g, g.forge.bases())
		require.True(g, g.Commented(App, item, "main has moved from m0, where the branch was tested, to m1; it is brought up to date and tested again"))
		g.forge.checked = func() { g.Place.SetRemote(AppRepo, "main", "m2") } // the last look is right before the merge
		old := g.Task(item)
		old.State.Base = "" // of a program of before
		require.NoError(g, g.Store.Commit(context.Background(), task.Commit{Task: &old}))
		g.green(item)
		g.Settle(40 * time.Second)
		require.True(g, g.Commented(App, item, "it is not known on which commit of main the branch was tested; it is at m1 now"))
		require.True(g, g.Commented(App, item, "the branch is behind main, which is at m2"))
		g.green(item)
		g.Settle(time.Minute)
		g.Stands(item, stage.Done)
		require.Equal(g, []string{"m2"}, g.forge.bases())
		g.free()
	})
}

// A person confirms a deployment; when main moves before it is merged, what would
// land is something else, and is to be confirmed again.
func TestMergeGateConfirm(t *testing.T) {
	mergeGate(t, func(g *gateRig) {
		g.Place.SetRemote("acme/self", "main", "m0")
		item := g.Card(Self, "x")
		g.ToDone(Self, item)
		g.Waits(item, stage.HoldConfirm)
		g.Settle(2 * time.Hour)
		l, held, err := g.leases.Holder(context.Background(), "merge/"+"acme/self")
		require.NoError(g, err)
		require.True(g, held, "renewed while a person thinks")
		require.Equal(g, "SLF-1 (task 1)", l.Holder)
		g.Place.SetRemote("acme/self", "main", "m1")
		g.Move(Self, item, stage.StatusConfirmDeploy)
		g.Settle(time.Minute)
		require.Equal(g, stage.HoldConfirm, g.Task(item).State.Hold, "asked again")
		require.Empty(g, g.forge.bases())
		g.Move(Self, item, stage.StatusConfirmDeploy)
		g.Settle(time.Minute)
		g.Stands(item, stage.Done)
		require.Equal(g, []string{"m1"}, g.forge.bases())
	})
}

// Code that comes after the tests is not merged on their word.
func TestMergeGateLateCode(t *testing.T) {
	mergeGate(t, func(g *gateRig) {
		sneaked := false
		g.Place.SetScript(Instead(stage.Deployer, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			if c.Env["SIGNALBOX_PHASE"] == string(stage.PhaseAwait) && !sneaked {
				sneaked = true
				files["src/late.go"] = "package late"
			}
			return GoodAgent(ctx, c, files)
		}))
		item := g.Card(Self, "x")
		g.ToDone(Self, item)
		g.Move(Self, item, stage.StatusConfirmDeploy)
		g.Settle(time.Minute)
		g.Waits(item, stage.HoldConfirm)
		require.Empty(g, g.forge.bases())
		require.True(g, g.Commented(Self, item, "the branch has other code at"))
		g.Move(Self, item, stage.StatusConfirmDeploy)
		g.Settle(time.Minute)
		g.Stands(item, stage.Done)
	})
}

// The lease comes back whatever ends the wait.
func TestMergeGateEnds(t *testing.T) {
	for name, end := range map[string]func(*gateRig, string){
		"STOP":              func(g *gateRig, item string) { g.Set(item, stage.StatusStop) },
		"rejected":          func(g *gateRig, item string) { g.Set(item, stage.StatusRejected) },
		"merged by a human": func(g *gateRig, item string) { g.MergeByHand(g.Task(item)) },
		"retry": func(g *gateRig, item string) {
			require.NoError(g, admin.Retry(context.Background(), g.Engine, g.Task(item).ID, admin.OperatorBy(stage.ViaAPI)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			mergeGate(t, func(g *gateRig) {
				g.Place.SetScript(Instead(stage.Deployer, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
					g.SetCI("")
					return GoodAgent(ctx, c, files)
				}))
				item := g.Finish("x")
				require.Equal(g, stage.PhaseRetest, g.Task(item).State.Phase)
				_, held, err := g.leases.Holder(context.Background(), mergeLease)
				require.NoError(g, err)
				require.True(g, held)
				g.Place.SetScript(Instead(stage.Deployer, Hang))
				g.Place.SetScript(Instead(stage.Developer, Hang))
				end(g, item)
				g.Settle(500 * time.Millisecond)
				if name == "retry" {
					g.Settle(time.Minute)
					return // the deployer has started again, and the gate took the lease again
				}
				g.Settle(10 * time.Second)
				g.free()
			})
		})
	}
}

// A process that dies in the gate is followed by one that goes on.
func TestMergeGateRestart(t *testing.T) {
	for wait := range 8 {
		mergeGate(t, func(g *gateRig) {
			item := g.Begin("x")
			g.Settle(10 * time.Second)
			g.Set(item, stage.StatusApproved)
			for g.Task(item).State.Stage != stage.DeployStaging {
				g.Settle(100 * time.Millisecond)
			}
			for range 6 {
				g.Settle(time.Duration(wait) * 150 * time.Millisecond)
				g.Shutdown()
				g.Start()
			}
			g.Settle(2 * time.Minute)
			g.Stands(item, stage.Done)
			require.Len(g, g.forge.bases(), 1)
			g.free()
		})
	}
}

// Two tasks that are ready at once land one after the other, the second on top of
// the first.
func TestMergeGateTwo(t *testing.T) {
	mergeGate(t, func(g *gateRig) {
		one, two := g.both()
		g.Stands(one, stage.Done)
		g.Stands(two, stage.Done)
		require.Len(g, g.forge.bases(), 2)
		require.Equal(g, "m0", g.forge.bases()[0])
		require.NotEqual(g, "m0", g.forge.bases()[1])
		g.free()
	})
}

// Somebody who pushes to main in the very moment of the merge cannot be kept from
// it; that the result was not tested is reported.
func TestMergeGateLandedOther(t *testing.T) {
	mergeGate(t, func(g *gateRig) {
		item := g.Card(App, "x")
		g.forge.before = func() { g.Place.SpoilTree(g.Task(item).State.Head) }
		g.ToDone(App, item)
		g.Stands(item, stage.Done)
		require.Contains(g, g.Notices(), "is not what was tested at")
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
			g.Place.SetScript(Instead(stage.Deployer, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
				g.SetCI("")
				return GoodAgent(ctx, c, files)
			}))
		},
	} {
		mergeGate(t, func(g *gateRig) {
			prepare(g)
			item := g.Finish("x")
			require.Equal(g, phase, g.Task(item).State.Phase)
			g.Shutdown()
			g.off = true
			g.Start()
			if l, held, err := g.leases.Holder(ctx, mergeLease); phase == stage.PhaseCatchUp {
				require.NoError(g, err)
				require.True(g, held)
				require.NoError(g, g.leases.Release(ctx, l))
			}
			g.SetCI(githost.CheckPassed)
			if phase == stage.PhaseRetest {
				g.green(item)
			}
			g.Settle(2 * time.Minute)
			require.Equal(g, stage.Done, g.Task(item).State.Stage, "%+v", g.Task(item).State)
			require.Equal(g, []string{"m0"}, g.forge.bases())
			g.free()
		})
	}
}

// A line that does not move is a person's to see to after a day: the card names who has the lease and since
// when, and In Progress has the task stand in line again without another run of an agent.
func TestMergeLineBound(t *testing.T) {
	mergeGate(t, func(g *gateRig) {
		g.Place.SetRemote("acme/self", "main", "m0")
		first := g.Card(Self, "x")
		g.ToDone(Self, first)
		require.Equal(g, stage.HoldConfirm, g.Task(first).State.Hold, "it keeps the lease while a person thinks")
		second := g.Card(Self, "y")
		g.ToDone(Self, second)
		g.Settle(23 * time.Hour)
		require.Equal(g, stage.PhaseCatchUp, g.Task(second).State.Phase)
		g.Waits(second, stage.HoldNone)
		g.Settle(2 * time.Hour)
		state := g.Task(second).State
		require.Equal(g, stage.HoldBlocked, state.Hold)
		since := g.Task(first).State.LeasedAt.UTC().Format(time.RFC3339)
		require.Contains(g, state.HoldReason, "it has stood in line for 1 d: number 2 in line to merge in acme/self, behind SLF-1; SLF-1 (task 1) has the merge lease since "+since)
		require.True(g, g.Commented(Self, second, "See to the task that has the merge lease, then set In Progress on the card to have it stand in line again."))
		require.Contains(g, g.Notices(), "has the merge lease since "+since)
		x := g.Explain(second)
		require.Equal(g, stage.StatusInProgress, x.Blockers[0].Status)
		deployed := g.Ran(stage.Deployer)
		g.Move(Self, second, stage.StatusInProgress)
		g.Settle(time.Hour)
		require.Equal(g, "The merge gate: number 2 in line to merge in acme/self, behind SLF-1.", g.summary(second))
		require.Equal(g, deployed, g.Ran(stage.Deployer))
		g.Move(Self, first, stage.StatusConfirmDeploy)
		g.Settle(2 * time.Minute)
		g.Stands(first, stage.Done)
		g.Waits(second, stage.HoldConfirm)
		g.Replays()
	})
}
