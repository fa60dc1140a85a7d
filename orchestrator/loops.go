package orchestrator

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/internal/allowance"
	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

// Run works until ctx ends: it takes jobs of all pools, gives back what dead workers left and runs the features' loops. It returns when
// everything that it started has ended; an agent that is interrupted has its job given back.
func (e *Engine) Run(ctx context.Context) {
	// Before anything begins; where it fails, it is made again at once.
	_ = run.Guard("admission", func() { _, _, _ = e.Admission.Review(ctx) })
	g := run.NewOn(e.Scheduler, ctx, e.Log)
	for _, p := range e.pools() {
		g.Go("pool "+p.name, func(ctx context.Context) { p.work(ctx, g) })
	}
	g.Go("pools of former places", func(ctx context.Context) { e.workFormer(ctx, g) })
	g.Go("reaper", reaper{e}.run)
	g.Go("admission", e.Admission.Run)
	for _, f := range e.features {
		for _, l := range f.Loops {
			g.Go(f.Name+" "+l.Name, func(ctx context.Context) { l.Run(allowance.With(ctx, allowance.Listing), e) })
		}
	}
	g.Wait()
}

// pool is a pool of jobs with its workers.
type pool struct {
	*Engine
	name   string
	slots  *poolSlots
	handle func(context.Context, queue.Claim) *queue.Outcome
	health *health // nil: the pool has no destination that could be sick
	poll   time.Duration
}

// idlePolls is how much more seldom pools are looked at than that of events: its looks find the jobs of all that have come due, and hint.
const idlePolls = 10

// pools are all that the engine takes jobs of.
func (e *Engine) pools() []pool {
	list := []pool{{Engine: e, name: queue.PoolAgents, slots: newSlots(e.opt.MaxConcurrency), handle: e.handleAgent}}
	for _, name := range e.opt.Places.pools(eventPools()) {
		list = append(list, pool{Engine: e, name: name, slots: newSlots(e.opt.EventWorkers), handle: e.handleEvent})
	}
	for _, name := range e.opt.Places.pools(effectPools()) {
		list = append(list, pool{Engine: e, name: name, slots: newSlots(e.opt.EffectWorkers), handle: e.handleEffect})
	}
	for i := range list {
		list[i].health, list[i].poll = e.health[list[i].name], idlePolls*e.opt.Poll
		if list[i].name == queue.PoolEvents {
			list[i].poll = e.opt.Poll
		}
	}
	return list
}

// workFormer works on what was put for a place that the registry has no more, so that it is
// not left: its projects are elsewhere now, or not registered.
func (e *Engine) workFormer(ctx context.Context, g *run.Group) {
	depth, err := e.Jobs.Depth(ctx)
	for ; err != nil; depth, err = e.Jobs.Depth(ctx) {
		if e.Wait(ctx, idlePolls*e.opt.Poll) != nil {
			return
		}
	}
	known := e.pools()
	for _, d := range depth {
		first, _, placed := strings.Cut(d.Pool, placeSign)
		i := slices.IndexFunc(known, func(p pool) bool { return p.name == first })
		if !placed || i < 0 || slices.ContainsFunc(known, func(p pool) bool { return p.name == d.Pool }) {
			continue
		}
		p := known[i]
		p.name, p.slots, p.health = d.Pool, newSlots(1), nil
		known = append(known, p)
		g.Go("pool "+p.name, func(ctx context.Context) { p.work(ctx, g) })
	}
}

// work keeps the workers of a pool busy.
func (p pool) work(ctx context.Context, g *run.Group) {
	wake := p.Jobs.Wake(p.name)
	s := p.slots
	for err := ctx.Err(); err == nil; {
		room, until := p.health.room(p.Now(), s.available())
		p.Metrics.SlotsAvailable.Set(float64(s.available()), p.name)
		if room == 0 {
			err = p.Scheduler.Wait(ctx, until, s.changed, p.health.hints()) // for a worker, or for the destination
			continue
		}
		claims, failed := p.Jobs.Take(ctx, p.name, p.opt.Worker, room, p.opt.JobTTL)
		poll := p.poll
		if failed != nil && ctx.Err() == nil {
			poll = p.opt.Poll // the hint that has led here is used up
			p.Log.Error("jobs cannot be taken", "pool", p.name, "err", failed)
		}
		s.take(len(claims))
		p.health.took(len(claims))
		for _, c := range claims {
			g.Go("job", func(ctx context.Context) {
				defer s.giveBack()
				for next := []queue.Claim{c}; len(next) > 0; { // the commit that ends a job brings the next one
					var again time.Time
					if again, next = p.do(ctx, next[0]); !again.IsZero() && again.Sub(p.Now()) < p.poll {
						s.putOff(again)
					}
				}
			})
		}
		if len(claims) < room { // that were all
			err = p.Scheduler.Wait(ctx, s.next(p.Now(), poll), wake, s.changed)
		}
	}
}

// poolSlots holds what a pool shares with the jobs that it has started.
type poolSlots struct {
	changed chan struct{} // a hint: a slot is free again, or a job is due soon

	mu   sync.Mutex
	free int
	due  []time.Time // of jobs that were put off for less than the poll
}

func newSlots(n int) *poolSlots { return &poolSlots{free: n, changed: make(chan struct{}, 1)} }

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

// do does one job under a heartbeat, finishes its claim and takes the next job of the
// pool. It returns when the job is to be done again, if it is.
func (p pool) do(ctx context.Context, c queue.Claim) (due time.Time, next []queue.Claim) {
	program := ctx
	p.Metrics.Dispatches.Add(1, c.Job.Pool)
	p.Metrics.QueueWait.Observe(p.Now().Sub(later(c.Job.CreatedAt, c.Job.AvailableAt)).Seconds(), c.Job.Pool)
	class := classOf(c.Job, p.health.answersSince())
	ctx, cancel := context.WithCancelCause(allowance.With(ctx, class))
	defer cancel(nil)
	beat := run.NewOn(p.Scheduler, ctx, p.Log)
	beat.Go("heartbeat", func(ctx context.Context) { p.heartbeat(ctx, c, func() { cancel(queue.ErrLost) }) })
	defer beat.Stop()

	var o *queue.Outcome
	if err := run.Guard(c.Job.Kind, func() { o = p.handle(ctx, c) }); err != nil {
		p.Log.Error("a job panicked", "job", c.Job.ID, "kind", c.Job.Kind, "err", err)
		o = retryOutcome(err)
	}
	p.note(ctx, o)
	if o == nil { // the commit of its decision has ended it
		return time.Time{}, nil
	}
	if *o = putOffForRequests(settle(*o, c.Job, p.Now()), c.Job, class, p.Now()); o.Kind == queue.OutcomeDead {
		o.Then = append(o.Then, p.givenUp(c.Job, o.Error)...)
	}
	if kind, ok := EffectKindOf(c.Job); ok {
		p.Metrics.Effects.Add(1, string(kind), string(o.Kind))
	}
	// The claim is finished even when the program is being stopped.
	finish, stop := p.Scheduler.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer stop()
	room := 1 // for the next job
	if program.Err() != nil || p.health.sick() {
		room = 0
	}
	next, err := p.Jobs.FinishTake(finish, c, *o, c.Job.Pool, p.opt.Worker, room, p.opt.JobTTL)
	if err != nil && !errors.Is(err, queue.ErrLost) {
		p.Log.Error("a job cannot be finished", "job", c.Job.ID, "kind", c.Job.Kind, "err", err)
	}
	if failed := (reaper{p.Engine}).mendAfter(finish, queue.ApplyOutcome(c.Job, *o, p.Now())); failed != nil {
		p.Log.Error("a task cannot be looked after", "task", c.Job.TaskID, "err", failed)
	}
	if o.Kind == queue.OutcomeDead {
		p.Log.Error("a job was given up", "job", c.Job.ID, "kind", c.Job.Kind, "task", c.Job.TaskID, "err", o.Error)
	}
	if o.Kind == queue.OutcomeRetry || o.Kind == queue.OutcomeRelease {
		due = o.At
	}
	return due, next
}

// note notes what the end of a job says of its destination. What has waited for it is due when it answers again.
func (p pool) note(ctx context.Context, o *queue.Outcome) {
	if p.health == nil {
		return
	}
	if ctx.Err() != nil { // the job was interrupted: that says nothing
		o = &queue.Outcome{Kind: queue.OutcomeRelease}
	}
	if silent(o) {
		p.Metrics.LaneFailures.Add(1, p.health.name)
	}
	healed, fell := p.health.ended(o, p.Now())
	if healed || p.health.sick() {
		defer run.Hint(p.slots.changed) // the pool may wait for the end of this job
	}
	switch {
	case fell:
		p.Metrics.LaneSick.Set(1, p.health.name)
		p.Log.Warn("a destination does not answer", "lane", p.health.name, "err", o.Cause)
	case healed:
		p.Metrics.LaneSick.Set(0, p.health.name)
		n, err := p.Jobs.Hasten(ctx, p.name, 0)
		p.Log.Info("a destination answers again", "lane", p.health.name, "due", n, "err", err)
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// heartbeat prolongs a claim until ctx ends; a claim that is lost ends the work.
func (p pool) heartbeat(ctx context.Context, c queue.Claim, lost func()) {
	for p.Wait(ctx, p.opt.JobTTL/3) == nil {
		if err := p.Jobs.Extend(ctx, c, p.opt.JobTTL); errors.Is(err, queue.ErrLost) {
			lost()
			return
		}
	}
}

// mendEvery is how often all tasks are looked through for one whose job is gone. At all other times a job that is given up says so itself.
const mendEvery = time.Hour

// reaper gives back what dead workers left, and looks after tasks whose job was given up.
type reaper struct{ *Engine }

func (r reaper) run(ctx context.Context) {
	var mended time.Time
	for {
		if err := r.reap(ctx); err != nil && ctx.Err() == nil {
			mended = time.Time{} // a task may have been left behind
			r.Log.Error("claims cannot be reaped", "err", err)
		}
		if r.Now().Sub(mended) >= mendEvery {
			if err := r.failOrphanedRuns(ctx); err == nil {
				mended = r.Now()
			} else if ctx.Err() == nil {
				r.Log.Error("tasks cannot be looked after", "err", err)
			}
		}
		r.measureBudgets()
		if r.Wait(ctx, r.opt.JobTTL/2) != nil {
			return
		}
	}
}

// Budgets are those of the tracker's tokens; none where it limits no requests.
func (e *Engine) Budgets() []tracker.Budget {
	if t, ok := e.Tracker.(tracker.Budgeted); ok {
		return t.Budgets()
	}
	return nil
}

func (r reaper) measureBudgets() {
	for _, b := range r.Budgets() {
		by, paused := b.Token, 0.0
		if !b.Paused.IsZero() {
			paused = 1
		}
		r.Metrics.TrackerUsed.Set(float64(b.Used), by)
		r.Metrics.TrackerLimit.Set(float64(b.Limit), by)
		r.Metrics.TrackerPaused.Set(paused, by)
	}
}

func (r reaper) reap(ctx context.Context) error {
	jobs, err := r.Jobs.Reap(ctx)
	for _, j := range jobs {
		r.Log.Warn("a claim without a heartbeat was given back", "job", j.ID, "kind", j.Kind, "task", j.TaskID, "status", j.Status)
		r.Metrics.Reaped.Add(1, j.Pool)
		err = errors.Join(err, r.mendAfter(ctx, j))
	}
	return err
}

// mendAfter looks after the task of an agent's job that was given up.
func (r reaper) mendAfter(ctx context.Context, j queue.Job) error {
	if j.Kind != KindAgent || j.Status != queue.Failed {
		return nil
	}
	t, err := r.Store.Task(ctx, j.TaskID)
	if errors.Is(err, task.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return r.mendTask(ctx, t)
}

// Package fault defines what an error of the outside world allows. What becomes of a job
// that met one is decided in settle and nowhere else.

// Retry is the outcome of an effect that met an error.
func Retry(err error) queue.Outcome {
	return queue.Outcome{Kind: queue.OutcomeRetry, Cause: err, Error: err.Error()}
}

// looks is how often an effect is tried that is refused for good.
const looks = 3

// settle decides what becomes of a job that met an error. An effect that is refused for good is given up at its third look; whatever may
// pass is tried again for as long as it takes, because what is owed stays owed. An event is never given up: it is what people and
// neighbours have said.
func settle(o queue.Outcome, j queue.Job, now time.Time) queue.Outcome {
	if o.Cause == nil || o.Kind != queue.OutcomeRetry {
		return o
	}
	if IsEffect(j) && GivenUp(o.Cause, j.Attempt) {
		o.Kind = queue.OutcomeDead
		return o
	}
	o.At = now.Add(backoff(o.Cause, j.Attempt, j.ID))
	if j.MaxAttempts > 0 && fault.Retryable(o.Cause) {
		o.Kind = queue.OutcomeRelease // an outage is none of the attempts that an agent's job has
	}
	return o
}

// GivenUp reports whether an attempt that ended with an error is an effect's last.
func GivenUp(err error, attempt int) bool {
	return err != nil && !fault.Retryable(err) && attempt >= looks
}

// backoff is how long to wait before a failed job is tried again: what the error says, else 1 s, 2 s, 4 s … at most 5 min, less up to a
// quarter, so that jobs that failed together do not come back together.
func backoff(err error, attempt int, id int64) time.Duration {
	if d := fault.After(err); d > 0 {
		return min(d, time.Hour)
	}
	d := min(time.Second<<min(max(attempt-1, 0), 9), 5*time.Minute)
	spread := (uint64(id)*2654435761 + uint64(attempt)*40503) % 256 // Knuth's multiplicative hash
	return d - d*time.Duration(spread)/1024
}
