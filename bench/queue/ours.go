package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/signalbox-dev/signalbox/adapters/postgres"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/queue"
)

// store is a store with the calls that are measured: SQLite's and PostgreSQL's.
type store interface {
	queue.Relay
	queue.Admin
	queue.Inspector
}

// fresh opens a store in a schema of its own.
func (l *lab) fresh(ctx context.Context) (*postgres.DB, func(), error) {
	l.rowed++
	schema := fmt.Sprintf("ours%d", l.rowed)
	db, err := postgres.Open(ctx, postgres.Options{URL: l.url, Schema: schema})
	if err != nil {
		return nil, nil, err
	}
	return db, func() {
		_ = db.Close()
		_ = l.exec(context.WithoutCancel(ctx), "drop schema "+schema+" cascade")
	}, nil
}

func (l *lab) exec(ctx context.Context, query string) error {
	c, err := pgx.Connect(ctx, l.url)
	if err != nil {
		return err
	}
	_, err = c.Exec(ctx, query)
	return errors.Join(err, c.Close(ctx))
}

// gated are n jobs as the orchestrator makes them, in the order of their task, so
// many of each: the end of one opens the way for the next. Each names two subjects
// that might be held.
func gated(n, each int) []queue.Job {
	out := make([]queue.Job, n)
	for i := range out {
		task := int64(i%max(n/each, 1)) + 1
		out[i] = queue.Job{
			Pool: "p", Kind: "noop", TaskID: task, Key: fmt.Sprint("task/", task), Role: "developer", Lane: "acme/app",
			Holds: []string{fmt.Sprint("task/", task), fmt.Sprint("repo/", task%100)}, Payload: []byte(`{"n":1}`), MaxAttempts: 25,
		}
	}
	return out
}

func putAll(ctx context.Context, q queue.Queue, jobs []queue.Job) error {
	for batch := range slices.Chunk(jobs, 5000) {
		if _, err := q.Put(ctx, batch...); err != nil {
			return err
		}
	}
	return nil
}

// block puts n jobs that cannot run: a third is held, a third is behind another
// job of its key, a third is not due.
func block(ctx context.Context, q store, n int) error {
	if n == 0 {
		return nil
	}
	if err := q.Hold(ctx, queue.Hold{Subject: "shut", Name: "gate"}); err != nil {
		return err
	}
	jobs := make([]queue.Job, n)
	for i := range jobs {
		jobs[i] = queue.Job{Pool: "p", Kind: "blocked", Payload: []byte(`{"n":1}`)}
		switch i % 3 {
		case 0:
			jobs[i].Holds = []string{"shut"}
		case 1:
			jobs[i].Key, jobs[i].Holds = fmt.Sprint("blocked/", i/30), []string{"shut"}
		default:
			jobs[i].AvailableAt = time.Now().Add(24 * time.Hour)
		}
	}
	return putAll(ctx, q, jobs)
}

// work takes and finishes gated jobs, one at a time in each worker: the call that
// ends one takes the next.
func work(ctx context.Context, q store, workers, n, each int) (float64, error) {
	if err := putAll(ctx, q, gated(n, each)); err != nil {
		return 0, err
	}
	return relay(ctx, workers, n,
		func(ctx context.Context) ([]queue.Claim, error) { return q.Take(ctx, "p", "w", 1, time.Minute) },
		func(ctx context.Context, c queue.Claim) ([]queue.Claim, error) {
			return q.FinishTake(ctx, c, queue.Outcome{Kind: queue.OutcomeDone}, "p", "w", 1, time.Minute)
		})
}

// relay has workers take a job each and end n of them, one after the other: the call
// that ends one takes the next. It returns how many were ended in a second.
func relay(ctx context.Context, workers, n int, take func(context.Context) ([]queue.Claim, error), end func(context.Context, queue.Claim) ([]queue.Claim, error)) (float64, error) {
	g := newGauge(n)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	defer wg.Wait()
	var left atomic.Int64
	left.Store(int64(n))
	for range workers {
		wg.Go(func() {
			var claims []queue.Claim
			var err error
			for left.Load() > 0 && err == nil {
				if len(claims) == 0 {
					claims, err = take(ctx)
					continue
				}
				claims, err = end(ctx, claims[0])
				left.Add(-1)
				g.add(1)
			}
			if err != nil {
				cancel(err)
			}
		})
	}
	rate, err := g.wait(ctx)
	if err != nil {
		return 0, context.Cause(ctx)
	}
	return rate, nil
}

// ourStart times put to start with one worker that waits.
func ourStart(ctx context.Context, db *postgres.DB, n int) (time.Duration, error) {
	ctx, cancel := context.WithCancel(ctx)
	started := make(chan time.Time)
	failed := make(chan error, 1)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wake := db.Wake("p")
	wg.Go(func() {
		for {
			claims, err := db.Take(ctx, "p", "w", 1, time.Minute)
			if err != nil {
				failed <- err
				return
			}
			for _, c := range claims {
				started <- time.Now()
				if err := db.Finish(context.WithoutCancel(ctx), c, queue.Outcome{Kind: queue.OutcomeDone}); err != nil {
					failed <- err
					return
				}
			}
			if len(claims) == 0 {
				select {
				case <-wake:
				case <-ctx.Done():
					return
				}
			}
		}
	})
	var took []float64
	for _, j := range gated(n, 1) {
		time.Sleep(5 * time.Millisecond) // the worker is idle
		begun := time.Now()
		if _, err := db.Put(ctx, j); err != nil {
			return 0, err
		}
		select {
		case at := <-started:
			took = append(took, float64(at.Sub(begun)))
		case err := <-failed:
			return 0, err
		}
	}
	return time.Duration(median(took)), nil
}

// ourStages moves tasks from stage to stage: each move finishes the job that it
// was decided in, stores the task, writes the journal, and puts the next job and
// two effects, and takes what comes next, in one transaction.
func ourStages(ctx context.Context, db *postgres.DB, workers, n int) (float64, error) {
	tasks := make([]orchestrator.Task, workers*2)
	for i := range tasks {
		id, err := db.NewTaskID(ctx)
		if err != nil {
			return 0, err
		}
		tasks[i] = orchestrator.Task{
			ID: id, WorkItemID: fmt.Sprint("B-", id), TrackerProjectID: "p", TrackerIssueID: fmt.Sprint("i", id), Repo: "acme/app",
			Branch: fmt.Sprint("b", id), Slug: "slug", Title: "A title of a usual length", State: stage.State{Stage: stage.Development},
		}
		if err := db.Commit(ctx, orchestrator.Commit{Task: &tasks[i], Jobs: []queue.Job{event(id)}}); err != nil {
			return 0, err
		}
		tasks[i].Version++
	}
	first := tasks[0].ID
	return relay(ctx, workers, n,
		func(ctx context.Context) ([]queue.Claim, error) { return db.Take(ctx, "events", "w", 1, time.Minute) },
		func(ctx context.Context, claim queue.Claim) ([]queue.Claim, error) {
			t := &tasks[claim.Job.TaskID-first]
			c := transition(t, claim)
			t.Version++ // whoever takes the next job of the task finds it so
			if err := db.Commit(ctx, c); err != nil {
				return nil, err
			}
			return db.Take(ctx, "events", "w", 1, time.Minute)
		})
}

// ourNext finishes each job and puts the next of its task in one transaction, and
// takes what comes next with it: what River is asked for, and nothing else.
func ourNext(ctx context.Context, q store, workers, n int) (float64, error) {
	for task := range int64(workers * 2) {
		if _, err := q.Put(ctx, event(task)); err != nil {
			return 0, err
		}
	}
	return relay(ctx, workers, n,
		func(ctx context.Context) ([]queue.Claim, error) { return q.Take(ctx, "events", "w", 1, time.Minute) },
		func(ctx context.Context, c queue.Claim) ([]queue.Claim, error) {
			return q.FinishTake(ctx, c, queue.Outcome{Kind: queue.OutcomeDone, Then: []queue.Job{event(c.Job.TaskID)}}, "events", "w", 1, time.Minute)
		})
}

func event(task int64) queue.Job {
	return queue.Job{Pool: "events", Kind: "agent_done", TaskID: task, Key: fmt.Sprint("task/", task), Payload: []byte(`{"n":1}`)}
}

func transition(t *orchestrator.Task, c queue.Claim) orchestrator.Commit {
	effect := func(door string) queue.Job {
		return queue.Job{Pool: "effects", Kind: door, TaskID: t.ID, Key: fmt.Sprint(t.ID, "/", door), DedupeKey: fmt.Sprint(t.ID, "/", t.Version, door), Payload: []byte(`{"text":"moved"}`)}
	}
	moved := *t
	return orchestrator.Commit{
		Task: &moved, Claim: &c, Jobs: []queue.Job{event(t.ID), effect("tracker"), effect("chat")},
		Journal: []orchestrator.JournalEntry{{TaskID: t.ID, Seq: t.Version, At: time.Now(), Kind: orchestrator.KindDecision, Payload: []byte(`{"from":"development","to":"review"}`)}},
	}
}

// ourAcks takes deliveries with 50 senders.
func ourAcks(ctx context.Context, db *postgres.DB, n int) (float64, error) {
	var wg sync.WaitGroup
	var next atomic.Int64
	errs := make(chan error, 50)
	begun := time.Now()
	for range cap(errs) {
		wg.Go(func() {
			for {
				i := next.Add(1)
				if i > int64(n) {
					return
				}
				id := fmt.Sprint(i)
				if _, err := db.Receive(ctx, orchestrator.Delivery{Source: "s", ID: id, BodyHash: id, Event: "issue", ReceivedAt: time.Now()}, event(i)); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	select {
	case err := <-errs:
		return 0, err
	default:
		return float64(n) / time.Since(begun).Seconds(), nil
	}
}
