// Package budget keeps what agents cost within caps in dollars: one for each task,
// one for each repository and day (UTC). Both are optional; without a cap there is
// no feature.
//
// Before an agent starts, an estimate is reserved. The record of the run puts what
// it did cost in its place, in the transaction that takes the run's result in. A
// run that was interrupted has no record: its estimate stays, so that an agent
// that is started again and again reaches the cap too.
//
// A run that might pass a cap waits, with one notice. Of two that begin at the same moment
// each reserves first and is judged beside all other reservations then, so that at least one
// gives way, in whatever process. It goes on when there is room again: the day has ended, a
// run cost less than was reserved, or the service was started with a higher cap.
//
// A run that reports neither tokens nor a cost is taken to have cost its estimate, unless its agent
// could not work, and so is one that names no model, where its agent has no price either.
// A model that was used by name, cost nothing and has no known price counts as over. What
// cannot be read lets nothing start: a cap that fails open is none.
package budget

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admit"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// Name of the feature and of its rule.
const Name = "budget"

// Options of the feature. One cap is required.
type Options struct {
	orchestrator.Parts

	Caps Caps
	// Price returns what a run costs that used tokens and reported no cost, in
	// millionths of a dollar; known is false without a known price. nil: no price is known.
	Price func(task.AgentRun) (microUSD int64, known bool)
}

// Budget is the feature.
type Budget struct {
	opt    Options
	tidied atomic.Int64 // the day on which what is over was removed last, in seconds
}

// New checks the options.
func New(o Options) (*Budget, error) {
	if err := o.Complete("budget"); err != nil {
		return nil, err
	}
	switch {
	case o.Caps.Task < 0 || o.Caps.RepoDay < 0 || o.Caps.Run < 0:
		return nil, errors.New("budget: Options.Caps: an amount is negative, want 0 or more")
	case o.Caps.Task == 0 && o.Caps.RepoDay == 0:
		return nil, errors.New("budget: Options.Caps: Task and RepoDay are both 0: leave the feature out, or set one")
	}
	o.Caps.Run = cmp.Or(o.Caps.Run, 1_000_000)
	for field, limit := range map[string]int64{"Task": o.Caps.Task, "RepoDay": o.Caps.RepoDay} {
		if limit > 0 && limit < o.Caps.Run {
			return nil, fmt.Errorf("budget: Options.Caps.%s is %s, less than the %s that one run is taken to cost: "+
				"nothing would ever start", field, usd(limit), usd(o.Caps.Run))
		}
	}
	if o.Price == nil {
		o.Price = func(task.AgentRun) (int64, bool) { return 0, false }
	}
	return &Budget{opt: o}, nil
}

// Feature is the budget for the engine.
func (b *Budget) Feature() orchestrator.Feature {
	return orchestrator.Feature{
		Name:      Name,
		Admission: []admit.Rule{b.rule()}, Show: b.show,
	}
}

// unread explains why nothing starts when the books cannot be read.
const unread = "what has been spent could not be read, and so nothing starts"

func (b *Budget) rule() admit.Rule {
	return admit.Rule{
		Name: Name, Closed: unread, Tend: b.tend, Reserve: b.reserve, Read: b.read, Told: b.told,
		Admitted: func(p *admit.Pass, s admit.Start, _ *task.Commit) {
			if s.JobID == 0 { // else it is reserved
				freed := p.Sum(b) // and has reserved nothing yet
				*freed = add(*freed, b.estimate(s.Task))
			}
		},
	}
}

// reserve reserves the estimate of a run that is about to start.
func (b *Budget) reserve(ctx context.Context, s admit.Start) (undo func(context.Context) error, err error) {
	own := task.Reservation{
		TaskID: s.Task.ID, JobID: s.JobID, Attempt: s.Attempt, Repo: s.Task.Repo, MicroUSD: b.estimate(s.Task), At: b.opt.Now().UTC(),
	}
	return func(ctx context.Context) error { return b.opt.Store.Forget(ctx, own) }, b.opt.Store.Reserve(ctx, own)
}

func (b *Budget) read(ctx context.Context, p *admit.Pass, s admit.Start) (admit.Facts, error) {
	x, err := b.booksOf(ctx, s.Task, s.Run, attempt{s.JobID, s.Attempt})
	if err != nil {
		return nil, err
	}
	x.repoDay.reserved = add(x.repoDay.reserved, *p.Sum(b))
	return x, nil
}
