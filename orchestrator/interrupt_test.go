package orchestrator

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// A decision that ends a run and launches the next one is stored first; the next one's job
// may be claimed before the run is ended here, and is not ended in its place.
func TestStopAgentsEndsNoLaterRun(t *testing.T) {
	e := &Engine{Metrics: newMetrics(nil), running: map[int64]*agentAtWork{}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	e.agentStarts(1, &agentAtWork{7, cancel})
	e.stopAgents(1, 6)
	require.NoError(t, ctx.Err())
	e.stopAgents(1, 7)
	require.Error(t, ctx.Err())
}
