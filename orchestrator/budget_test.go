package orchestrator_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features/budget"
	"github.com/signalbox-dev/signalbox/orchestrator/features/stop"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/queue"
)

// books is the ledger, which can be made to fail.
type books struct {
	orchestrator.Ledger
	fail atomic.Bool
}

func (b *books) Reservations(ctx context.Context, repo string) ([]orchestrator.Reservation, error) {
	if b.fail.Load() {
		return nil, errors.New("the disk is gone")
	}
	return b.Ledger.Reservations(ctx, repo)
}

// thrifty makes a rig with a budget and STOP; the options may be changed between
// two starts. Every run of the rig costs 1500 millionths, which is what is reserved.
func thrifty(t *testing.T, caps budget.Caps, f func(*rig, *budget.Options, *books)) {
	t.Helper()
	caps.Run = usage().MicroUSD
	o, b := &budget.Options{Caps: caps}, &books{}
	runWith(t, func(r *rig) {
		r.opt.MaxConcurrency = 8
		r.features = func() []orchestrator.Feature {
			projects, err := orchestrator.NewProjects(r.project...)
			require.NoError(r, err)
			b.Ledger = r.store
			o.Store, o.Story, o.Ledger, o.Projects, o.Queue, o.Lister = r.store, r.store, b, projects, r.store, r.store
			made, err := budget.New(*o)
			require.NoError(r, err)
			s, err := stop.Feature(stop.Options{Store: r.store, Projects: projects, Workspaces: r.place, Agents: r.place})
			require.NoError(r, err)
			return []orchestrator.Feature{s, made.Feature()}
		}
	}, func(r *rig) { f(r, o, b) })
}

// waiting is the agent's job of a task that waits for the budget, and why.
func (r *rig) waitsForBudget(t orchestrator.Task) (job queue.Job, why string) {
	r.Helper()
	waits, err := r.store.Waiting(context.Background(), queue.Filter{TaskID: t.ID, Pool: queue.PoolAgents})
	require.NoError(r, err)
	require.Len(r, waits, 1)
	require.Len(r, waits[0].Reasons, 1, "%+v", waits[0])
	return waits[0].Job, waits[0].Reasons[0].Text
}

// An agent is its own meter: one that says nothing of what it used has cost what was
// reserved for it, and reaches the cap like any other.
func TestBudgetOfAgentsThatSayNothing(t *testing.T) {
	thrifty(t, budget.Caps{Task: 4500}, func(r *rig, _ *budget.Options, _ *books) {
		r.place.SetScript(func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			result := goodAgent(ctx, c, files)
			result.Usage = work.Usage{}
			return result
		})
		item := r.card(appProject, "x")
		r.toDone(appProject, item)
		require.Equal(r, []stage.Role{stage.Analyst, stage.Architect, stage.Developer}, r.roles())
		_, why := r.waitsForBudget(r.task(item))
		require.Contains(r, why, "has cost 0.0045 USD (0.0045 USD of it for runs that reported no usage), and the next run")
	})
}

func TestBudgetOfATask(t *testing.T) {
	const words = "APP-1 (task 1) has cost 0.0045 USD, and the next run is taken to cost 0.0015 USD: together more than the cap of 0.0045 USD for a task"
	thrifty(t, budget.Caps{Task: 4500}, func(r *rig, o *budget.Options, _ *books) {
		item := r.card(appProject, "x")
		r.toDone(appProject, item)
		task := r.task(item)
		require.Equal(r, stage.Review, task.State.Stage)
		require.Equal(r, []stage.Role{stage.Analyst, stage.Architect, stage.Developer}, r.roles())
		job, why := r.waitsForBudget(task)
		require.Equal(r, words+" (budget)", why)
		require.Zero(r, job.Attempt, "it was never claimed: the hold came with the decision")
		x, err := r.engine.Explain(context.Background(), task.ID)
		require.NoError(r, err)
		require.Equal(r, why, x.Blockers[0].Why, "why says the same")
		v, err := r.engine.QueueView(context.Background())
		require.NoError(r, err)
		require.Zero(r, v.Workers.Running)
		body, err := json.Marshal(v)
		require.NoError(r, err)
		require.Contains(r, string(body), `"budget":{"enabled":true,"task_cap_micro_usd":4500,"run_micro_usd":1500,"day":"2000-01-01","repos":[{"repo":"acme/app","spent_micro_usd":4500`)
		require.Equal(r, 2, strings.Count(string(body), words), "in the job and in the block")

		notice := "waits for the budget: " + words
		require.Equal(r, 1, strings.Count(r.notices(), notice))
		r.settle(50 * time.Hour)
		r.shutdown()
		r.start()
		r.settle(time.Hour)
		require.Equal(r, 1, strings.Count(r.notices(), "budget"), "once, and not again after a restart")
		require.Len(r, r.roles(), 3)

		r.shutdown()
		o.Caps.Task = 7500
		r.start()
		r.settle(time.Minute)
		require.Len(r, r.roles(), 5, "a higher cap lets it go on")
		require.Equal(r, 2, strings.Count(r.notices(), "budget"), "and is told when it is reached")
		r.shutdown()
		o.Caps.Task = 0
		o.Caps.RepoDay = 1_000_000
		r.start()
		r.settle(time.Minute)
		require.Equal(r, stage.Done, r.task(item).State.Stage)
		r.settle(48 * time.Hour)
		held, err := r.store.Holds(context.Background())
		require.NoError(r, err)
		require.Empty(r, held)
	})
}

func TestBudgetOfADay(t *testing.T) {
	thrifty(t, budget.Caps{RepoDay: 4500}, func(r *rig, _ *budget.Options, _ *books) {
		one, two, far := r.card(appProject, "one"), r.card(appProject, "two"), r.card(selfProject, "far")
		r.toDone(appProject, one)
		require.Equal(r, stage.Review, r.task(one).State.Stage)
		r.move(appProject, two, stage.StatusToAnalyse)
		r.move(selfProject, far, stage.StatusToAnalyse)
		r.settle(time.Hour)
		require.Equal(r, 2, count(r.roles(), stage.Analyst), "another repository has its own day")
		_, why := r.waitsForBudget(r.task(two))
		require.Contains(r, why, "acme/app has cost 0.0045 USD on 2000-01-01")
		require.Contains(r, why, "until 2000-01-02T00:00:00Z")
		require.Equal(r, 1, strings.Count(r.notices(), "budget"), "one for the day, however many wait")
		until := time.Until(time.Date(2000, 1, 2, 0, 0, 0, 0, time.UTC))
		r.settle(until - time.Second)
		require.Len(r, r.roles(), 4)
		r.settle(30 * time.Second)
		require.Len(r, r.roles(), 7, "a new day has three runs")
		require.Equal(r, 2, count(r.roles(), stage.Reviewer)+count(r.roles(), stage.Tester), "the oldest task goes first")
		require.Equal(r, 2, strings.Count(r.notices(), "budget"))
		r.settle(48 * time.Hour)
		require.Equal(r, stage.Done, r.task(one).State.Stage)
		require.Equal(r, stage.HoldApproval, r.task(two).State.Hold)
	})
}

// Tasks that begin at the same moment do not all take the last dollar.
func TestBudgetIsNotReservedTwice(t *testing.T) {
	thrifty(t, budget.Caps{RepoDay: 3000}, func(r *rig, _ *budget.Options, _ *books) {
		var now, most atomic.Int32
		r.place.SetScript(func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			most.Store(max(most.Load(), now.Add(1)))
			defer now.Add(-1)
			time.Sleep(time.Minute)
			return goodAgent(ctx, c, files)
		})
		for range 6 {
			r.move(appProject, r.card(appProject, "x"), stage.StatusToAnalyse)
		}
		r.settle(30 * time.Second)
		require.EqualValues(r, 2, now.Load())
		held, err := r.store.Holds(context.Background())
		require.NoError(r, err)
		require.Equal(r, 4, len(held)-1, "the others wait, and one notice was sent")
		r.settle(20 * time.Hour)
		require.EqualValues(r, 2, most.Load())
		require.Len(r, r.roles(), 2)
		r.settle(48 * time.Hour)
		require.Len(r, r.roles(), 6)
		require.EqualValues(r, 2, most.Load())
	})
}

// A run that costs less than was reserved makes room at once.
func TestBudgetIsSettled(t *testing.T) {
	thrifty(t, budget.Caps{RepoDay: 3000}, func(r *rig, _ *budget.Options, _ *books) {
		r.place.SetScript(func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			res := goodAgent(ctx, c, files)
			res.Usage.MicroUSD = 100
			return res
		})
		for range 6 {
			r.move(appProject, r.card(appProject, "x"), stage.StatusToAnalyse)
		}
		r.settle(30 * time.Second)
		require.Len(r, r.roles(), 6)
		left, err := r.store.Reservations(context.Background(), "")
		require.NoError(r, err)
		require.Empty(r, left)
	})
}

// A run that costs more than was reserved is known to the decision that it leads to.
func TestBudgetOfACostlyRun(t *testing.T) {
	thrifty(t, budget.Caps{Task: 4500}, func(r *rig, _ *budget.Options, _ *books) {
		r.place.SetScript(instead(stage.Architect, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			res := goodAgent(ctx, c, files)
			res.Usage.MicroUSD = 9000
			return res
		}))
		item := r.card(appProject, "x")
		r.toDone(appProject, item)
		job, why := r.waitsForBudget(r.task(item))
		require.Contains(r, why, "has cost 0.0105 USD, and the next run")
		require.Zero(r, job.Attempt)
	})
}

func TestBudgetWithoutAPrice(t *testing.T) {
	thrifty(t, budget.Caps{Task: 1_000_000}, func(r *rig, o *budget.Options, _ *books) {
		r.place.SetScript(func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			res := goodAgent(ctx, c, files)
			res.Usage.MicroUSD = 0
			return res
		})
		item := r.card(appProject, "x")
		r.toDone(appProject, item)
		require.Len(r, r.roles(), 1)
		_, why := r.waitsForBudget(r.task(item))
		require.Contains(r, why, `APP-1 (task 1) has used the model "m", whose price is not known`)
		r.settle(time.Hour)
		require.Equal(r, 1, strings.Count(r.notices(), "budget"))
		r.shutdown()
		o.Price = func(u work.Usage) (int64, bool) { return 1000 * int64(len(u.Model)), u.Model == "m" }
		r.start()
		r.settle(time.Minute)
		require.Equal(r, stage.Done, r.task(item).State.Stage)
	})
}

// Nobody knows what an interrupted run has cost: its estimate stays, so that a
// crash loop ends at the cap.
func TestBudgetCountsInterruptedRuns(t *testing.T) {
	thrifty(t, budget.Caps{Task: 4500}, func(r *rig, _ *budget.Options, _ *books) {
		r.place.SetScript(hang)
		item := r.card(appProject, "x")
		r.move(appProject, item, stage.StatusToAnalyse)
		for range 6 {
			r.settle(10 * time.Second)
			r.shutdown()
			r.start()
		}
		r.settle(time.Minute)
		require.Len(r, r.roles(), 3)
		_, why := r.waitsForBudget(r.task(item))
		require.Contains(r, why, "has cost 0.00 USD, 0.0045 USD is reserved for runs whose cost is not known")
		r.move(appProject, item, stage.StatusStop)
		r.settle(72 * time.Hour)
		require.Equal(r, stage.Cancelled, r.cancelled(item).State.Stage)
		held, err := r.store.Holds(context.Background())
		require.NoError(r, err)
		require.Empty(r, held, "nothing is left of a task that was stopped")
		left, err := r.store.Reservations(context.Background(), "")
		require.NoError(r, err)
		require.Empty(r, left)
	})
}

// Attempts that fail cost money too.
func TestBudgetOfFailedAttempts(t *testing.T) {
	thrifty(t, budget.Caps{Task: 3000}, func(r *rig, _ *budget.Options, _ *books) {
		r.place.SetScript(func(context.Context, work.Command, map[string]string) work.Result {
			return work.Result{Kind: work.ResultFailed, Reason: "no", Usage: usage()}
		})
		item := r.card(appProject, "x")
		r.move(appProject, item, stage.StatusToAnalyse)
		r.settle(time.Hour)
		require.Len(r, r.roles(), 2)
		job, why := r.waitsForBudget(r.task(item))
		require.Contains(r, why, "has cost 0.003 USD")
		require.Equal(r, 2, job.Attempt)
	})
}

// What cannot be read lets nothing start, and all goes on when it can.
func TestBudgetFailsClosed(t *testing.T) {
	thrifty(t, budget.Caps{Task: 1_000_000}, func(r *rig, _ *budget.Options, b *books) {
		b.fail.Store(true)
		item := r.card(appProject, "x")
		r.move(appProject, item, stage.StatusToAnalyse)
		r.settle(time.Hour)
		require.Empty(r, r.roles())
		_, why := r.waitsForBudget(r.task(item))
		require.Equal(r, "what has been spent could not be read, and so nothing starts (budget)", why)
		require.NotContains(r, r.notices(), "budget")
		b.fail.Store(false)
		r.settle(time.Minute)
		require.Len(r, r.roles(), 1)
		r.move(appProject, item, stage.StatusApproved)
		b.fail.Store(true)
		r.settle(time.Minute)
		b.fail.Store(false)
		r.settle(2 * time.Minute)
		require.Equal(r, stage.Done, r.task(item).State.Stage)
	})
}

// A cap that is never reached changes no decision.
func TestBudgetThatIsNotReached(t *testing.T) {
	story := func(r *rig) (out []string) {
		item := r.card(appProject, "x")
		r.toDone(appProject, item)
		entries, err := r.store.Journal(context.Background(), r.task(item).ID)
		require.NoError(r, err)
		for _, e := range entries {
			out = append(out, string(e.Payload))
		}
		return out
	}
	var with, without []string
	thrifty(t, budget.Caps{Task: 1 << 40, RepoDay: 1 << 40}, func(r *rig, _ *budget.Options, _ *books) { with = story(r) })
	run(t, func(r *rig) { without = story(r) })
	require.NotEmpty(t, with)
	require.Equal(t, without, with)
}
