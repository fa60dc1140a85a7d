package main

import (
	"context"
	"sync"
	"time"
)

// gauge measures a rate between two counts, so that neither the start of workers
// nor the end of the last jobs counts.
type gauge struct {
	mu       sync.Mutex
	n, total int
	from, to int
	begin    time.Time
	rate     float64
	done     chan struct{}
}

func newGauge(total int) *gauge {
	return &gauge{total: total, from: total / 10, to: total * 9 / 10, done: make(chan struct{})}
}

// add counts finished jobs.
func (g *gauge) add(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	before := g.n
	g.n += n
	if before < g.from && g.n >= g.from {
		g.begin, g.from = time.Now(), g.n // a batch may have counted beyond it
	}
	if before < g.to && g.n >= g.to {
		g.rate = float64(g.n-g.from) / time.Since(g.begin).Seconds()
	}
	if before < g.total && g.n >= g.total {
		close(g.done)
	}
}

// wait waits for all jobs and returns how many were finished each second.
func (g *gauge) wait(ctx context.Context) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	select {
	case <-g.done:
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.rate, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}
