package mergegate_test

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// drawn is a number below n that depends on nothing but what it is for: a life under another policy meets the same.
func drawn(n int, of ...any) int {
	h := fnv.New64a()
	fmt.Fprint(h, of...)
	return int(h.Sum64() % uint64(n))
}

// ended is how a card of a quarter has ended.
type ended struct {
	stage stage.Stage
	took  time.Duration // since the beginning of the quarter
	runs  int
}

// features makes those with the merge gate.
type features = func() []orchestrator.Feature

// change makes a policy of the one without the merge gate.
type change = func(*gateRig, features)

// quarter lives through cards of one repository, whose agents, CI and people take their time, under a policy.
func quarter(t *testing.T, seed int, policy change, over func(*gateRig, features, map[string]ended)) {
	t.Helper()
	mergeGate(t, func(g *gateRig) {
		g.Shutdown()
		gate := g.Features
		g.Features = nil
		g.Place.SetRemote(AppRepo, "main", "main-0") // where branches begin
		policy(g, gate)
		var mu sync.Mutex
		tries := map[string]int{}
		g.Place.SetScript(func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			mu.Lock()
			tries[c.WorkItem+string(c.Role)]++
			n := tries[c.WorkItem+string(c.Role)]
			mu.Unlock()
			began := time.Now()
			time.Sleep(time.Duration(1+drawn(20, seed, c.WorkItem, c.Role, n)) * time.Minute)
			r := GoodAgent(ctx, c, files)
			if c.Role == stage.Architect && slices.Contains(g.Projects[0].Required[stage.Architecture], "threats.md") && n > 1 {
				files[c.Env["SIGNALBOX_DOCS"]+"/threats.md"] = "threats"
			}
			r.StartedAt, r.FinishedAt = began, time.Now()
			return r
		})
		g.Place.OnPush = func(repo, branch, sha string) {
			g.Host.Push(repo, branch, sha)
			go func() {
				time.Sleep(time.Duration(2+drawn(10, seed, branch)) * time.Minute)
				g.Host.SetChecks(sha, githost.Check{Name: "build", State: githost.CheckPassed, Kind: "check_run"})
			}()
		}
		g.Start()
		began := time.Now()
		items, asked, merged := map[string]int{}, map[string]time.Time{}, map[string]bool{}
		for i := range 2 + drawn(4, seed, "cards") {
			items[g.Card(App, fmt.Sprintf("card %d", i))] = i
		}
		for minute := range 24 * 60 {
			for item, i := range items {
				if minute == drawn(8*60, seed, i) {
					g.Move(App, item, stage.StatusToAnalyse)
				}
			}
			g.Settle(time.Minute)
			for item, i := range items {
				if minute <= drawn(8*60, seed, i) {
					continue
				}
				if sha := g.Task(item).State.MergeSHA; sha != "" && !merged[sha] {
					merged[sha] = true
					g.Place.SetRemote(AppRepo, "main", sha) // the host of a rig without the gate moves no main
				}
				if g.Task(item).State.Hold != stage.HoldApproval {
					delete(asked, item)
				} else if asked[item].IsZero() {
					asked[item] = time.Now()
				} else if time.Since(asked[item]).Round(time.Minute) == time.Duration(5+drawn(50, seed, i))*time.Minute {
					g.Set(item, stage.StatusApproved)
				}
			}
		}
		out := map[string]ended{}
		for item := range items {
			row := g.Task(item)
			runs, err := g.Store.AgentRuns(context.Background(), row.ID)
			require.NoError(g, err)
			out[row.WorkItemID] = ended{row.State.Stage, row.StageEnteredAt.Sub(began), len(runs)}
		}
		over(g, gate, out)
	})
}

// A backtest of no change is the history itself, and one of another policy predicts how a quarter ends under it. QUARTERS is how
// many there are of each policy.
func TestBacktestPredictsTheRun(t *testing.T) {
	policies := map[string]change{
		"merge gate": func(g *gateRig, gate features) { g.Features = func() []orchestrator.Feature { return gate()[1:] } },
		"a further file": func(g *gateRig, _ features) {
			g.Projects[0].Required = map[stage.Stage][]string{stage.Architecture: {"design.md", "threats.md"}}
		},
		"other approvers": func(g *gateRig, _ features) { g.Projects[0].People = task.People{Approvers: []string{"nobody"}} },
	}
	same := func(*gateRig, features) {}
	quarters, err := strconv.Atoi(cmp.Or(os.Getenv("QUARTERS"), "10"))
	require.NoError(t, err, "QUARTERS")
	if testing.Short() {
		quarters = 2
	}
	for name, policy := range policies {
		t.Run(name, func(t *testing.T) {
			cards, ends, times, runs := 0, 0, 0, 0
			var off []string
			var missed, moved time.Duration
			for seed := range quarters {
				var predicted []admin.Prediction
				var history, lived map[string]ended
				quarter(t, seed, same, func(g *gateRig, gate features, e map[string]ended) {
					history = e
					backtest := func() (list []admin.Prediction) {
						list, err := admin.Backtest(context.Background(), g.Engine, time.Time{})
						require.NoError(g, err)
						require.Len(g, list, len(e))
						return list
					}
					for _, p := range backtest() {
						require.Equal(g, admin.OutcomeSame, p.Outcome, p.Why)
						require.Equal(g, []int64{0, 0, 0}, []int64{int64(p.By), int64(p.Runs), p.MicroUSD})
					}
					g.Shutdown()
					policy(g, gate)
					g.Start()
					predicted = backtest()
				})
				quarter(t, seed, policy, func(_ *gateRig, _ features, e map[string]ended) { lived = e })
				require.Len(t, predicted, len(lived))
				require.ElementsMatch(t, slices.Collect(maps.Keys(history)), slices.Collect(maps.Keys(lived)))
				for _, p := range predicted {
					cards++
					was, is := history[p.WorkItem], lived[p.WorkItem]
					took := was.took + p.By
					if p.Stage == is.stage {
						ends++
					}
					if is.stage != stage.Done || (took-is.took).Abs() <= is.took/5 {
						times++
					} else {
						off = append(off, fmt.Sprintf("%d %s: %s predicted, %s taken, %s before", seed, p.WorkItem, took, is.took, was.took))
					}
					if is.stage == stage.Done {
						missed, moved = missed+(took-is.took).Abs(), moved+(is.took-was.took).Abs()
					}
					if is.runs == was.runs+p.Runs {
						runs++
					}
				}
			}
			t.Logf("%d quarters, %d cards: %d end as predicted, %d in time, %d with as many runs; of %s that they ended at another time %s were missed; off: %q",
				quarters, cards, ends, times, runs, moved, missed, off)
			require.GreaterOrEqual(t, 100*ends, 95*cards)
			require.GreaterOrEqual(t, 100*times, 95*cards)
			require.LessOrEqual(t, missed, moved, "better than no answer")
			if name == "merge gate" { // a further run is as long as it likes
				require.LessOrEqual(t, missed, moved/5)
			}
		})
	}
}
