package orchestrator

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

// columns counts the moves whose column is looked up.
type columns struct {
	Tracking
	tracker.Board
	read int
}

func (c *columns) StatusOf(context.Context, string, string) (stage.Status, error) {
	c.read++
	return stage.StatusApproved, nil
}

// A card that was moved for years costs no more than one that was moved today.
func TestOldMovesAreNotRead(t *testing.T) {
	var b columns
	now := time.Date(2031, 5, 4, 12, 9, 0, 0, time.UTC)
	last := tracker.Move{At: now.Add(time.Second), Earlier: make([]tracker.Move, 1000)}
	_, _, err := newestMove(t.Context(), &Engine{Deps: Deps{Tracker: &b}}, tracker.Item{}, last, now, func(tracker.Move, stage.Status) (bool, error) { return false, nil })
	require.NoError(t, err)
	require.Equal(t, 1, b.read)
}

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

// A lane is closed by failures in a row, or by one that names a moment; only an answer opens it: no job that was put off,
// interrupted or short of requests. While it is closed one job at a time looks.
func TestBreaker(t *testing.T) {
	now := time.Date(2031, 5, 4, 12, 9, 0, 0, time.UTC)
	late := &queue.Outcome{Kind: queue.OutcomeRetry, Cause: context.DeadlineExceeded}
	for name, c := range map[string]struct {
		ends []*queue.Outcome
		sick bool
	}{
		"two failures":                {[]*queue.Outcome{late, late}, false},
		"three":                       {[]*queue.Outcome{late, late, late}, true},
		"an answer in between":        {[]*queue.Outcome{late, late, {Kind: queue.OutcomeDone}, late}, false},
		"a moment is named":           {[]*queue.Outcome{{Kind: queue.OutcomeRetry, Cause: &fault.Error{Text: "429", Again: true, Wait: time.Minute}}}, true},
		"put off":                     {[]*queue.Outcome{late, late, late, {Kind: queue.OutcomeRelease}}, true},
		"short of requests":           {[]*queue.Outcome{late, late, late, {Kind: queue.OutcomeRetry, Cause: tracker.ErrBudget}}, true},
		"refused, which is an answer": {[]*queue.Outcome{late, late, late, {Kind: queue.OutcomeRetry, Cause: errors.New("400")}}, false},
		"decided":                     {[]*queue.Outcome{late, late, late, nil}, false},
	} {
		h := &health{}
		for _, o := range c.ends {
			h.ended(o, now)
		}
		require.Equal(t, c.sick, h.sick(), name)
		room, until := h.room(now, 4)
		if !c.sick {
			require.Equal(t, 4, room, name)
			continue
		}
		require.Zero(t, room, name)
		room, _ = h.room(until, 4)
		require.Equal(t, 1, room, name)
		h.took(1)
		room, _ = h.room(until, 4)
		require.Zero(t, room, name)
	}
}

// What is tried again waits longer each time, at most five minutes, or as long as it was told, at most an hour. An effect
// that is refused for good is given up at its third look, and an event never.
func TestSettle(t *testing.T) {
	now := time.Date(2031, 5, 4, 12, 9, 0, 0, time.UTC)
	again, refused := &fault.Error{Text: "503", Again: true}, &fault.Error{Text: "403"}
	told := func(d time.Duration) error { return &fault.Error{Text: "429", Again: true, Wait: d} }
	event, effect := queue.Job{Pool: queue.PoolEvents, Kind: KindTracker}, queue.Job{Pool: LaneBoard.Pool(), Kind: "effect/status"}
	for name, c := range map[string]struct {
		job      queue.Job
		err      error
		attempt  int
		kind     queue.OutcomeKind
		from, to time.Duration
	}{
		"at first":           {effect, again, 1, queue.OutcomeRetry, 750 * time.Millisecond, time.Second},
		"at last":            {effect, again, 99, queue.OutcomeRetry, 225 * time.Second, 5 * time.Minute},
		"told":               {effect, told(7 * time.Minute), 1, queue.OutcomeRetry, 7 * time.Minute, 7 * time.Minute},
		"told to wait a day": {effect, told(24 * time.Hour), 1, queue.OutcomeRetry, time.Hour, time.Hour},
		"refused twice":      {effect, refused, 2, queue.OutcomeRetry, time.Second, 2 * time.Second},
		"refused thrice":     {effect, refused, 3, queue.OutcomeDead, 0, 0},
		"a refused event":    {event, refused, 99, queue.OutcomeRetry, 225 * time.Second, 5 * time.Minute},
	} {
		c.job.Attempt = c.attempt
		o := settle(Retry(c.err), c.job, now)
		require.Equal(t, c.kind, o.Kind, name)
		if o.Kind == queue.OutcomeRetry {
			require.GreaterOrEqual(t, o.At.Sub(now), c.from, name)
			require.LessOrEqual(t, o.At.Sub(now), c.to, name)
		}
	}
}
