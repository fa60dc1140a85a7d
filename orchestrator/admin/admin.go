// Package admin does what people do with a running engine otherwise than on the board: STOP and
// try again, decide, pause, hurry what waits for a neighbour, make an effect again, unfreeze, and
// replay a journal. The record of an act is durable before it is done.
package admin

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/signalbox-dev/signalbox/orchestrator"
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
func Retry(ctx context.Context, e *orchestrator.Engine, taskID int64, by stage.Principal) error {
	t, err := e.Store.Task(ctx, taskID)
	if err == nil {
		err = operate(ctx, e, t, task.Act{Act: task.ActRetry, By: by}, stage.Event{On: stage.OnRetry})
	}
	if err != nil {
		return err
	}
	_, err = e.Jobs.Hasten(ctx, queue.PoolAgents, taskID)
	return err
}

// Stop is the operator's STOP, the same as the board's. The event and the record
// of the request are durable when it returns.
func Stop(ctx context.Context, e *orchestrator.Engine, taskID int64, by stage.Principal) error {
	t, err := e.Store.Task(ctx, taskID)
	if err != nil {
		return err
	}
	return operate(ctx, e, t, task.Act{Act: task.ActStop, By: by}, stage.Event{On: stage.OnStop})
}

// Undo opens a task of the same card that takes back what a task has landed. The event and the record of the request
// are durable when it returns. A *RefusedError says why it cannot.
func Undo(ctx context.Context, e *orchestrator.Engine, taskID int64, by stage.Principal) error {
	t, err := e.Store.Task(ctx, taskID)
	if err != nil {
		return err
	}
	if why, err := orchestrator.RefusalOfUndo(ctx, e, t); err != nil {
		return err
	} else if why != "" {
		return &RefusedError{why}
	}
	job := e.EventJob(t, stage.Event{On: orchestrator.OnUndo, At: e.Now(), By: by}, fmt.Sprintf("%s/%d", task.ActUndo, t.ID))
	return record(ctx, e, t, task.Act{Act: task.ActUndo, By: by}, task.Commit{Jobs: []queue.Job{job}})
}

// operate puts an operator's event, with its row in the journal and what else it owes. The same
// again while the first is unfinished adds the row only.
func operate(ctx context.Context, e *orchestrator.Engine, t task.Task, a task.Act, ev stage.Event, more ...queue.Job) error {
	if t.State.Stage.Terminal() {
		return &RefusedError{fmt.Sprintf("%s moves nothing: the task is %s", a.Act, t.State.Stage)}
	}
	ev.At, ev.By = e.Now(), a.By
	return record(ctx, e, t, a, task.Commit{Jobs: append(more, e.EventJob(t, ev, fmt.Sprintf("%s/%d", a.Act, t.ID)))})
}

// Audit writes an operator's act on a task, or on none (zero), into the journal. Do it before the act.
func Audit(ctx context.Context, e *orchestrator.Engine, t task.Task, a task.Act) error {
	return record(ctx, e, t, a, task.Commit{})
}

// record commits what an act makes, with the act itself.
func record(ctx context.Context, e *orchestrator.Engine, t task.Task, a task.Act, made task.Commit) error {
	payload, _ := json.Marshal(a) // acts always encode
	made.Journal = []task.JournalEntry{{TaskID: t.ID, Seq: t.State.Seq, At: e.Now(), Kind: task.KindOperator, Payload: payload}}
	return e.Store.Commit(ctx, made)
}
