package budget_test

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/explain"
	"github.com/signalbox-dev/signalbox/orchestrator/features/budget"
	"github.com/signalbox-dev/signalbox/orchestrator/features/stop"
	"github.com/signalbox-dev/signalbox/orchestrator/memstore"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
	"github.com/signalbox-dev/signalbox/queue"
)

// books is the ledger, which can be made to fail.
type books struct {
	*memstore.Store
	fail atomic.Bool
}

func (b *books) Reservations(ctx context.Context, repo string) ([]task.Reservation, error) {
	if b.fail.Load() {
		return nil, errors.New("the disk is gone")
	}
	return b.Store.Reservations(ctx, repo)
}

// thrifty makes a rig with a budget and STOP; the options may be changed between
// two starts. Every run of the rig costs 1500 millionths, which is what is reserved.
func thrifty(t *testing.T, caps budget.Caps, f func(*Rig, *budget.Options, *books)) {
	t.Helper()
	caps.Run = memwork.Usage().MicroUSD
	o, b := &budget.Options{Caps: caps}, &books{}
	Run(t, func(r *Rig) {
		r.Options.MaxConcurrency = 8
		r.Features = func() []orchestrator.Feature {
			b.Store, o.Parts = r.Store, r.Parts()
			o.Store = b
			made, err := budget.New(*o)
			require.NoError(r, err)
			s, err := stop.Feature(r.Parts())
			require.NoError(r, err)
			return []orchestrator.Feature{s, made.Feature()}
		}
	}, func(r *Rig) { f(r, o, b) })
}

// waiting is the agent's job of a task that waits for the budget, and why.
func waitsForBudget(r *Rig, t task.Task) (job queue.Job, why string) {
	r.Helper()
	waits, err := r.Store.Waiting(context.Background(), queue.Filter{TaskID: t.ID, Pool: queue.PoolAgents})
	require.NoError(r, err)
	require.Len(r, waits, 1)
	require.Len(r, waits[0].Reasons, 1, "%+v", waits[0])
	return waits[0].Job, waits[0].Reasons[0].Text
}

// silent is an agent that says nothing of what it used.
func silent(ctx context.Context, c work.Command, files map[string]string) work.Result {
	result := GoodAgent(ctx, c, files)
	result.Usage = work.Usage{}
	return result
}

// An agent is its own meter: one that says nothing of what it used has cost what was
// reserved for it, and reaches the cap like any other.
func TestBudgetOfAgentsThatSayNothing(t *testing.T) {
	thrifty(t, budget.Caps{Task: 4500}, func(r *Rig, _ *budget.Options, _ *books) {
		r.Place.SetScript(silent)
		item := r.Finish("x")
		require.Equal(r, []stage.Role{stage.Analyst, stage.Architect, stage.Developer}, r.Roles())
		_, why := waitsForBudget(r, r.Task(item))
		require.Contains(r, why, "has cost 0.0045 USD (0.0045 USD of it for runs that reported no usage), and the next run")
	})
}

func TestBudgetOfATask(t *testing.T) {
	const words = "APP-1 (task 1) has cost 0.0045 USD, and the next run is taken to cost 0.0015 USD: together more than the cap of 0.0045 USD for a task"
	thrifty(t, budget.Caps{Task: 4500}, func(r *Rig, o *budget.Options, _ *books) {
		item := r.Finish("x")
		task := r.Task(item)
		require.Equal(r, stage.Review, task.State.Stage)
		require.Equal(r, []stage.Role{stage.Analyst, stage.Architect, stage.Developer}, r.Roles())
		job, why := waitsForBudget(r, task)
		require.Equal(r, words+" (budget)", why)
		require.Zero(r, job.Attempt, "it was never claimed: the hold came with the decision")
		require.Equal(r, why, r.Explain(item).Blockers[0].Why, "why says the same")
		v, err := explain.ReadQueue(context.Background(), r.Engine)
		require.NoError(r, err)
		require.Zero(r, v.Workers.Running)
		body, err := json.Marshal(v)
		require.NoError(r, err)
		require.Contains(r, string(body), `"budget":{"enabled":true,"task_cap_micro_usd":4500,"run_micro_usd":1500,"day":"2000-01-01","repos":[{"repo":"acme/app","spent_micro_usd":4500`)
		require.Equal(r, 2, strings.Count(string(body), words), "in the job and in the block")

		notice := "waits for the budget: " + words
		require.Equal(r, 1, strings.Count(r.Notices(), notice))
		r.Settle(50 * time.Hour)
		r.Shutdown()
		r.Start()
		r.Settle(time.Hour)
		require.Equal(r, 1, strings.Count(r.Notices(), "budget"), "once, and not again after a restart")
		require.Len(r, r.Roles(), 3)

		r.Shutdown()
		o.Caps.Task = 7500
		r.Start()
		r.Settle(time.Minute)
		require.Len(r, r.Roles(), 5, "a higher cap lets it go on")
		require.Equal(r, 2, strings.Count(r.Notices(), "budget"), "and is told when it is reached")
		r.Shutdown()
		o.Caps.Task = 0
		o.Caps.RepoDay = 1_000_000
		r.Start()
		r.Settle(time.Minute)
		r.Stands(item, stage.Done)
		r.Settle(48 * time.Hour)
		held, err := r.Store.Holds(context.Background())
		require.NoError(r, err)
		require.Empty(r, held)
	})
}

func TestBudgetOfADay(t *testing.T) {
	thrifty(t, budget.Caps{RepoDay: 4500}, func(r *Rig, _ *budget.Options, _ *books) {
		one, two, far := r.Card(App, "one"), r.Card(App, "two"), r.Card(Self, "far")
		r.ToDone(App, one)
		r.Stands(one, stage.Review)
		r.Set(two, stage.StatusToAnalyse)
		r.Move(Self, far, stage.StatusToAnalyse)
		r.Settle(time.Hour)
		require.Equal(r, 2, r.Ran(stage.Analyst), "another repository has its own day")
		_, why := waitsForBudget(r, r.Task(two))
		require.Contains(r, why, "acme/app has cost 0.0045 USD on 2000-01-01")
		require.Contains(r, why, "until 2000-01-02T00:00:00Z")
		require.Equal(r, 1, strings.Count(r.Notices(), "budget"), "one for the day, however many wait")
		until := time.Until(time.Date(2000, 1, 2, 0, 0, 0, 0, time.UTC))
		r.Settle(until - time.Second)
		require.Len(r, r.Roles(), 4)
		r.Settle(30 * time.Second)
		require.Len(r, r.Roles(), 7, "a new day has three runs")
		require.Equal(r, 2, r.Ran(stage.Reviewer)+r.Ran(stage.Tester), "the oldest task goes first")
		require.Equal(r, 2, strings.Count(r.Notices(), "budget"))
		r.Settle(48 * time.Hour)
		r.Stands(one, stage.Done)
		r.Waits(two, stage.HoldApproval)
	})
}

// A run that costs more than was reserved is known to the decision that it leads to.
func TestBudgetOfACostlyRun(t *testing.T) {
	thrifty(t, budget.Caps{Task: 4500}, func(r *Rig, _ *budget.Options, _ *books) {
		r.Place.SetScript(Instead(stage.Architect, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			res := GoodAgent(ctx, c, files)
			res.Usage.MicroUSD = 9000
			return res
		}))
		job, why := waitsForBudget(r, r.Task(r.Finish("x")))
		require.Contains(r, why, "has cost 0.0105 USD, and the next run")
		require.Zero(r, job.Attempt)
	})
}

func TestBudgetWithoutAPrice(t *testing.T) {
	thrifty(t, budget.Caps{Task: 1_000_000}, func(r *Rig, o *budget.Options, _ *books) {
		r.Place.SetScript(func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			res := GoodAgent(ctx, c, files)
			res.Usage.MicroUSD = 0
			return res
		})
		item := r.Finish("x")
		require.Len(r, r.Roles(), 1)
		_, why := waitsForBudget(r, r.Task(item))
		require.Contains(r, why, `APP-1 (task 1) has used the model "m", whose price is not known`)
		r.Settle(time.Hour)
		require.Equal(r, 1, strings.Count(r.Notices(), "budget"))
		r.Shutdown()
		o.Price = func(run task.AgentRun) (int64, bool) {
			return 1000 * int64(len(run.Usage.Model)), run.Usage.Model == "m"
		}
		r.Start()
		r.Settle(time.Minute)
		r.Stands(item, stage.Done)
	})
}

// A tool that never names its model has the price of the tool. Without one its runs cost their
// estimate, so that a cap holds nobody for ever.
func TestBudgetOfAModelWithoutAName(t *testing.T) {
	for name, c := range map[string]struct {
		price bool
		runs  int
		why   string
	}{
		"with the agent's price": {true, 5, "has cost 0.005 USD, and the next run"},
		"without a price":        {false, 3, "has cost 0.0045 USD (0.0045 USD of it for runs that reported no usage), and the next run"},
	} {
		t.Run(name, func(t *testing.T) {
			thrifty(t, budget.Caps{Task: 5500}, func(r *Rig, o *budget.Options, _ *books) {
				r.Shutdown()
				if c.price {
					o.Price = func(run task.AgentRun) (int64, bool) { return 1000, run.Agent == "script" }
				}
				r.Start()
				r.Place.SetScript(func(ctx context.Context, cmd work.Command, files map[string]string) work.Result {
					res := GoodAgent(ctx, cmd, files)
					res.Usage.MicroUSD, res.Usage.Model = 0, ""
					return res
				})
				item := r.Finish("x")
				require.Len(r, r.Roles(), c.runs)
				_, why := waitsForBudget(r, r.Task(item))
				require.Contains(r, why, c.why)
			})
		})
	}
}

// A run is taken to cost no more than its agent may.
func TestBudgetOfAnAgentWithALimit(t *testing.T) {
	thrifty(t, budget.Caps{Task: 3500}, func(r *Rig, _ *budget.Options, _ *books) {
		r.Shutdown()
		r.Projects[0].Agents = map[stage.Role]work.Agent{stage.Developer: {MicroUSD: 500}}
		r.Start()
		r.Finish("x")
		require.Equal(r, []stage.Role{stage.Analyst, stage.Architect, stage.Developer}, r.Roles())
	})
	// One that says nothing of what it used has cost what was reserved, and not what another agent might.
	thrifty(t, budget.Caps{Task: 4000}, func(r *Rig, _ *budget.Options, _ *books) {
		r.Shutdown()
		r.Projects[0].Agents = map[stage.Role]work.Agent{}
		for _, role := range stage.Roles() {
			r.Projects[0].Agents[role] = work.Agent{MicroUSD: 500}
		}
		r.Start()
		r.Place.SetScript(silent)
		r.Stands(r.Finish("x"), stage.Done)
	})
}

// The cost of an interrupted run is unknown: its estimate stays, so that a
// crash loop ends at the cap.
func TestBudgetCountsInterruptedRuns(t *testing.T) {
	thrifty(t, budget.Caps{Task: 4500}, func(r *Rig, _ *budget.Options, _ *books) {
		r.Place.SetScript(Hang)
		item := r.Begin("x")
		for range 6 {
			r.Settle(10 * time.Second)
			r.Shutdown()
			r.Start()
		}
		r.Settle(time.Minute)
		require.Len(r, r.Roles(), 3)
		_, why := waitsForBudget(r, r.Task(item))
		require.Contains(r, why, "has cost 0.00 USD, 0.0045 USD is reserved for runs whose cost is not known")
		r.Set(item, stage.StatusStop)
		r.Settle(72 * time.Hour)
		r.Cancelled(item)
		held, err := r.Store.Holds(context.Background())
		require.NoError(r, err)
		require.Empty(r, held, "nothing is left of a task that was stopped")
		left, err := r.Store.Reservations(context.Background(), "")
		require.NoError(r, err)
		require.Empty(r, left)
	})
}

// sullen is a store that does not take a card's new text for a while, and says that it never will.
type sullen struct {
	*memstore.Store
	refuses int
}

func (s *sullen) Commit(ctx context.Context, c task.Commit) error {
	if len(c.Journal) > 0 && c.Journal[0].Kind == task.KindText && s.refuses > 0 {
		s.refuses--
		return errors.New("the disk is full")
	}
	return s.Store.Commit(ctx, c)
}

// An agent that was not started has cost nothing, whatever kept it from that.
func TestBudgetOfAgentsThatWereNotStarted(t *testing.T) {
	thrifty(t, budget.Caps{Task: 4500}, func(r *Rig, _ *budget.Options, _ *books) {
		r.Shutdown()
		r.Deps = func(d *orchestrator.Deps) { d.Store = &sullen{r.Store, 2} }
		r.Start()
		item := r.Begin("x")
		r.Settle(time.Minute)
		card, err := r.Board.Item(context.Background(), App, item)
		require.NoError(r, err)
		card.Title = "y"
		r.Board.Put(card)
		r.Set(item, stage.StatusApproved)
		r.Settle(time.Hour)
		require.Equal(r, "y", r.Task(item).Title)
		require.Len(r, r.Roles(), 3)
	})
}

// Attempts that fail cost money too.
func TestBudgetOfFailedAttempts(t *testing.T) {
	thrifty(t, budget.Caps{Task: 3000}, func(r *Rig, _ *budget.Options, _ *books) {
		r.Place.SetScript(func(context.Context, work.Command, map[string]string) work.Result {
			return work.Result{Kind: work.ResultFailed, Reason: "no", Usage: memwork.Usage()}
		})
		item := r.Begin("x")
		r.Settle(time.Hour)
		require.Len(r, r.Roles(), 2)
		job, why := waitsForBudget(r, r.Task(item))
		require.Contains(r, why, "has cost 0.003 USD")
		require.Equal(r, 2, job.Attempt)
	})
}

// An agent that nobody is signed in at costs nothing, however often it is tried.
func TestBudgetOfAnAgentThatCannotWork(t *testing.T) {
	thrifty(t, budget.Caps{Task: 3000}, func(r *Rig, _ *budget.Options, _ *books) {
		r.Place.SetScript(func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			if c.Attempt < 3 {
				return work.Result{Kind: work.ResultFailed, Trouble: work.Trouble{Kind: work.TroubleLogin}}
			}
			return GoodAgent(ctx, c, files)
		})
		item := r.Begin("x")
		r.Settle(time.Hour)
		r.Waits(item, stage.HoldApproval)
	})
}

// What cannot be read lets nothing start, and all goes on when it can.
func TestBudgetFailsClosed(t *testing.T) {
	thrifty(t, budget.Caps{Task: 1_000_000}, func(r *Rig, _ *budget.Options, b *books) {
		b.fail.Store(true)
		item := r.Begin("x")
		r.Settle(time.Hour)
		require.Empty(r, r.Roles())
		_, why := waitsForBudget(r, r.Task(item))
		require.Equal(r, "what has been spent could not be read, and so nothing starts (budget)", why)
		require.NotContains(r, r.Notices(), "budget")
		b.fail.Store(false)
		r.Settle(2 * time.Minute)
		require.Len(r, r.Roles(), 1)
		r.Set(item, stage.StatusApproved)
		b.fail.Store(true)
		r.Settle(time.Minute)
		b.fail.Store(false)
		r.Settle(2 * time.Minute)
		r.Stands(item, stage.Done)
	})
}

// A cap that is never reached changes no decision.
func TestBudgetThatIsNotReached(t *testing.T) {
	story := func(r *Rig) (out []string) {
		entries, err := r.Store.Journal(context.Background(), r.Task(r.Finish("x")).ID)
		require.NoError(r, err)
		for _, e := range entries {
			out = append(out, regexp.MustCompile(`,"policy":"[^"]*"`).ReplaceAllString(string(e.Payload), ""))
		}
		return out
	}
	var with, without []string
	thrifty(t, budget.Caps{Task: 1 << 40, RepoDay: 1 << 40}, func(r *Rig, _ *budget.Options, _ *books) { with = story(r) })
	Run(t, nil, func(r *Rig) { without = story(r) })
	require.NotEmpty(t, with)
	require.Equal(t, without, with)
}
