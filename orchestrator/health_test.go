package orchestrator

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/queue"
)

// A lane is a warning when it has been silent for longer than a minute.
func TestReachable(t *testing.T) {
	now := time.Date(2031, 5, 4, 12, 9, 0, 0, time.UTC)
	e := &Engine{Deps: Deps{Now: func() time.Time { return now }}, health: newHealth(Places{}, now)}
	fall := func(pool string, at time.Time) {
		for range sickAfter {
			e.health[pool].ended(&queue.Outcome{Kind: queue.OutcomeRetry, Cause: context.DeadlineExceeded}, at)
		}
	}
	require.NoError(t, e.Reachable(t.Context()))
	fall(LaneGit.Pool(), now.Add(-time.Minute))
	require.NoError(t, e.Reachable(t.Context()))
	fall(LaneChat.Pool(), now.Add(-5*time.Minute))
	require.EqualError(t, e.Reachable(t.Context()), "the chat has not answered since 12:04 UTC (try 3): context deadline exceeded")
	fall(poolBoardEvents, now.Add(-6*time.Minute))
	require.EqualError(t, e.Reachable(t.Context()), "the tracker (board events) has not answered since 12:03 UTC (try 3): context deadline exceeded; "+
		"the chat has not answered since 12:04 UTC (try 3): context deadline exceeded")
}
