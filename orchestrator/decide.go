package orchestrator

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/tracker"
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
func (e *Engine) Decide(ctx context.Context, taskID int64, w Word, by stage.Principal) error {
	on, why := w.On, strings.TrimSpace(w.Why)
	t, err := e.Store.Task(ctx, taskID)
	if err != nil {
		return err
	}
	p, ok := e.projectOf(t, on)
	if !ok {
		return &RefusedError{(&UnregisteredError{t.Repo}).Error()}
	}
	edge, ok := e.machine.Edge(t.State, stage.Event{On: on})
	switch {
	case !ok:
		return &RefusedError{fmt.Sprintf("%s moves nothing: the task is at %s", statusName(on), t.State.Stage)}
	case edge.Do == stage.DoNothing, edge.Do == stage.DoDecline:
		if why, err := describeWait(ctx, e, t); edge.When == stage.WhenActive && why != "" && err == nil {
			edge.Why = why
		}
		return &RefusedError{fmt.Sprintf("%s moves nothing: %s", statusName(on), edge.Why)}
	}
	if err := w.Check(t); err != nil {
		return err
	}
	denied, err := e.refusalOfOperator(ctx, p.People, on, t, by)
	if err != nil {
		return err
	}
	if denied != "" {
		return &DeniedError{denied}
	}
	text := fmt.Sprintf("%s by %s.", statusName(on), by)
	if why != "" {
		text = fmt.Sprintf("%s by %s: %s", statusName(on), by, why)
	}
	comment := stage.Effect{Kind: stage.EffectComment, Author: stage.Stream, Text: text}
	said := EffectJob(t, p, comment, fmt.Sprintf("decided/%s/%d/%s", task.Identity(t), t.State.Seq, on))
	return e.operate(ctx, t, task.Act{Act: decisions()[on], By: by, Why: why}, stage.Event{On: on, Reason: why, Of: w.Of}, said)
}

// Check refuses a rejection without a reason, and a word of what is not the head of the task any more, by a
// *RefusedError.
func (w Word) Check(t task.Task) error {
	switch {
	case w.On == stage.OnRejected && strings.TrimSpace(w.Why) == "":
		return &RefusedError{"a rejection needs a reason: say why, so that the next run can mend it"}
	case w.Of != "" && w.Of != t.State.Head:
		return &RefusedError{fmt.Sprintf("what was read, %.12s, is not the head of the task any more: "+
			"look at %.12s and decide again", w.Of, t.State.Head)}
	default:
		return nil
	}
}

// complete fills in what the machine needs of a decision that was not made on the board: when
// it was, by the tracker's clock, and whether the principal may.
func (e *Engine) complete(ctx context.Context, p task.Project, t task.Task, ev *stage.Event) (err error) {
	ev.Seen = seenAt(t.State, ev.At)
	ev.Denied, err = e.refusalOfOperator(ctx, p.People, ev.On, t, ev.By)
	return err
}

// seenAt is a moment of the service's clock by the tracker's: as long after the last word as it is by our own.
func seenAt(s stage.State, at time.Time) time.Time {
	if s.HeardAt.IsZero() {
		return time.Time{}
	}
	return s.ActedAt.Add(at.Sub(s.HeardAt))
}

// refusalOfOperator returns in one sentence why a principal of the service's own (a token, a person
// whom a provider has signed in) may not decide; empty when it may. The registry names such
// people by the names of their tokens or their e-mail addresses; a role is one of the tracker's
// accounts and names none of them.
func (e *Engine) refusalOfOperator(
	ctx context.Context, people task.People, on stage.Trigger, t task.Task, by stage.Principal,
) (string, error) {
	who := tracker.Person{ID: by.ID}
	if strings.Contains(by.ID, "@") {
		who.Email = by.ID
	}
	if denied := refusalByRegistry(people, on, t, by, who); denied != "" || !people.Separate || on != stage.OnApproved {
		return denied, nil
	}
	other, err := e.isOther(ctx, t, by)
	if err != nil || other {
		return "", err
	}
	return fmt.Sprintf("it cannot be shown that %s is somebody else than who has started the task; set %s on the board",
		by.Who(), statusName(on)), nil
}

// isOther reports whether a principal of the service's own is shown not to be the person who has
// started a task. Accounts of a tracker are other names: there it takes e-mail addresses.
func (e *Engine) isOther(ctx context.Context, t task.Task, by stage.Principal) (bool, error) {
	if t.State.Starter == "" {
		return true, nil
	}
	entries, err := e.Records.Journal(ctx, t.ID)
	if err != nil {
		return false, err
	}
	for _, entry := range entries {
		if r, err := entry.Recorded(); err == nil && r.Event.On == stage.OnToAnalyse {
			if r.Event.By.Via == stage.ViaBoard { // whose names are those of the service
				return true, nil
			}
			break
		}
	}
	described, ok := e.Tracker.(tracker.People)
	if !ok {
		return false, nil
	}
	starter, err := described.Person(ctx, t.TrackerProjectID, t.State.Starter)
	if err != nil {
		if fault.Retryable(err) {
			return false, err
		}
		return false, nil
	}
	return starter.Email != "" && strings.Contains(by.ID, "@") && !strings.EqualFold(starter.Email, by.ID), nil
}
