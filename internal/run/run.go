// Package run holds the program's only go statement: named goroutines that are
// guarded against panics, end with a context and are waited for.
package run

import (
	"context"
	"log/slog"
	"sync"

	"github.com/signalbox-dev/signalbox/internal/guard"
)

// Group is a set of goroutines with one life. The zero value is not usable.
type Group struct {
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	log    *slog.Logger
}

// New makes a group whose goroutines end with ctx or with Stop. A nil logger
// discards.
func New(ctx context.Context, log *slog.Logger) *Group {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithCancel(ctx)
	return &Group{ctx: ctx, cancel: cancel, log: log}
}

// Context ends when the group is stopped.
func (g *Group) Context() context.Context { return g.ctx }

// Go starts f under a name. A panic in it is logged and counted, and ends only
// this goroutine.
func (g *Group) Go(name string, f func(context.Context)) {
	g.wg.Add(1)
	go func() {
		defer g.wg.Done()
		if err := guard.Do(name, func() { f(g.ctx) }); err != nil {
			g.log.Error("goroutine ended by a panic", "name", name, "err", err)
		}
	}()
}

// Stop ends the group's context and waits for every goroutine.
func (g *Group) Stop() {
	g.cancel()
	g.wg.Wait()
}

// Wait waits for every goroutine without ending the context.
func (g *Group) Wait() { g.wg.Wait() }
