package orchestrator

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/internal/guard"
	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/queue"
)

// Run works until ctx ends: it takes jobs of all pools, gives back what dead
// workers left and runs the features' loops. It returns when everything that it
// started has ended; an agent that is interrupted has its job given back.
func (e *Engine) Run(ctx context.Context) {
	g := run.NewOn(e.Scheduler, ctx, e.Log)
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
	wake := e.Jobs.Wake(name)
	s := &poolSlots{free: slots, changed: make(chan struct{}, 1)}
	for err := ctx.Err(); err == nil; {
		free := s.available()
		e.Meter.Set("slots_available", float64(free), "pool", name)
		if free == 0 {
			err = e.Scheduler.Wait(ctx, time.Time{}, s.changed) // for a slot
			continue
		}
		claims, failed := e.Jobs.Take(ctx, name, e.opt.Worker, free, e.opt.JobTTL)
		if failed != nil && ctx.Err() == nil {
			e.Log.Error("jobs cannot be taken", "pool", name, "err", failed)
		}
		s.take(len(claims))
		for _, c := range claims {
			g.Go("job", func(ctx context.Context) {
				defer s.giveBack()
				for next := []queue.Claim{c}; len(next) > 0; { // the commit that ends a job brings the next one
					var again time.Time
					if again, next = e.work(ctx, next[0], handle); !again.IsZero() && again.Sub(e.Now()) < e.opt.Poll {
						s.putOff(again)
					}
				}
			})
		}
		if len(claims) == 0 {
			err = e.Scheduler.Wait(ctx, s.next(e.Now(), e.opt.Poll), wake, s.changed)
		}
	}
}

// poolSlots is what a pool shares with the jobs that it has started.
type poolSlots struct {
	changed chan struct{} // a hint: a slot is free again, or a job is due soon

	mu   sync.Mutex
	free int
	due  []time.Time // of jobs that were put off for less than the poll
}

func (s *poolSlots) available() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.free
}

func (s *poolSlots) take(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free -= n
}

func (s *poolSlots) giveBack() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free++; s.free == 1 { // the pool waits for it
		run.Hint(s.changed)
	}
}

func (s *poolSlots) putOff(until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.due = append(s.due, until)
	run.Hint(s.changed)
}

// next is when the pool is to be looked at again without a hint.
func (s *poolSlots) next(now time.Time, poll time.Duration) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := now.Add(poll)
	s.due = slices.DeleteFunc(s.due, func(at time.Time) bool { return !at.After(now) })
	for _, at := range s.due {
		if at.Before(next) {
			next = at
		}
	}
	return next
}

// work does one job under a heartbeat, finishes its claim and takes the next job
// of the pool. It returns when the job is to be done again, if it is.
func (e *Engine) work(ctx context.Context, c queue.Claim, handle func(context.Context, queue.Claim) *queue.Outcome) (again time.Time, next []queue.Claim) {
	program := ctx
	e.Meter.Add("dispatches_total", 1, "pool", c.Job.Pool)
	e.Meter.Observe("queue_wait_seconds", e.Now().Sub(later(c.Job.CreatedAt, c.Job.AvailableAt)).Seconds(), "pool", c.Job.Pool)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	beat := run.NewOn(e.Scheduler, ctx, e.Log)
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
	finish, stop := e.Scheduler.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
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
	for e.Wait(ctx, e.opt.JobTTL/3) == nil {
		if err := e.Jobs.Extend(ctx, c, e.opt.JobTTL); errors.Is(err, queue.ErrLost) {
			lost()
			return
		}
	}
}

// reaper gives back what dead workers left, and looks after tasks whose job was
// given up.
func (e *Engine) reaper(ctx context.Context) {
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
		if e.Wait(ctx, e.opt.JobTTL/2) != nil {
			return
		}
	}
}
