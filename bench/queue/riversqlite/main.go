// Command riversqlite measures how many no-op jobs a second River works off on a
// SQLite file with synchronous=FULL: riversqlite FILE WORKERS JOBS. It is a module
// of its own because this driver asks for other versions of River's modules than
// the newest one for PostgreSQL.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	_ "modernc.org/sqlite" // the driver
)

type noop struct {
	N int `json:"n"`
}

// Kind implements river.JobArgs.
func (noop) Kind() string { return "noop" }

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: riversqlite FILE WORKERS JOBS")
		os.Exit(2)
	}
	workers, err := strconv.Atoi(os.Args[2])
	jobs, err2 := strconv.Atoi(os.Args[3])
	if err := errors.Join(err, err2); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	rate, err := measure(context.Background(), os.Args[1], workers, jobs)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(rate)
}

func measure(ctx context.Context, path string, workers, n int) (rate float64, err error) {
	db, err := sql.Open("sqlite", path+"?_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=busy_timeout(10000)")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1) // as River's manual asks
	driver := riversqlite.New(db)
	log := slog.New(slog.DiscardHandler)
	m, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: log})
	if err != nil {
		return 0, err
	}
	if _, err := m.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return 0, err
	}
	w := river.NewWorkers()
	river.AddWorker(w, river.WorkFunc(func(context.Context, *river.Job[noop]) error { return nil }))
	c, err := river.NewClient(driver, &river.Config{
		FetchCooldown: 2 * time.Millisecond, FetchPollInterval: 20 * time.Millisecond, Logger: log,
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: workers}}, Workers: w,
	})
	if err != nil {
		return 0, err
	}
	jobs := make([]river.InsertManyParams, n)
	for i := range jobs {
		jobs[i].Args = noop{i}
	}
	for batch := range slices.Chunk(jobs, 500) {
		if _, err := c.InsertMany(ctx, batch); err != nil {
			return 0, err
		}
	}
	events, stop := c.SubscribeConfig(&river.SubscribeConfig{ChanSize: n + 10, Kinds: []river.EventKind{river.EventKindJobCompleted}})
	defer stop()
	if err := c.Start(ctx); err != nil {
		return 0, err
	}
	var begin time.Time
	for done := 1; done <= n; done++ { // neither the start nor the end counts
		<-events
		switch done {
		case n / 10:
			begin = time.Now()
		case n * 9 / 10:
			rate = float64(n*9/10-n/10) / time.Since(begin).Seconds()
		}
	}
	return rate, c.Stop(ctx)
}
