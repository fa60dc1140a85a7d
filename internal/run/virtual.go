package run

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"slices"
	"time"
)

// ErrDead is the error of waits in a domain that was killed.
var ErrDead = errors.New("run: the simulated machine is dead")

// Virtual runs processes one at a time on a virtual clock. Each process is a
// coroutine; control returns to the scheduler when the process waits or yields,
// and the next one is chosen by a seeded generator. The clock moves only when
// nobody can run. So a seed decides everything, on any machine.
//
// A Virtual belongs to the goroutine that calls Run.
type Virtual struct {
	now    time.Time
	choose *rand.Rand // nil: first come, first served
	procs  []*process // alive, in order of birth
	timers []timer    // by moment and birth
	births int64
	steps  int64
	killed bool // a dead domain has processes to drop

	current  *process   // the one that runs
	runnable []*process // scratch of step
}

type timer struct {
	at   time.Time
	born int64
	fire func()
}

// process is a coroutine and what it waits for.
type process struct {
	domain *Domain
	resume func() (struct{}, bool)
	park   func() bool // returns control to the scheduler

	waits bool // false: it can go on at once
	ctx   context.Context
	until time.Time // of the virtual clock; zero = never
	hints []<-chan struct{}
	since int64 // the step in which it parked
}

// NewVirtual makes a scheduler whose clock stands at a moment. Without a generator
// the process that has waited longest goes on first.
func NewVirtual(start time.Time, choose *rand.Rand) *Virtual {
	return &Virtual{now: start, choose: choose}
}

// Now is the virtual time, which no domain's wrong clock changes.
func (v *Virtual) Now() time.Time { return v.now }

// Steps is how many times a process was resumed.
func (v *Virtual) Steps() int64 { return v.steps }

// Alive is how many processes have not ended.
func (v *Virtual) Alive() int { return len(v.procs) }

// After calls f, which must not wait, when d has passed.
func (v *Virtual) After(d time.Duration, f func()) { v.at(v.now.Add(d), f) }

func (v *Virtual) at(at time.Time, f func()) (cancel func()) {
	v.births++
	t := timer{at, v.births, f}
	order := func(a, b timer) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.born, b.born)) }
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
func (v *Virtual) Run(stop func() bool) {
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
func (v *Virtual) step() bool {
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

func (v *Virtual) resume(p *process) {
	v.steps++
	v.current = p
	if _, alive := p.resume(); !alive {
		v.procs = slices.DeleteFunc(v.procs, func(o *process) bool { return o == p })
	}
}

// advance moves the clock to the next moment at which something happens.
func (v *Virtual) advance() bool {
	var next time.Time
	for _, p := range v.procs {
		if at := p.due(); !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	if len(v.timers) > 0 && (next.IsZero() || !next.Before(v.timers[0].at)) {
		t := v.timers[0]
		v.timers = slices.Delete(v.timers, 0, 1)
		v.now = later(v.now, t.at)
		t.fire()
		return true
	}
	if next.IsZero() {
		return false
	}
	v.now = later(v.now, next)
	return true
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// due is when a waiting process goes on by the clock; zero = never.
func (p *process) due() time.Time {
	switch paused := p.domain.paused; {
	case !p.waits:
		return paused
	case p.until.IsZero():
		return time.Time{}
	default:
		return later(p.until, paused)
	}
}

// ready reports whether a process can go on.
func (p *process) ready(now time.Time) bool {
	if p.domain.paused.After(now) {
		return false
	}
	if !p.waits || !p.until.IsZero() && !p.until.After(now) || p.ctx.Err() != nil {
		return true
	}
	return p.hinted() >= 0
}

func (p *process) hinted() int {
	return slices.IndexFunc(p.hints, func(h <-chan struct{}) bool { return len(h) > 0 })
}

// drop lets the processes of dead domains unwind: every wait and every call of
// theirs is refused at once.
func (v *Virtual) drop() {
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
// clock, and end with it. It is a Scheduler.
type Domain struct {
	v      *Virtual
	skew   time.Duration
	paused time.Time // nobody runs before
	dead   bool
}

// Domain makes a machine.
func (v *Virtual) Domain() *Domain {
	return &Domain{v: v}
}

// Kill ends the domain: its processes are dropped as soon as the one that runs
// gives control back.
func (d *Domain) Kill() { d.dead, d.v.killed, d.paused = true, true, time.Time{} }

// Dead reports whether the domain was killed.
func (d *Domain) Dead() bool { return d.dead }

// Pause stops the domain for a while, as SIGSTOP does; its clock goes on.
func (d *Domain) Pause(t time.Duration) { d.paused = d.v.now.Add(t) }

// Skew sets how far the domain's wall clock is ahead of the true time.
func (d *Domain) Skew(by time.Duration) { d.skew = by }

// Now implements Scheduler.
func (d *Domain) Now() time.Time { return d.v.now.Add(d.skew) }

// Go implements Scheduler.
func (d *Domain) Go(f func()) {
	p := &process{domain: d, since: d.v.steps}
	var yield func(struct{}) bool
	next, _ := iter.Pull(func(y func(struct{}) bool) {
		yield = y
		f()
	})
	p.park = func() bool { return yield(struct{}{}) }
	p.resume = next
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

// Wait implements Scheduler. The moment is one of the domain's clock; a clock that
// is set later does not change when it comes.
func (d *Domain) Wait(ctx context.Context, until time.Time, hints ...<-chan struct{}) error {
	p := d.v.current
	p.waits, p.ctx, p.hints, p.until = true, ctx, hints, time.Time{}
	if !until.IsZero() {
		p.until = later(d.v.now.Add(until.Sub(d.Now())), d.v.now)
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
	p.park()
}

// WithTimeout implements Scheduler.
func (d *Domain) WithTimeout(ctx context.Context, t time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	forget := d.v.at(d.v.now.Add(t), func() { cancel(context.DeadlineExceeded) })
	return ctx, func() {
		forget()
		cancel(context.Canceled)
	}
}
