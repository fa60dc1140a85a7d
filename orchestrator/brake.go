package orchestrator

import (
	"context"
	"errors"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

// brakes reports whether a webhook proves by itself that a person has set STOP, and when: it is
// acted on without a look at the board, which may not answer.
func brakes(h tracker.Hook) bool {
	set := h.Kind == tracker.HookItemUpdated && h.Status && h.Word == stage.StatusStop
	return set && !h.Unsigned && h.ActorID != "" && (!h.Self || h.Browser) && !h.At.IsZero()
}

// brake cancels the task of a work item on which STOP was set since it began. What is left, such as
// the STOP of a task before, goes the way of all webhooks.
func (e *Engine) brake(ctx context.Context, c queue.Claim, p task.Project, h tracker.Hook) *queue.Outcome {
	for range decideMax {
		t, found, _, err := e.taskOf(ctx, h.ItemID)
		if err != nil {
			return retryOutcome(err)
		}
		own, registered := p, true
		if found && t.Repo != p.Repo {
			own, registered = e.projectOf(t, stage.OnStop)
		}
		b := board{task: t, hook: h, told: stage.StatusStop}
		if b.began, err = e.began(ctx, t); err != nil {
			return retryOutcome(err)
		}
		if !registered || h.At.Equal(b.began) || !b.lost() {
			return &queue.Outcome{Kind: queue.OutcomeDone, Error: "the board is read first", Then: []queue.Job{TrackerJob(h)}}
		}
		o, err := e.try(ctx, c, own, t, stage.Event{On: stage.OnStop, At: e.Now(), By: senderOf(h), Seen: h.At}, nil)
		if !errors.Is(err, task.ErrConflict) {
			return o
		}
	}
	return retryOutcome(task.ErrConflict)
}

// began is when the word was set that has begun a task, by the tracker's clock.
func (e *Engine) began(ctx context.Context, t task.Task) (time.Time, error) {
	entries, err := e.Records.Journal(ctx, t.ID)
	if err != nil {
		return time.Time{}, err
	}
	for _, entry := range entries {
		if r, err := entry.Recorded(); err == nil && r.Event.On == stage.OnToAnalyse {
			return r.Event.Seen, nil
		}
	}
	return t.State.ActedAt, nil
}
