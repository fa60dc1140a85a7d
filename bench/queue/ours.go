package main

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/signalbox-dev/signalbox/adapters/postgres"
	"github.com/signalbox-dev/signalbox/adapters/sqlite"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// store lists the ports that are measured of SQLite's and PostgreSQL's.
type store interface {
	queue.Queue
	queue.Admin
	task.Store
}

func (l *lab) postgres(ctx context.Context) (store, func(), error) {
	url, drop, err := l.database(ctx)
	if err != nil {
		return nil, nil, err
	}
	db, err := postgres.Open(ctx, postgres.Options{URL: url})
	return db, func() { _ = db.Close(); drop() }, err
}

func (l *lab) sqlite(ctx context.Context) (store, func(), error) {
	db, err := sqlite.Open(ctx, sqlite.Options{Path: l.file()})
	return db, func() { _ = db.Close() }, err
}

func fill(ctx context.Context, q queue.Queue, n int, job func(i int) queue.Job) error {
	jobs := make([]queue.Job, n)
	for i := range jobs {
		jobs[i] = job(i)
	}
	for batch := range slices.Chunk(jobs, 5000) {
		if _, err := q.Put(ctx, batch...); err != nil {
			return err
		}
	}
	return nil
}

// block puts n jobs that cannot run: a third is held, a third is held and behind another
// job of its key, a third is not due.
func block(ctx context.Context, q store, n int) error {
	if err := q.Hold(ctx, queue.Hold{Subject: "shut", Name: "gate"}); err != nil {
		return err
	}
	return fill(ctx, q, n, func(i int) queue.Job {
		job := queue.Job{Pool: "p", Kind: "blocked", Payload: []byte(`{"n":1}`), Holds: []string{"shut"}}
		switch i % 3 {
		case 1:
			job.Key = fmt.Sprint("blocked/", i/30)
		case 2:
			job.Holds, job.AvailableAt = nil, time.Now().Add(24*time.Hour)
		}
		return job
	})
}

// work puts jobs as the orchestrator makes them, each with the key of its task and two
// subjects that might be held, and has workers take and finish them, one at a time in each
// worker: the call that ends one takes the next.
func work(ctx context.Context, q store, workers, n int) (float64, error) {
	err := fill(ctx, q, n, func(i int) queue.Job {
		task := int64(i) + 1
		return queue.Job{
			Pool: "p", Kind: "noop", TaskID: task, Key: fmt.Sprint("task/", task), Role: "developer", Lane: "acme/app",
			Holds: []string{fmt.Sprint("task/", task), fmt.Sprint("repo/", task%100)}, Payload: []byte(`{"n":1}`), MaxAttempts: 25,
		}
	})
	if err != nil {
		return 0, err
	}
	return relay(ctx, q, "p", workers, n, func(ctx context.Context, c queue.Claim) ([]queue.Claim, error) {
		return q.FinishTake(ctx, c, queue.Outcome{Kind: queue.OutcomeDone}, "p", "w", 1, time.Minute)
	})
}

// ending ends a claimed job, and may return the next one.
type ending func(context.Context, queue.Claim) ([]queue.Claim, error)

// relay has workers take a job each and end it.
func relay(ctx context.Context, q queue.Queue, pool string, workers, n int, end ending) (float64, error) {
	return crowd(ctx, workers, n, func(ctx context.Context, g gauge) (err error) {
		var claims []queue.Claim
		for err == nil && g.open() {
			if len(claims) == 0 {
				claims, err = q.Take(ctx, pool, "w", 1, time.Minute)
				continue
			}
			claims, err = end(ctx, claims[0])
			g.add()
		}
		return err
	})
}

// moveTasks moves tasks from stage to stage: each move finishes the job that it was
// decided in, stores the task, writes the journal, and puts the next job and two effects,
// in one transaction; then the worker takes what comes next.
func moveTasks(ctx context.Context, db store, workers, n int) (float64, error) {
	tasks := make([]task.Task, workers*2)
	for i := range tasks {
		id, err := db.NewTaskID(ctx)
		if err != nil {
			return 0, err
		}
		tasks[i] = task.Task{
			ID: id, WorkItemID: fmt.Sprint("B-", id), TrackerProjectID: "p", TrackerIssueID: fmt.Sprint("i", id), Repo: "acme/app",
			Branch: fmt.Sprint("b", id), Slug: "slug", Title: "A title of a usual length", State: stage.State{Stage: stage.Development},
		}
		if err := db.Commit(ctx, task.Commit{Task: &tasks[i], Jobs: []queue.Job{event(id)}}); err != nil {
			return 0, err
		}
		tasks[i].Version++
	}
	first := tasks[0].ID
	return relay(ctx, db, "events", workers, n, func(ctx context.Context, claim queue.Claim) ([]queue.Claim, error) {
		t := tasks[claim.Job.TaskID-first]
		tasks[claim.Job.TaskID-first].Version++ // for the worker that takes the next job of the task
		effect := func(door string) queue.Job {
			return queue.Job{
				Pool: "effects", Kind: door, TaskID: t.ID, Payload: []byte(`{"text":"moved"}`),
				Key: fmt.Sprint(t.ID, "/", door), DedupeKey: fmt.Sprint(t.ID, "/", t.Version, door),
			}
		}
		moved := task.JournalEntry{
			TaskID: t.ID, Seq: t.Version, At: time.Now(),
			Kind: task.KindDecision, Payload: []byte(`{"from":"development","to":"review"}`),
		}
		err := db.Commit(ctx, task.Commit{
			Task: &t, Claim: &claim, Jobs: []queue.Job{event(t.ID), effect("tracker"), effect("chat")}, Journal: []task.JournalEntry{moved},
		})
		if err != nil {
			return nil, err
		}
		return db.Take(ctx, "events", "w", 1, time.Minute)
	})
}

func event(task int64) queue.Job {
	return queue.Job{Pool: "events", Kind: "agent_done", TaskID: task, Key: fmt.Sprint("task/", task), Payload: []byte(`{"n":1}`)}
}

// receive stores deliveries, each with its job, as the receiver of webhooks does.
func receive(ctx context.Context, db store, senders, n int) (float64, error) {
	var last atomic.Int64
	return crowd(ctx, senders, n, func(ctx context.Context, g gauge) (err error) {
		for err == nil && g.open() {
			i := last.Add(1)
			id := fmt.Sprint(i)
			_, err = db.Receive(ctx, task.Delivery{Source: "s", ID: id, BodyHash: id, Event: "issue", ReceivedAt: time.Now()}, event(i))
			g.add()
		}
		return err
	})
}
