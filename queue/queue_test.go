package queue_test

import (
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
	require.Equal(t, queue.Failed, queue.ApplyOutcome(queue.Job{Attempt: 1}, queue.Outcome{}, time.Now()).Status)
}
