package orchestrator

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/queue"
)

// Kinds of journal entries. A feature may have others.
const (
	KindDecision = "decision" // the payload is a Recorded
	KindOperator = "operator" // the payload is an Act
	KindLeft     = "left"     // the payload is a work.Left
)

// OperatorBy is an operator who has come by a way and has shown the token.
func OperatorBy(via stage.Via) stage.Principal {
	return stage.Principal{Kind: stage.KindOperator, ID: "operator", Via: via, Proof: stage.ProofToken}
}

// Acts of an operator.
const (
	ActRetry    = "retry"
	ActStop     = "stop"
	ActUnfreeze = "unfreeze"
	ActHasten   = "hasten"
	ActAgain    = "again"
	ActDepend   = "depend"
	ActUndepend = "undepend"
	ActReload   = "reload"
)

// Act is what an operator has asked for. It is in the journal before anything is
// done about it.
type Act struct {
	Act  string          `json:"act"`
	By   stage.Principal `json:"by"`
	Repo string          `json:"repo,omitempty"` // of an act that concerns no task
	Lane string          `json:"lane,omitempty"` // of one that concerns a lane
	Job  int64           `json:"job,omitempty"`  // the effect that is made again
	On   int64           `json:"on,omitempty"`   // the task that is waited for
}

// RefusedError says in a sentence why what an operator has asked for is not done.
type RefusedError struct{ Why string }

// Error is the reason.
func (r *RefusedError) Error() string { return r.Why }

// What is the act and what it concerns beside the task.
func (a Act) What() string {
	words := a.Act
	for _, more := range []string{a.Repo, a.Lane} {
		if more != "" {
			words += " " + more
		}
	}
	if a.Job != 0 {
		words += fmt.Sprintf(" effect %d", a.Job)
	}
	if a.On != 0 {
		words += fmt.Sprintf(" on task %d", a.On)
	}
	return words
}

// Acted decodes a journal entry of kind "operator".
func (j JournalEntry) Acted() (Act, error) {
	var a Act
	if j.Kind != KindOperator {
		return a, fmt.Errorf("journal entry %d is a %s, not an operator's act", j.ID, j.Kind)
	}
	err := json.Unmarshal(j.Payload, &a)
	return a, err
}

// Retry is the operator's relaunch of a task's stage, and of an agent that failed the try
// at once that it waits for. The event and the record of who asked are durable when it returns.
func (e *Engine) Retry(ctx context.Context, taskID int64, by stage.Principal) error {
	if err := e.operate(ctx, taskID, ActRetry, stage.OnRetry, by); err != nil {
		return err
	}
	_, err := e.Jobs.Hasten(ctx, queue.PoolAgents, taskID)
	return err
}

// Stop is the operator's STOP, the same as the board's. The event and the record
// of who asked are durable when it returns.
func (e *Engine) Stop(ctx context.Context, taskID int64, by stage.Principal) error {
	return e.operate(ctx, taskID, ActStop, stage.OnStop, by)
}

// operate puts an operator's event, with its row in the journal. The same again
// while the first is unfinished adds the row only.
func (e *Engine) operate(ctx context.Context, taskID int64, act string, on stage.Trigger, by stage.Principal) error {
	t, err := e.Store.Task(ctx, taskID)
	if err != nil {
		return err
	}
	job := triggerJob(t, stage.Event{On: on, At: e.Now(), By: by}, nil, fmt.Sprintf("%s/%d", act, t.ID))
	return e.Store.Commit(ctx, Commit{
		Journal: []JournalEntry{e.actEntry(t, Act{Act: act, By: by})}, Jobs: []queue.Job{job},
	})
}

// Audit writes an operator's act that concerns no task into the journal. Do it
// before the act.
func (e *Engine) Audit(ctx context.Context, a Act) error {
	return e.Store.Commit(ctx, Commit{Journal: []JournalEntry{e.actEntry(Task{}, a)}})
}

// AuditTask writes an operator's act on a task into its journal. Do it before the act.
func (e *Engine) AuditTask(ctx context.Context, t Task, a Act) error {
	return e.Store.Commit(ctx, Commit{Journal: []JournalEntry{e.actEntry(t, a)}})
}

func (e *Engine) actEntry(t Task, a Act) JournalEntry {
	return JournalEntry{TaskID: t.ID, Seq: t.State.Seq, At: e.Now(), Kind: KindOperator, Payload: encode(a)}
}
