package admin

import (
	"context"
	"fmt"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// DeniedError reports in a sentence why a principal may not make a decision.
type DeniedError struct{ Why string }

// Error is the reason.
func (d *DeniedError) Error() string { return d.Why }

// Word holds a person's decision about a task.
type Word struct {
	On  stage.Trigger // OnApproved, OnRejected or OnConfirmDeploy
	Why string
	Of  string // the commit that the person has read; empty = not known
}

// decisions are the words that a person may set otherwise than on the board, and their acts.
func decisions() map[stage.Trigger]string {
	return map[stage.Trigger]string{
		stage.OnApproved: task.ActApprove, stage.OnRejected: task.ActReject, stage.OnConfirmDeploy: task.ActConfirm,
	}
}

// Decide takes a person's Approved, Rejected or Confirm Deploy as if it were set on the board,
// by whose rules it is judged; the board is moved then. w.Why is the reason of a rejection, which
// has to have one. The event and the record of the request are durable when it returns. A *DeniedError
// means that the principal may not, a *RefusedError that the word moves nothing here.
func Decide(ctx context.Context, e *orchestrator.Engine, taskID int64, w Word, by stage.Principal) error {
	on, why := w.On, strings.TrimSpace(w.Why)
	t, err := e.Store.Task(ctx, taskID)
	if err != nil {
		return err
	}
	p, ok := e.Projects.ByRepo(t.Repo)
	if !ok {
		return &RefusedError{(&orchestrator.UnregisteredError{Repo: t.Repo}).Error()}
	}
	edge, ok := e.Machine().Edge(t.State, stage.Event{On: on})
	switch {
	case !ok:
		return &RefusedError{fmt.Sprintf("%s moves nothing: the task is at %s", orchestrator.StatusName(on), t.State.Stage)}
	case edge.Do == stage.DoNothing, edge.Do == stage.DoDecline:
		if why, err := orchestrator.DescribeWait(ctx, e, t); edge.When == stage.WhenActive && why != "" && err == nil {
			edge.Why = why
		}
		return &RefusedError{fmt.Sprintf("%s moves nothing: %s", orchestrator.StatusName(on), edge.Why)}
	}
	if err := w.check(t); err != nil {
		return err
	}
	denied, err := e.RefusalOfOperator(ctx, p.People, on, t, by)
	if err != nil && !fault.Retryable(err) { // else it is looked at once more before it is acted on, and no other word waits for it
		return err
	}
	if denied != "" {
		return &DeniedError{denied}
	}
	text := fmt.Sprintf("%s by %s.", orchestrator.StatusName(on), by)
	if why != "" {
		text = fmt.Sprintf("%s by %s: %s", orchestrator.StatusName(on), by, why)
	}
	comment := stage.Effect{Kind: stage.EffectComment, Author: stage.Stream, Text: text}
	said := orchestrator.EffectJob(t, p, comment, fmt.Sprintf("decided/%s/%d/%s/%s", task.Identity(t), t.State.Seq, on, by.Who()))
	return operate(ctx, e, t, task.Act{Act: decisions()[on], By: by, Why: why}, stage.Event{On: on, Reason: why, Of: w.Of}, said)
}

// check refuses a rejection without a reason, and a word of what is not the head of the task any more, by a
// *RefusedError.
func (w Word) check(t task.Task) error {
	switch {
	case w.On == stage.OnRejected && strings.TrimSpace(w.Why) == "":
		return &RefusedError{"a rejection needs a reason: say why, so that the next run can mend it"}
	case w.Of != "" && w.Of != t.State.Head:
		return &RefusedError{fmt.Sprintf("what was read, %.12s, is not the head of the task any more: "+
			"look at %.12s and decide again", w.Of, t.State.Head)}
	case w.Of != "" && t.State.Hold == stage.HoldNone:
		return &RefusedError{"what was read is decided: the task is at " + string(t.State.Stage)}
	default:
		return nil
	}
}
