package orchestrator

import (
	"context"
	"fmt"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// OperatorBy is who has come by a way and has shown the token of the settings.
func OperatorBy(via stage.Via) stage.Principal {
	return stage.Principal{Kind: stage.KindOperator, ID: "admin", Via: via, Proof: stage.ProofToken}
}

// RefusedError reports in a sentence why a request of an operator is not done.
type RefusedError struct{ Why string }

// Error is the reason.
func (r *RefusedError) Error() string { return r.Why }

// Retry is the operator's relaunch of a task's stage, and of an agent that failed the try
// at once that it waits for. The event and the record of the request are durable when it returns.
func (e *Engine) Retry(ctx context.Context, taskID int64, by stage.Principal) error {
	if err := e.operate(ctx, taskID, task.ActRetry, stage.OnRetry, by); err != nil {
		return err
	}
	_, err := e.Jobs.Hasten(ctx, queue.PoolAgents, taskID)
	return err
}

// Stop is the operator's STOP, the same as the board's. The event and the record
// of the request are durable when it returns.
func (e *Engine) Stop(ctx context.Context, taskID int64, by stage.Principal) error {
	return e.operate(ctx, taskID, task.ActStop, stage.OnStop, by)
}

// operate puts an operator's event, with its row in the journal. The same again
// while the first is unfinished adds the row only.
func (e *Engine) operate(ctx context.Context, taskID int64, act string, on stage.Trigger, by stage.Principal) error {
	t, err := e.Store.Task(ctx, taskID)
	if err != nil {
		return err
	}
	job := e.triggerJob(t, stage.Event{On: on, At: e.Now(), By: by}, nil, fmt.Sprintf("%s/%d", act, t.ID))
	return e.Store.Commit(ctx, task.Commit{
		Journal: []task.JournalEntry{e.actEntry(t, task.Act{Act: act, By: by})}, Jobs: []queue.Job{job},
	})
}

// Audit writes an operator's act that concerns no task into the journal. Do it
// before the act.
func (e *Engine) Audit(ctx context.Context, a task.Act) error {
	return e.Store.Commit(ctx, task.Commit{Journal: []task.JournalEntry{e.actEntry(task.Task{}, a)}})
}

// AuditTask writes an operator's act on a task into its journal. Do it before the act.
func (e *Engine) AuditTask(ctx context.Context, t task.Task, a task.Act) error {
	return e.Store.Commit(ctx, task.Commit{Journal: []task.JournalEntry{e.actEntry(t, a)}})
}

func (e *Engine) actEntry(t task.Task, a task.Act) task.JournalEntry {
	return task.JournalEntry{TaskID: t.ID, Seq: t.State.Seq, At: e.Now(), Kind: task.KindOperator, Payload: encode(a)}
}
