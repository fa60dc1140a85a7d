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
	e.agentStarts(1, &agentAtWork{run: 7, cancel: cancel})
	e.stopAgents(1, 6)
	require.NoError(t, ctx.Err())
	e.stopAgents(1, 7)
	require.Error(t, ctx.Err())
}

// A card that is begun again may have the names of its cancelled task, whose agent may still end in this process: its
// checkout is not worked in until it was removed.
func TestCheckoutIsNotShared(t *testing.T) {
	e := &Engine{Metrics: newMetrics(nil), running: map[int64]*agentAtWork{}}
	before, next := &agentAtWork{run: 1}, &agentAtWork{run: 1}
	e.agentStarts(1, before)
	require.False(t, isOccupied(e, before, "acme/app/APP-1"))
	e.agentStarts(4, next)
	require.True(t, isOccupied(e, next, "acme/app/APP-1"))
	require.False(t, isOccupied(e, next, "acme/app/APP-2"))
	e.agentEnds(1, before)
	require.False(t, isOccupied(e, next, "acme/app/APP-1"))
}

// The job of a run that has ended may be claimed before that of the next one, and begin after it: it does not end it.
func TestAgentThatBeginsLate(t *testing.T) {
	e := &Engine{Metrics: newMetrics(nil), running: map[int64]*agentAtWork{}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	next, late := &agentAtWork{run: 7, cancel: cancel}, &agentAtWork{run: 6, cancel: func() {}}
	e.agentStarts(1, next)
	e.agentStarts(1, late)
	e.agentEnds(1, late)
	require.NoError(t, ctx.Err())
	require.Same(t, next, e.running[1])
	e.agentStarts(1, &agentAtWork{run: 7, cancel: func() {}})
	require.Error(t, ctx.Err(), "one that has lost its claim ends")
}
