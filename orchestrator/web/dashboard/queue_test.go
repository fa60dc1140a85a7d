package dashboard_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/queue"
)

// The queue's page has jobs in the order in which workers get them.
func TestQueueOrder(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		w.Shutdown()
		ctx := context.Background()
		var jobs []queue.Job
		for i, prio := range []int{5, 1, 3, 1, 4} {
			jobs = append(jobs, queue.Job{Pool: queue.PoolAgents, Kind: orchestrator.KindAgent, Priority: prio, Holds: []string{fmt.Sprint("s", i)}})
		}
		jobs = append(jobs, queue.Job{Pool: queue.PoolAgents, Kind: orchestrator.KindAgent, AvailableAt: time.Now().Add(time.Hour)})
		require.NoError(w, w.Store.Hold(ctx, queue.Hold{Subject: "s3", Name: "test", Reason: "held for a test"}))
		_, err := w.Store.Put(ctx, jobs...)
		require.NoError(w, err)
		body := plain(w.get("/queue").body)
		claims, err := w.Store.Take(ctx, queue.PoolAgents, "test", 10, time.Minute)
		require.NoError(w, err)
		require.Len(w, claims, 4)
		rest := body
		for i, c := range claims {
			row := strings.Index(rest, fmt.Sprintf(" %d agent #%d ", i+1, c.Job.ID))
			require.GreaterOrEqual(w, row, 0, "place %d: job %d in %s", i+1, c.Job.ID, body)
			rest = rest[row:]
		}
		require.Regexp(w, `waits agent #\d+ – – not before .* waits agent #\d+ – – held for a test \(test\)`, rest)
		body = plain(w.get("/queue").body)
		require.Equal(w, 4, strings.Count(body, "at work agent #"), "%s", body)
	})
}
