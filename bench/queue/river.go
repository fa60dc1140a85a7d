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

// effect is a job of River's that nobody works.
type effect struct {
	N    int    `json:"n"`
	Text string `json:"text"`
}

// Kind implements river.JobArgs.
func (effect) Kind() string { return "effect" }

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
	river.AddWorker(w, river.WorkFunc(func(context.Context, *river.Job[effect]) error { return nil }))
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

// stages completes each job and inserts the next one in a transaction, with what
// more is to be in it.
func (r *rivers) stages(ctx context.Context, workers, n int, more func(context.Context, pgx.Tx, *river.Job[noop]) error) (rate float64, err error) {
	g := newGauge(n)
	var begun atomic.Int64
	c, err := r.client(workers, func(ctx context.Context, j *river.Job[noop]) error {
		err := pgx.BeginFunc(ctx, r.pool, func(tx pgx.Tx) error {
			if _, err := river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, j); err != nil {
				return err
			}
			if begun.Add(1) > int64(n-workers*2) {
				return nil
			}
			return more(ctx, tx, j)
		})
		if err == nil {
			g.add(1)
		}
		return err
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

// next inserts the next job.
func (r *rivers) next(ctx context.Context, tx pgx.Tx, j *river.Job[noop]) error {
	_, err := river.ClientFromContext[pgx.Tx](ctx).InsertTx(ctx, tx, noop{j.Args.N}, nil)
	return err
}

// tables are what a program on River would have for its tasks.
func (r *rivers) tables(ctx context.Context, tasks int) error {
	_, err := r.pool.Exec(ctx, `drop table if exists bench_tasks, bench_journal;
		create table bench_tasks (id bigint primary key, title text not null, state text not null, version bigint not null, updated_at timestamptz not null) with (fillfactor = 50);
		create table bench_journal (id bigint generated always as identity primary key, task_id bigint not null, seq bigint not null, at timestamptz not null, kind text not null, payload bytea not null);
		create index on bench_journal (task_id, id)`)
	if err == nil {
		_, err = r.pool.Exec(ctx, "insert into bench_tasks select i, 'A title of a usual length', '{}', 0, now() from generate_series(0, $1::bigint - 1) i", tasks)
	}
	return err
}

// move does what a stage transition does: it updates the task, writes the journal, and
// inserts the next job and two effects. It does not look whether the task is at the
// version that was read, and effects are not made unique; ours are, and it does.
func (r *rivers) move(ctx context.Context, tx pgx.Tx, j *river.Job[noop]) error {
	var version int64
	err := tx.QueryRow(ctx, "update bench_tasks set state = $2, version = version + 1, updated_at = now() where id = $1 returning version", j.Args.N, `{"stage":"development"}`).Scan(&version)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "insert into bench_journal (task_id, seq, at, kind, payload) values ($1, $2, now(), 'decision', $3)",
		j.Args.N, version, []byte(`{"from":"development","to":"review"}`)); err != nil {
		return err
	}
	nobody := &river.InsertOpts{Queue: "effects"}
	_, err = river.ClientFromContext[pgx.Tx](ctx).InsertManyFastTx(ctx, tx, []river.InsertManyParams{
		{Args: noop{j.Args.N}}, {Args: effect{j.Args.N, "moved"}, InsertOpts: nobody}, {Args: effect{j.Args.N, "moved"}, InsertOpts: nobody},
	})
	return err
}
