// Package run is the one place that starts processes and waits. Group has the
// program's only go statement behind it: named processes that are guarded against
// panics, end with a context and are waited for. Scheduler is the door to time.
// It has two drivers: Real for programs, and Virtual, which runs the same code on
// a virtual clock, deterministically, for the simulator.
package run

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"
)

// Group is a set of processes with one life. The zero value is not usable.
type Group struct {
	sched  Scheduler
	ctx    context.Context
	cancel context.CancelFunc
	log    *slog.Logger

	mu    sync.Mutex
	alive int
	idle  chan struct{} // a hint that none is alive
}

// New makes a group on the real scheduler; its processes end with ctx or with
// Stop. A nil logger discards.
func New(ctx context.Context, log *slog.Logger) *Group { return NewOn(Real{}, ctx, log) }

// NewOn is New on a scheduler.
func NewOn(s Scheduler, ctx context.Context, log *slog.Logger) *Group {
	log = cmp.Or(log, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(ctx)
	return &Group{sched: s, ctx: ctx, cancel: cancel, log: log, idle: make(chan struct{}, 1)}
}

// Context ends when the group is stopped.
func (g *Group) Context() context.Context { return g.ctx }

// Go starts f under a name. A panic in it is logged and counted, and ends only
// this process.
func (g *Group) Go(name string, f func(context.Context)) {
	g.mu.Lock()
	g.alive++
	g.mu.Unlock()
	g.sched.Go(func() {
		defer g.ended()
		if err := Guard(name, func() { f(g.ctx) }); err != nil {
			g.log.Error("goroutine ended by a panic", "name", name, "err", err)
		}
	})
}

func (g *Group) ended() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.alive--; g.alive == 0 {
		Hint(g.idle)
	}
}

// Stop ends the group's context and waits for every process.
func (g *Group) Stop() {
	g.cancel()
	g.Wait()
}

// Wait waits for every process without ending the context.
func (g *Group) Wait() {
	for g.busy() {
		if g.sched.Wait(context.Background(), time.Time{}, g.idle) != nil {
			return // the simulated machine is dead, and its processes are being dropped
		}
	}
	Hint(g.idle) // for other waiters
}

func (g *Group) busy() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.alive > 0
}
