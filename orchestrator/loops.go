package orchestrator

import (
	"context"
	"errors"
	"time"

	"github.com/signalbox-dev/signalbox/internal/guard"
	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/queue"
)

// Run works until ctx ends: it takes jobs of all pools, gives back what dead
// workers left and runs the features' loops. It returns when everything that it
// started has ended; an agent that is interrupted has its job given back.
func (e *Engine) Run(ctx context.Context) {
	g := run.New(ctx, e.Log)
	pools := []struct {
		name   string
		slots  int
		handle func(context.Context, queue.Claim) *queue.Outcome
	}{
		{queue.PoolEvents, e.opt.EventWorkers, e.handleEvent},
		{queue.PoolAgents, e.opt.MaxConcurrency, e.handleAgent},
		{queue.PoolEffects, e.opt.EffectWorkers, e.handleEffect},
	}
	for _, p := range pools {
		g.Go("pool "+p.name, func(ctx context.Context) { e.pool(ctx, g, p.name, p.slots, p.handle) })
	}
	g.Go("reaper", e.reaper)
	for _, f := range e.features {
		for _, l := range f.Loops {
			g.Go(f.Name+" "+l.Name, func(ctx context.Context) { l.Run(ctx, e) })
		}
	}
	g.Wait()
}

// pool keeps its slots busy with jobs of one pool.
func (e *Engine) pool(ctx context.Context, g *run.Group, name string, slots int, handle func(context.Context, queue.Claim) *queue.Outcome) {
	free := make(chan struct{}, slots)
	nudge := make(chan struct{}, 1) // a job that was put off for less than the poll is due
	for range slots {
		free <- struct{}{}
	}
	wake := e.Jobs.Wake(name)
	tick := time.NewTicker(e.opt.Poll)
	defer tick.Stop()
	for {
		claims, err := e.Jobs.Take(ctx, name, e.opt.Worker, len(free), e.opt.JobTTL)
		if err != nil && ctx.Err() == nil {
			e.Log.Error("jobs cannot be taken", "pool", name, "err", err)
		}
		for _, c := range claims {
			<-free
			g.Go("job", func(ctx context.Context) {
				defer func() { free <- struct{}{} }()
				for next := []queue.Claim{c}; len(next) > 0; { // the commit that ends a job brings the next one
					var again time.Time
					if again, next = e.work(ctx, next[0], handle); !again.IsZero() && again.Sub(e.Now()) < e.opt.Poll {
						time.AfterFunc(again.Sub(e.Now()), func() { hint(nudge) })
					}
				}
			})
		}
		e.Meter.Set("slots_available", float64(len(free)), "pool", name)
		if !e.wait(ctx, len(claims) > 0, free, wake, nudge, tick.C) {
			return
		}
	}
}

// wait returns when it is time to look again; false when ctx has ended.
func (e *Engine) wait(ctx context.Context, busy bool, free chan struct{}, wake, nudge <-chan struct{}, tick <-chan time.Time) bool {
	if busy && len(free) > 0 {
		return ctx.Err() == nil
	}
	if len(free) == 0 { // wait for a slot
		select {
		case <-ctx.Done():
			return false
		case s := <-free:
			free <- s
			return true
		}
	}
	select {
	case <-ctx.Done():
		return false
	case <-wake:
	case <-nudge:
	case <-tick:
	}
	return true
}

func hint(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// work does one job under a heartbeat, finishes its claim and takes the next job
// of the pool. It returns when the job is to be done again, if it is.
func (e *Engine) work(ctx context.Context, c queue.Claim, handle func(context.Context, queue.Claim) *queue.Outcome) (again time.Time, next []queue.Claim) {
	program := ctx
	e.Meter.Add("dispatches_total", 1, "pool", c.Job.Pool)
	e.Meter.Observe("queue_wait_seconds", e.Now().Sub(later(c.Job.CreatedAt, c.Job.AvailableAt)).Seconds(), "pool", c.Job.Pool)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	beat := run.New(ctx, e.Log)
	beat.Go("heartbeat", func(ctx context.Context) { e.heartbeat(ctx, c, func() { cancel(queue.ErrLost) }) })
	defer beat.Stop()

	var o *queue.Outcome
	r := &relay{program: program}
	if err := guard.Do(c.Job.Kind, func() { o = handle(context.WithValue(ctx, relayKey{}, r), c) }); err != nil {
		e.Log.Error("a job panicked", "job", c.Job.ID, "kind", c.Job.Kind, "err", err)
		o = e.again(err, c)
	}
	if o == nil {
		return time.Time{}, r.next
	}
	// The claim is finished even when the program is being stopped.
	finish, stop := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer stop()
	next, err := queue.FinishTake(finish, e.Jobs, c, *o, c.Job.Pool, e.opt.Worker, r.room(), e.opt.JobTTL)
	next = append(r.next, next...)
	if err != nil && !errors.Is(err, queue.ErrLost) {
		e.Log.Error("a job cannot be finished", "job", c.Job.ID, "kind", c.Job.Kind, "err", err)
	}
	if o.Kind == queue.OutcomeDead {
		e.Log.Error("a job was given up", "job", c.Job.ID, "kind", c.Job.Kind, "task", c.Job.TaskID, "err", o.Error)
	}
	if o.Kind == queue.OutcomeRetry || o.Kind == queue.OutcomeRelease {
		again = o.At
	}
	return again, next
}

// relay is where the commit that ends a job leaves the next one for its worker.
type relay struct {
	program context.Context
	next    []queue.Claim // one at most
}

type relayKey struct{}

// room is how many jobs the worker can be given: none when it has one, or when the
// program is being stopped.
func (r *relay) room() int {
	if len(r.next) > 0 || r.program.Err() != nil {
		return 0
	}
	return 1
}

// store commits a decision, which ends the job of ctx when it names its claim, and
// takes the next one for the worker.
func (e *Engine) store(ctx context.Context, c Commit) error {
	r, ok := ctx.Value(relayKey{}).(*relay)
	if !ok || c.Claim == nil {
		return e.Store.Commit(ctx, c)
	}
	next, err := CommitTake(ctx, e.Store, c, c.Claim.Job.Pool, e.opt.Worker, r.room(), e.opt.JobTTL)
	r.next = append(r.next, next...)
	return err
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// heartbeat prolongs a claim until ctx ends; a claim that is lost ends the work.
func (e *Engine) heartbeat(ctx context.Context, c queue.Claim, lost func()) {
	tick := time.NewTicker(e.opt.JobTTL / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := e.Jobs.Extend(ctx, c, e.opt.JobTTL); errors.Is(err, queue.ErrLost) {
			lost()
			return
		}
	}
}

// reaper gives back what dead workers left, and looks after tasks whose job was
// given up.
func (e *Engine) reaper(ctx context.Context) {
	tick := time.NewTicker(e.opt.JobTTL / 2)
	defer tick.Stop()
	for {
		if jobs, err := e.Jobs.Reap(ctx); err != nil && ctx.Err() == nil {
			e.Log.Error("claims cannot be reaped", "err", err)
		} else {
			for _, j := range jobs {
				e.Log.Warn("a claim without a heartbeat was given back", "job", j.ID, "kind", j.Kind, "task", j.TaskID, "status", j.Status)
				e.Meter.Add("reaped_total", 1, "pool", j.Pool)
			}
		}
		if err := e.mend(ctx); err != nil && ctx.Err() == nil {
			e.Log.Error("tasks cannot be looked after", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
