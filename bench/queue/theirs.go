package main

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	"maragu.dev/goqite"
)

// noop is a job of River's that does nothing.
type noop struct {
	N int `json:"n"`
}

func (noop) Kind() string { return "noop" }

// riverWork does a job for one of River's workers.
type riverWork func(context.Context, *river.Job[noop]) error

// runRiver sets River up as its own benchmark does, inserts jobs, and has workers end n. A
// worker is free before the end of its job is stored, so a job counts when River
// reports that it is.
func runRiver[Tx any](ctx context.Context, driver riverdriver.Driver[Tx], workers, jobs, n int, f riverWork) (float64, error) {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	m, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: log})
	if err == nil {
		_, err = m.Migrate(ctx, rivermigrate.DirectionUp, nil)
	}
	if err != nil {
		return 0, err
	}
	w := river.NewWorkers()
	river.AddWorker(w, river.WorkFunc(f))
	c, err := river.NewClient(driver, &river.Config{
		FetchCooldown: 2 * time.Millisecond, FetchPollInterval: 20 * time.Millisecond, Logger: log,
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: workers}}, Workers: w,
	})
	if err != nil {
		return 0, err
	}
	all := make([]river.InsertManyParams, jobs)
	for i := range all {
		all[i].Args = noop{i}
	}
	if _, err := c.InsertMany(ctx, all); err != nil {
		return 0, err
	}
	g := make(gauge, n)
	events, stop := c.SubscribeConfig(&river.SubscribeConfig{ChanSize: 1_000_000, Kinds: []river.EventKind{river.EventKindJobCompleted}})
	defer stop()
	go func() {
		for range events {
			g.add()
		}
	}()
	if err := c.Start(ctx); err != nil {
		return 0, err
	}
	rate, err := g.rate(ctx)
	return rate, errors.Join(err, c.Stop(ctx))
}

func nothing(context.Context, *river.Job[noop]) error { return nil }

func riverClaims(ctx context.Context, pool *pgxpool.Pool, workers, n int) (float64, error) {
	return runRiver(ctx, riverpgxv5.New(pool), workers, n, n, nothing)
}

func riverFileClaims(ctx context.Context, db *sql.DB, workers, n int) (float64, error) {
	return runRiver(ctx, riversqlite.New(db), workers, n, n, nothing)
}

// riverTransitions completes each job and inserts the next one in a transaction.
func riverTransitions(ctx context.Context, pool *pgxpool.Pool, workers, n int) (float64, error) {
	return runRiver(ctx, riverpgxv5.New(pool), workers, workers*2, n, func(ctx context.Context, j *river.Job[noop]) error {
		return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			if _, err := river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, j); err != nil {
				return err
			}
			_, err := river.ClientFromContext[pgx.Tx](ctx).InsertTx(ctx, tx, noop{j.Args.N}, nil)
			return err
		})
	})
}

// riverPool are connections for River.
func (l *lab) riverPool(ctx context.Context) (*pgxpool.Pool, func(), error) {
	url, drop, err := l.database(ctx)
	if err != nil {
		return nil, nil, err
	}
	pool, err := pgxpool.New(ctx, url+"&pool_max_conns=60")
	return pool, func() { pool.Close(); drop() }, err
}

// peerFile opens a file with the one connection that both want, on package sqlite's driver.
func (l *lab) peerFile(context.Context) (*sql.DB, func(), error) {
	pragmas := "?_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=busy_timeout(10000)"
	db, err := sql.Open("sqlite", l.file()+pragmas)
	if err != nil {
		return nil, nil, err
	}
	db.SetMaxOpenConns(1)
	return db, func() { _ = db.Close() }, nil
}

// goqiteClaims receives and deletes n messages.
func goqiteClaims(ctx context.Context, db *sql.DB, workers, n int) (float64, error) {
	if err := goqite.Setup(ctx, db); err != nil {
		return 0, err
	}
	q := goqite.New(goqite.NewOpts{DB: db, Name: "p"})
	for range n {
		if err := q.Send(ctx, goqite.Message{Body: []byte(`{"n":1}`)}); err != nil {
			return 0, err
		}
	}
	return crowd(ctx, workers, n, func(ctx context.Context, g gauge) error {
		for {
			m, err := q.Receive(ctx)
			if err != nil || m == nil {
				return err
			}
			if err := q.Delete(ctx, m.ID); err != nil {
				return err
			}
			g.add()
		}
	})
}
