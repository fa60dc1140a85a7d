// Package virtual runs processes one at a time on a clock of its own, for simulations: see run.Scheduler.
package virtual

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// ErrDead is the error of waits in a domain that was killed.
var ErrDead = errors.New("run: the simulated machine is dead")

// Scheduler runs processes one at a time on a virtual clock. Each process is a
// coroutine; control returns to the scheduler when the process waits or yields,
// and the next one is chosen by a seeded generator. The clock moves only when
// nobody can run. So a seed decides everything, on any machine.
//
// A Scheduler belongs to the goroutine that calls Run.
type Scheduler struct {
	start  time.Time
	now    int64      // nanoseconds since the start
	choose *rand.Rand // nil: first come, first served
	procs  []*process // alive, in order of birth
	idle   []*coroutine
	timers []timer // by moment and birth
	births int64
	steps  int64
	killed bool // a dead domain has processes to drop

	current  *process   // the one that runs
	runnable []*process // scratch of step
}

type timer struct {
	at   int64
	born int64
	fire func()
}

// coroutine runs one process after the other: a new one would have to grow its
// stack again.
type coroutine struct {
	resume func() (struct{}, bool)
	park   func(struct{}) bool // returns control to the scheduler
	end    func()
	run    func() // what it runs; nil = nothing
}

// process adds what a coroutine waits for.
type process struct {
	*coroutine
	domain *Domain
	waits  bool // false: it can go on at once
	ctx    context.Context
	until  int64 // of the virtual clock
	hints  []<-chan struct{}
	since  int64 // the step in which it parked
}

// New makes a scheduler whose clock stands at a moment. Without a generator
// the process that has waited longest goes on first.
func New(start time.Time, choose *rand.Rand) *Scheduler {
	return &Scheduler{start: start, choose: choose}
}

// Now is the virtual time, which no domain's wrong clock changes.
func (v *Scheduler) Now() time.Time { return v.start.Add(time.Duration(v.now)) }

// Steps is how many times a process was resumed.
func (v *Scheduler) Steps() int64 { return v.steps }

// Alive is how many processes have not ended.
func (v *Scheduler) Alive() int { return len(v.procs) }

// After calls f, which must not wait, when d has passed.
func (v *Scheduler) After(d time.Duration, f func()) { v.at(v.now+int64(d), f) }

func (v *Scheduler) at(at int64, f func()) (cancel func()) {
	v.births++
	t := timer{at, v.births, f}
	order := func(a, b timer) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.born, b.born)) }
	i, _ := slices.BinarySearchFunc(v.timers, t, order)
	v.timers = slices.Insert(v.timers, i, t)
	return func() {
		if i, found := slices.BinarySearchFunc(v.timers, t, order); found {
			v.timers = slices.Delete(v.timers, i, i+1)
		}
	}
}

// Run lets processes run until stop reports true, which is looked at before each
// step, or until nothing can ever run again.
func (v *Scheduler) Run(stop func() bool) {
	for !stop() {
		if v.killed {
			v.drop()
		}
		if !v.step() && !v.advance() {
			return
		}
	}
}

// step resumes one process that can run, if there is one.
func (v *Scheduler) step() bool {
	v.runnable = v.runnable[:0]
	for _, p := range v.procs {
		if p.ready(v.now) {
			v.runnable = append(v.runnable, p)
		}
	}
	if len(v.runnable) == 0 {
		return false
	}
	next := v.runnable[0]
	if v.choose != nil {
		next = v.runnable[v.choose.IntN(len(v.runnable))]
	} else {
		for _, p := range v.runnable {
			if p.since < next.since {
				next = p
			}
		}
	}
	v.resume(next)
	return true
}

func (v *Scheduler) resume(p *process) {
	v.steps++
	v.current = p
	if p.resume(); p.run == nil {
		v.procs = slices.DeleteFunc(v.procs, func(o *process) bool { return o == p })
		v.idle = append(v.idle, p.coroutine)
	}
}

// Close kills every domain, lets the processes unwind and frees what they leave
// behind. Nothing that was to happen later happens. The scheduler is not usable after
// it.
func (v *Scheduler) Close() {
	for len(v.procs) > 0 {
		for _, p := range v.procs {
			p.domain.Kill()
		}
		v.drop()
	}
	v.timers = nil
	for _, c := range v.idle {
		c.end()
	}
	v.idle = nil
}

// coroutine is one that runs nothing.
func (v *Scheduler) coroutine() *coroutine {
	if n := len(v.idle); n > 0 {
		c := v.idle[n-1]
		v.idle = v.idle[:n-1]
		return c
	}
	c := &coroutine{}
	c.resume, c.end = iter.Pull(func(yield func(struct{}) bool) {
		c.park = yield
		for again := true; again; again = yield(struct{}{}) {
			c.run()
			c.run = nil
		}
	})
	return c
}

// never is the moment that does not come.
const never = math.MaxInt64

// advance moves the clock to the next moment at which something happens.
func (v *Scheduler) advance() bool {
	next := int64(never)
	for _, p := range v.procs {
		next = min(next, p.due())
	}
	if len(v.timers) > 0 && v.timers[0].at <= next {
		t := v.timers[0]
		v.timers = slices.Delete(v.timers, 0, 1)
		v.now = max(v.now, t.at)
		t.fire()
		return true
	}
	if next == never {
		return false
	}
	v.now = max(v.now, next)
	return true
}

// due is when a waiting process goes on by the clock.
func (p *process) due() int64 {
	if !p.waits {
		return p.domain.paused
	}
	return max(p.until, p.domain.paused)
}

// ready reports whether a process can go on.
func (p *process) ready(now int64) bool {
	switch {
	case p.domain.paused > now:
		return false
	case !p.waits, p.until <= now, p.ctx.Err() != nil:
		return true
	default:
		return p.hinted() >= 0
	}
}

func (p *process) hinted() int {
	return slices.IndexFunc(p.hints, func(h <-chan struct{}) bool { return len(h) > 0 })
}

// drop lets the processes of dead domains unwind: every wait and every call of
// theirs is refused at once.
func (v *Scheduler) drop() {
	v.killed = false
	for {
		i := slices.IndexFunc(v.procs, func(p *process) bool { return p.domain.dead })
		if i < 0 {
			return
		}
		v.resume(v.procs[i])
	}
}

// Domain is a set of processes that live on one simulated machine: they have its
// clock, and end with it. It is a run.Scheduler.
type Domain struct {
	v      *Scheduler
	skew   time.Duration
	paused int64 // nobody runs before
	dead   bool
}

// Domain makes a machine.
func (v *Scheduler) Domain() *Domain {
	return &Domain{v: v}
}

// Kill ends the domain: its processes are dropped as soon as the one that runs
// gives control back.
func (d *Domain) Kill() { d.dead, d.v.killed, d.paused = true, true, 0 }

// Dead reports whether the domain was killed.
func (d *Domain) Dead() bool { return d.dead }

// Pause stops the domain for a while, as SIGSTOP does; its clock goes on.
func (d *Domain) Pause(t time.Duration) { d.paused = d.v.now + int64(t) }

// Skew sets how far the domain's wall clock is ahead of the true time.
func (d *Domain) Skew(by time.Duration) { d.skew = by }

func (d *Domain) Now() time.Time { return d.v.Now().Add(d.skew) }

func (d *Domain) Go(f func()) {
	p := &process{coroutine: d.v.coroutine(), domain: d, since: d.v.steps}
	p.run = f
	d.v.procs = append(d.v.procs, p)
}

// Yield lets others run before the caller goes on.
func (d *Domain) Yield() {
	p := d.v.current
	if d.dead {
		return
	}
	p.waits = false
	p.stop()
}

// Wait implements run.Scheduler. The moment is one of the domain's clock; a clock that
// is set later does not change when it comes.
func (d *Domain) Wait(ctx context.Context, until time.Time, hints ...<-chan struct{}) error {
	p := d.v.current
	p.waits, p.ctx, p.hints, p.until = true, ctx, hints, never
	if !until.IsZero() {
		p.until = d.v.now + max(0, int64(until.Sub(d.Now())))
	}
	if !d.dead {
		p.stop()
	}
	switch i := p.hinted(); {
	case d.dead:
		return ErrDead
	case ctx.Err() != nil:
		return ctx.Err()
	case i >= 0:
		<-p.hints[i]
	}
	return nil
}

func (p *process) stop() {
	p.since = p.domain.v.steps
	p.park(struct{}{})
}

func (d *Domain) WithTimeout(ctx context.Context, t time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	forget := d.v.at(d.v.now+int64(t), func() { cancel(context.DeadlineExceeded) })
	return ctx, func() {
		forget()
		cancel(context.Canceled)
	}
}
