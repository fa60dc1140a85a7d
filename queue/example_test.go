package queue_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/queue/memqueue"
)

// A retry of a job that has used up its attempts is a failure.
func ExampleAfter() {
	now := time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
	job := queue.Job{ID: 7, Attempt: 1, MaxAttempts: 2, Status: queue.Running}
	again := queue.ApplyOutcome(job, queue.Outcome{Kind: queue.OutcomeRetry, At: now.Add(time.Minute), Error: "busy"}, now)
	fmt.Println(again.Status, again.AvailableAt.Format(time.TimeOnly))
	job.Attempt = 2
	fmt.Println(queue.ApplyOutcome(job, queue.Outcome{Kind: queue.OutcomeRetry, Error: "busy"}, now).Status)
	// Output:
	// queued 00:01:00
	// failed
}

// A worker takes a job and finishes it, with the job that comes after it in the same
// transaction. A worker that slept for longer than its time to live changes nothing.
func Example() {
	ctx, now := context.Background(), time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
	q := memqueue.New(func() time.Time { return now })
	_, _ = q.Put(ctx, queue.Job{Pool: "mail", Kind: "render", Key: "letter/1", MaxAttempts: 3})

	slow, _ := q.Take(ctx, "mail", "worker-1", 1, time.Minute)
	now = now.Add(2 * time.Minute)
	_, _ = q.Reap(ctx) // gives back what dead workers have left
	again, _ := q.Take(ctx, "mail", "worker-2", 1, time.Minute)
	fmt.Println(again[0].Job.Kind, "attempt", again[0].Job.Attempt)

	err := q.Finish(ctx, slow[0], queue.Outcome{Kind: queue.OutcomeDone})
	fmt.Println(errors.Is(err, queue.ErrLost))
	err = q.Finish(ctx, again[0], queue.Outcome{Kind: queue.OutcomeDone, Then: []queue.Job{{Pool: "mail", Kind: "send", Key: "letter/1"}}})
	fmt.Println(err)

	jobs, _ := q.Jobs(ctx, queue.Filter{})
	for _, j := range jobs {
		fmt.Println(j.ID, j.Kind, j.Status)
	}
	// Output:
	// render attempt 2
	// true
	// <nil>
	// 1 render done
	// 2 send queued
}
