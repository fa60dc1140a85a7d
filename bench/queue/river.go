package main

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// noop is a job of River's that does nothing.
type noop struct {
	N int `json:"n"`
}

// Kind implements river.JobArgs.
func (noop) Kind() string { return "noop" }

// rivers is River, set up as its own benchmark does.
type rivers struct{ pool *pgxpool.Pool }

func newRivers(ctx context.Context, url string) (*rivers, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.MaxConns = 60
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	m, err := rivermigrate.New(riverpgxv5.New(pool), nil)
	if err != nil {
		return nil, err
	}
	_, err = m.Migrate(ctx, rivermigrate.DirectionUp, nil)
	return &rivers{pool}, err
}

func (r *rivers) client(workers int, f func(context.Context, *river.Job[noop]) error) (*river.Client[pgx.Tx], error) {
	w := river.NewWorkers()
	river.AddWorker(w, river.WorkFunc(f))
	return river.NewClient(riverpgxv5.New(r.pool), &river.Config{
		FetchCooldown: 2 * time.Millisecond, FetchPollInterval: 20 * time.Millisecond,
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: workers}}, Workers: w,
	})
}

// fill empties River's table and puts n jobs into it.
func (r *rivers) fill(ctx context.Context, c *river.Client[pgx.Tx], n int) error {
	if _, err := r.pool.Exec(ctx, "truncate river_job"); err != nil {
		return err
	}
	jobs := make([]river.InsertManyParams, n)
	for i := range jobs {
		jobs[i].Args = noop{i}
	}
	for batch := range slices.Chunk(jobs, 5000) {
		if _, err := c.InsertManyFast(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}

// completed counts jobs when River has stored that they are done.
func completed(c *river.Client[pgx.Tx], g *gauge) (stop func()) {
	events, stop := c.SubscribeConfig(&river.SubscribeConfig{ChanSize: 1_000_000, Kinds: []river.EventKind{river.EventKindJobCompleted}})
	go func() {
		for range events {
			g.add(1)
		}
	}()
	return stop
}

// work works n no-op jobs off.
func (r *rivers) work(ctx context.Context, workers, n int) (rate float64, err error) {
	c, err := r.client(workers, func(context.Context, *river.Job[noop]) error { return nil })
	if err != nil {
		return 0, err
	}
	if err := r.fill(ctx, c, n); err != nil {
		return 0, err
	}
	g := newGauge(n)
	defer completed(c, g)()
	if err := c.Start(ctx); err != nil {
		return 0, err
	}
	rate, err = g.wait(ctx)
	return rate, errors.Join(err, c.Stop(ctx))
}

// start times insert to work with one worker that waits.
func (r *rivers) start(ctx context.Context, n int) (time.Duration, error) {
	started := make(chan time.Time)
	c, err := r.client(1, func(context.Context, *river.Job[noop]) error { started <- time.Now(); return nil })
	if err != nil {
		return 0, err
	}
	if err := r.fill(ctx, c, 0); err != nil {
		return 0, err
	}
	if err := c.Start(ctx); err != nil {
		return 0, err
	}
	var took []float64
	for i := range n {
		time.Sleep(5 * time.Millisecond) // the worker is idle
		begun := time.Now()
		if _, err := c.Insert(ctx, noop{i}, nil); err != nil {
			return 0, err
		}
		took = append(took, float64((<-started).Sub(begun)))
	}
	return time.Duration(median(took)), c.Stop(ctx)
}

// stages completes each job and inserts the next one in a transaction.
func (r *rivers) stages(ctx context.Context, workers, n int) (rate float64, err error) {
	g := newGauge(n)
	var begun atomic.Int64
	c, err := r.client(workers, func(ctx context.Context, j *river.Job[noop]) error {
		return r.next(ctx, j, begun.Add(1) <= int64(n-workers*2), g)
	})
	if err != nil {
		return 0, err
	}
	if err := r.fill(ctx, c, workers*2); err != nil {
		return 0, err
	}
	if err := c.Start(ctx); err != nil {
		return 0, err
	}
	rate, err = g.wait(ctx)
	return rate, errors.Join(err, c.Stop(ctx))
}

func (r *rivers) next(ctx context.Context, j *river.Job[noop], more bool, g *gauge) error {
	err := pgx.BeginFunc(ctx, r.pool, func(tx pgx.Tx) error {
		if _, err := river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, j); err != nil {
			return err
		}
		if !more {
			return nil
		}
		_, err := river.ClientFromContext[pgx.Tx](ctx).InsertTx(ctx, tx, noop{j.Args.N}, nil)
		return err
	})
	if err == nil {
		g.add(1)
	}
	return err
}
