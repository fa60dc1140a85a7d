package orchestrator

import (
	"context"
	"fmt"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// OperatorBy returns the operator that has come by a way and shown the token of the settings.
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
	t, err := e.Store.Task(ctx, taskID)
	if err == nil {
		err = e.operate(ctx, t, task.Act{Act: task.ActRetry, By: by}, stage.Event{On: stage.OnRetry})
	}
	if err != nil {
		return err
	}
	_, err = e.Jobs.Hasten(ctx, queue.PoolAgents, taskID)
	return err
}

// Stop is the operator's STOP, the same as the board's. The event and the record
// of the request are durable when it returns.
func (e *Engine) Stop(ctx context.Context, taskID int64, by stage.Principal) error {
	t, err := e.Store.Task(ctx, taskID)
	if err != nil {
		return err
	}
	return e.operate(ctx, t, task.Act{Act: task.ActStop, By: by}, stage.Event{On: stage.OnStop})
}

// operate puts an operator's event, with its row in the journal and what else it owes. The same
// again while the first is unfinished adds the row only.
func (e *Engine) operate(ctx context.Context, t task.Task, a task.Act, ev stage.Event, more ...queue.Job) error {
	if t.State.Stage.Terminal() {
		return &RefusedError{fmt.Sprintf("%s moves nothing: the task is %s", a.Act, t.State.Stage)}
	}
	ev.At, ev.By = e.Now(), a.By
	job := e.triggerJob(t, ev, nil, fmt.Sprintf("%s/%d", a.Act, t.ID))
	return e.Store.Commit(ctx, task.Commit{Journal: []task.JournalEntry{e.actEntry(t, a)}, Jobs: append(more, job)})
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
