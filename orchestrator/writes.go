package orchestrator

import (
	"context"
	"errors"
	"fmt"

	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// untaken returns why the commits of a run could not be taken.
func (e *Engine) untaken(ctx context.Context, p task.Project, t task.Task, l stage.Launch, err error) string {
	var outside *work.OutsideError
	if !errors.As(err, &outside) {
		return "the commits could not be taken: " + fault.Words(err.Error())
	}
	e.noteLeft(ctx, t, outside.Left)
	kept := "they could not be kept"
	if outside.Left.Ref != "" {
		kept = "they are kept as " + outside.Left.Ref
	}
	return fmt.Sprintf("the commits of the %s change %s, and it may change %s; none of them was taken, %s",
		l.Role, outside.List(), p.Writable(t, l), kept)
}

// failedBefore returns why the attempt before this one failed; empty when none of the run has.
func (e *Engine) failedBefore(ctx context.Context, t task.Task) string {
	if t.State.Failures == 0 {
		return ""
	}
	entries, err := e.Records.Journal(ctx, t.ID)
	if err != nil {
		e.Log.Warn("why the last attempt failed cannot be read", "task", t.ID, "repo", t.Repo, "err", err)
		return ""
	}
	for i := len(entries) - 1; i >= 0; i-- {
		r, err := entries[i].Recorded()
		if err != nil || r.Event.On != stage.OnAgentAttempt || r.Event.Run != t.State.Run {
			continue
		}
		if failed := r.Event.Agent; failed != nil && failed.Hindered == nil {
			return failed.Reason
		}
	}
	return ""
}
