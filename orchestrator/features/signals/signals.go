// Package signals measures what is under way: tasks by stage, how long people are waited for,
// effects that are owed, who merges, what repositories have spent today. What happens is counted
// where it happens; this is what a look at the store shows.
package signals

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/internal/defaults"
	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// name of the feature.
const name = "signals"

// Options of the feature.
type Options struct {
	orchestrator.Parts

	// Spent returns what a repository has spent today, with what is reserved, in millionths of a
	// dollar; nil = nothing bounds it.
	Spent  func(ctx context.Context, repo string) (int64, error)
	Limit  int64         // of Spent
	Pauses bool          // agents are paused for all tasks
	Every  time.Duration `envDefault:"1m"`
}

// Feature makes the feature.
func Feature(o Options) (orchestrator.Feature, error) {
	if err := o.Complete("signals"); err != nil {
		return orchestrator.Feature{}, err
	}
	defaults.Fill(&o)
	return orchestrator.Feature{
		Name: name,
		Loops: []orchestrator.Loop{{Name: "loop", Run: func(ctx context.Context, e *orchestrator.Engine) {
			for err := ctx.Err(); err == nil; err = e.Wait(ctx, o.Every) {
				var failed error
				if panicked := run.Guard("signals", func() { failed = o.measure(ctx, e) }); panicked != nil {
					failed = panicked
				}
				if failed != nil && ctx.Err() == nil {
					o.Log.Warn("what is under way could not be measured", "err", failed)
				}
			}
		}}},
	}, nil
}

func (o Options) measure(ctx context.Context, e *orchestrator.Engine) error {
	return errors.Join(o.measureTasks(ctx, e), o.measureEffects(ctx, e), o.measureSpent(ctx, e), o.measurePaused(ctx, e))
}

func (o Options) measurePaused(ctx context.Context, e *orchestrator.Engine) error {
	paused, err := admin.Pauses(ctx, e)
	if err != nil {
		return err
	}
	for _, p := range o.Projects.All() {
		by, subject := p.Repo, orchestrator.RoleInRepo(stage.Analyst, p.Repo)
		frozen, err := e.Jobs.HoldsIn(ctx, subject, subject+"\x00", 1)
		if err != nil {
			return err
		}
		e.Metrics.Freeze.Set(gauge(len(frozen) > 0), by)
		here := func(one admin.Paused) bool { return one.Repo == "" || one.Repo == p.Repo }
		e.Metrics.Paused.Set(gauge(slices.ContainsFunc(paused, here)), by)
	}
	if !o.Pauses {
		return nil
	}
	agents, err := o.Store.Pauses(ctx)
	if err == nil {
		e.Metrics.AgentsPaused.Set(float64(len(agents)))
	}
	return err
}

// gauge is the value of what is so or not.
func gauge(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func (o Options) measureTasks(ctx context.Context, e *orchestrator.Engine) error {
	stages, leases := map[stage.Stage]int{}, map[string]float64{}
	held, oldest := map[stage.Hold]int{}, map[stage.Hold]time.Time{}
	for t, err := range task.Each(ctx, o.Store, task.Filter{Live: true, Limit: 1000}) {
		if err != nil {
			return err
		}
		s := t.State
		stages[s.Stage]++
		held[s.Hold]++
		if since, seen := oldest[s.Hold]; !seen || t.UpdatedAt.Before(since) {
			oldest[s.Hold] = t.UpdatedAt
		}
		if s.Leased {
			leases[t.Repo] = 1
		}
	}
	for _, i := range e.Machine().Pipeline().Stages {
		if !i.Sink {
			e.Metrics.Tasks.Set(float64(stages[i.Stage]), string(i.Stage))
		}
	}
	for _, h := range []stage.Hold{stage.HoldApproval, stage.HoldConfirm, stage.HoldNeedsInput, stage.HoldBlocked} { // a person ends them
		by, age := string(h), time.Duration(0)
		if held[h] > 0 {
			age = e.Now().Sub(oldest[h])
		}
		e.Metrics.PersonWaits.Set(float64(held[h]), by)
		e.Metrics.PersonWaitOldest.Set(age.Seconds(), by)
	}
	for _, p := range o.Projects.All() {
		e.Metrics.MergeLeases.Set(leases[p.Repo], p.Repo)
	}
	return nil
}

func (o Options) measureEffects(ctx context.Context, e *orchestrator.Engine) error {
	depth, err := o.Store.Depth(ctx)
	if err != nil {
		return err
	}
	for _, l := range e.NamedLanes() {
		by, n, age := l.Name, int64(0), time.Duration(0)
		for _, d := range depth {
			if d.Pool == l.Pool {
				n += d.Count
			}
		}
		if n > 0 {
			first, err := o.Store.Jobs(ctx, queue.Filter{Pool: l.Pool, Open: true, Limit: 1})
			if err != nil {
				return err
			}
			if len(first) > 0 {
				age = e.Now().Sub(first[0].CreatedAt)
			}
		}
		e.Metrics.Owed.Set(float64(n), by)
		e.Metrics.OwedOldest.Set(age.Seconds(), by)
	}
	failed, err := admin.FailedEffects(ctx, e, 0)
	if err == nil {
		e.Metrics.GivenUp.Set(float64(len(failed)))
	}
	return err
}

func (o Options) measureSpent(ctx context.Context, e *orchestrator.Engine) error {
	if o.Spent == nil {
		return nil
	}
	const million = 1e6
	e.Metrics.BudgetLimit.Set(float64(o.Limit) / million)
	for _, p := range o.Projects.All() {
		spent, err := o.Spent(ctx, p.Repo)
		if err != nil {
			return err
		}
		e.Metrics.BudgetSpent.Set(float64(spent)/million, p.Repo)
	}
	return nil
}
