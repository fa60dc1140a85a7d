package queue_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/queue"
)

func TestTerminal(t *testing.T) {
	for status, want := range map[queue.Status]bool{
		queue.Queued: false, queue.Running: false, queue.Done: true, queue.Failed: true, queue.Cancelled: true,
	} {
		require.Equal(t, want, status.Terminal(), status)
	}
}

// An outcome of no known kind is a failure, never a success.
func TestAfterUnknownOutcome(t *testing.T) {
	require.Equal(t, queue.Failed, queue.After(queue.Job{Attempt: 1}, queue.Outcome{}, time.Now()).Status)
}

// A retry of a job that has used up its attempts is a failure.
func ExampleAfter() {
	now := time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
	job := queue.Job{ID: 7, Attempt: 1, MaxAttempts: 2, Status: queue.Running}
	again := queue.After(job, queue.Outcome{Kind: queue.OutcomeRetry, At: now.Add(time.Minute), Error: "busy"}, now)
	fmt.Println(again.Status, again.AvailableAt.Format(time.TimeOnly))
	job.Attempt = 2
	fmt.Println(queue.After(job, queue.Outcome{Kind: queue.OutcomeRetry, Error: "busy"}, now).Status)
	// Output:
	// queued 00:01:00
	// failed
}
