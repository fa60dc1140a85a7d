package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

// Names of the holds of a task that lives and whose card is not where it can be worked on: no agent of it
// starts, and nothing is merged or deployed.
const (
	cardGone = "card_gone" // it is not on the board any more
	cardAway = "card_away" // it stands where the tracker ends work, such as in Plane's Cancelled
)

// IsAway reports whether a card stands in a column that is none of the pipeline's and ends work at the tracker.
func IsAway(i tracker.Item) bool { return i.Finished && i.Status == stage.StatusUnknown }

// AsRead gives a card the status that its column means in a project.
func AsRead(p task.Project, i tracker.Item) tracker.Item {
	if p.CancelledIsStop && IsAway(i) {
		i.Status = stage.StatusStop
	}
	return i
}

// cardWait is how long what cannot be undone is put off while the card cannot be read.
const cardWait = 30 * time.Second

// holdOfCard is the hold of a task by what came of reading its card, without a name where there is none.
func holdOfCard(taskID int64, item tracker.Item, err error) queue.Hold {
	h := queue.Hold{Subject: CardSubject(taskID)}
	switch {
	case errors.Is(err, tracker.ErrNotFound):
		h.Name, h.Reason = cardGone, "the card is not on the board any more: it was deleted, archived or moved to another project"
	case err == nil && IsAway(item):
		h.Name, h.Reason = cardAway, "the card stands in "+item.StatusName+", which ends work on the board"
	}
	return h
}

// goneMax bounds how many cards are listed that are gone.
const goneMax = 10_000

// GoneCards are the holds of tasks whose cards are gone, by task.
func (e *Engine) GoneCards(ctx context.Context) (map[int64]queue.Hold, error) {
	held, err := e.Jobs.HoldsIn(ctx, cardPrefix, cardPrefix[:len(cardPrefix)-1]+"0", goneMax) // 0 is behind the slash
	out := map[int64]queue.Hold{}
	for _, h := range held {
		if id, err := strconv.ParseInt(h.Subject[len(cardPrefix):], 10, 64); err == nil {
			out[id] = h
		}
	}
	return out, err
}

// MendCard tells a person what to do about a task that is held for its card, and which status that names first; empty = none.
func MendCard(h queue.Hold, taskID int64) (do string, status stage.Status) {
	if IsForPull(h) {
		return mendPull(h), ""
	}
	if h.Name == cardAway {
		return "set In Progress, and the task goes on; set STOP, and it ends", stage.StatusInProgress
	}
	return fmt.Sprintf("restore the card, and the task goes on by itself; or stop the task "+
		"(its page on the dashboard, signalbox stop %d, or POST /tasks/%d/stop)", taskID, taskID), ""
}

// LookAtCard reads the card of a task that lives. While it is gone, the error is tracker.ErrNotFound, or away,
// the task is held, and people are told once: in the chat, or on the card. A card that is back frees it. Of
// several that find it so at once, one holds the task: its version is compared.
func (e *Engine) LookAtCard(ctx context.Context, t task.Task) (item tracker.Item, err error) {
	return lookAtCard(ctx, e, t, false)
}

// lookAtCard is LookAtCard; one that was told to be removed counts as gone while it cannot be read.
func lookAtCard(ctx context.Context, e *Engine, t task.Task, removed bool) (item tracker.Item, err error) {
	p, ok := e.Projects.ByRepo(t.Repo)
	if !ok {
		return item, &UnregisteredError{t.Repo}
	}
	for range decideMax {
		item, err = e.Tracker.Item(ctx, p.On(t.TrackerProjectID).TrackerProject, t.TrackerIssueID)
		if removed && err != nil {
			err = fmt.Errorf("%w: %w", tracker.ErrNotFound, err)
		}
		hold := holdOfCard(t.ID, item, err)
		if err != nil && hold.Name == "" || t.State.Stage.Terminal() || t.State.Stopping {
			return item, err
		}
		held, failed := holdsOf(ctx, e, t.ID, false)
		others := slices.DeleteFunc(slices.Clone(held), func(h queue.Hold) bool { return h.Name == hold.Name })
		switch known := len(held) > len(others); {
		case failed != nil:
			return item, failed
		case len(others) == 0 && (known || hold.Name == ""), hold.Name == "" && item.Status == stage.StatusStop && stops(e, t): // held
			return item, err
		case hold.Name == "":
			e.Log.Info("the card of a task is back", "task", t.ID, "work_item", t.WorkItemID, "repo", t.Repo)
			return item, e.Store.Commit(ctx, task.Commit{Free: others})
		}
		failed = holdFor(ctx, e, t, p, hold, item.UpdatedAt, "", others...)
		if !errors.Is(failed, task.ErrConflict) {
			return item, cmp.Or(failed, err)
		}
		if t, failed = e.Store.Task(ctx, t.ID); failed != nil {
			return item, failed
		}
	}
	return item, task.ErrConflict
}

// holdFor holds a task for its card or its pull request, which has changed at a moment, and notifies people. by is who is said to
// have changed it.
func holdFor(
	ctx context.Context, e *Engine, t task.Task, p task.Project, hold queue.Hold, at time.Time, by string, others ...queue.Hold,
) error {
	do, _ := MendCard(hold, t.ID)
	text := hold.Reason
	if by != "" {
		text += ", by " + by
	}
	text += ". The task is held: nothing of it begins, is merged or deployed. What to do: " + do + "."
	key := "gone/" + task.Identity(t)
	if IsForPull(hold) {
		key = fmt.Sprintf("%s/%s/%d", hold.Name, task.Identity(t), at.UnixMicro())
	}
	told := []queue.Job{EffectJob(t, p, stage.Effect{Kind: stage.EffectNotify, Text: text}, key)}
	if hold.Name != cardGone {
		comment := stage.Effect{Kind: stage.EffectComment, Author: stage.Stream, Text: strings.ToUpper(text[:1]) + text[1:]}
		said := EffectJob(t, p, comment, fmt.Sprintf("away/%s/%d", task.Identity(t), at.UnixMicro()))
		if told = append(told, said); hold.Name == cardAway {
			told = told[1:]
		}
	}
	if !IsForPull(hold) && t.State.Phase == stage.PhaseMerge && t.State.PR != 0 {
		key := fmt.Sprintf("leave/%s/%d", task.Identity(t), e.Now().UnixMicro())
		told = append(told, EffectJob(t, p, stage.Effect{Kind: EffectLeave, SHA: t.State.Head}, key))
	}
	err := e.Store.Commit(ctx, task.Commit{Task: &t, Hold: []queue.Hold{hold}, Free: others, Jobs: told})
	if !errors.Is(err, task.ErrConflict) {
		e.Log.Error("a task is held", "task", t.ID, "repo", t.Repo, "why", hold.Reason, "err", err)
	}
	return err
}

// textFor is how long the text of a card that was read for an event is taken for that of the moment.
const textFor = 5 * time.Second

// readText gives the task the text that its card has now, and tells people so where it is another than before. The outcome
// is not nil while the card is gone, or cannot be read before a deployment; else the agent of a card that cannot be read works
// by the text that is known.
func (a *attempt) readText(ctx context.Context) *queue.Outcome {
	last, err := a.items.get(a.task.TrackerIssueID), error(nil)
	item := last.item
	if age := a.Now().Sub(last.at); a.launch.Phase == stage.PhaseRelease {
		item, err = lookTwice(ctx, a.Engine, a.task)
	} else if age < 0 || age > textFor {
		item, err = a.LookAtCard(ctx, a.task)
	}
	switch {
	case holdOfCard(a.task.ID, item, err).Name != "", err != nil && a.launch.Phase == stage.PhaseRelease:
		return putOff(a.Engine, a.claim.Job, a.task, item, err)
	case err != nil && item.ID != "": // it was read, and the store has failed
		return retryOutcome(err)
	case err != nil:
		a.log.Warn("the card cannot be read, and an agent works by the text that is known", "err", err)
		return nil
	}
	for range decideMax {
		if a.task.Title == item.Title && a.task.Description == item.Description {
			return nil
		}
		now := a.task
		now.Title, now.Description = item.Title, item.Description
		if err := refreshRequest(ctx, a.Workspaces, a.project, now, a.launch); fault.Retryable(err) {
			return released(a.Now().Add(remoteWait), err.Error())
		} else if err != nil { // the prompt has the text, too
			a.log.Warn("the file of a request stays as it was", "err", err)
		}
		text := fmt.Sprintf("The card was edited: the %s has its new text (run %d). "+
			"What was written and approved before stays as it is.", a.launch.Role, a.launch.Run)
		told := EffectJob(now, a.project, stage.Effect{Kind: stage.EffectComment, Author: stage.Stream, Text: text},
			fmt.Sprintf("text/%s/%d", task.Identity(a.task), a.launch.Run))
		err := a.Store.Commit(ctx, task.Commit{Task: &now, Jobs: []queue.Job{told}, Journal: []task.JournalEntry{{
			TaskID: a.task.ID, Seq: a.task.State.Seq, At: a.Now(), Kind: task.KindText, Payload: encode(task.Note{Result: text}),
		}}})
		if err != nil && !errors.Is(err, task.ErrConflict) {
			return retryOutcome(err)
		}
		missed := err != nil
		if now, err = a.Store.Task(ctx, a.task.ID); err != nil {
			return retryOutcome(err)
		}
		a.task = now
		if a.task.State.Active == "" || a.task.State.Run != a.launch.Run {
			return done("the task does not wait for this run any more")
		}
		if !missed {
			return nil
		}
	}
	return retryOutcome(task.ErrConflict)
}

// refreshRequest brings the file of the request in a task's branch up to the text of its card. What is merged stays as it is.
func refreshRequest(ctx context.Context, at Workspaces, p task.Project, t task.Task, l stage.Launch) error {
	space := p.Workspace(t)
	tip, err := at.Tip(ctx, space)
	if err != nil || tip.SHA == "" || l.Phase == stage.PhaseRelease {
		return err // a new branch begins with it
	}
	space.Head = tip.SHA
	_, err = at.Add(ctx, space, SeedFiles(p, t), t.WorkItemID+": the request as its card has it now")
	return err
}

// notBegun begins the error of a job that was put off by each attempt before it began.
const notBegun = "not begun: "

// unsentError is one that came before what cannot be undone was sent.
type unsentError struct{ error }

// Unwrap returns the error itself.
func (e *unsentError) Unwrap() error { return e.error }

// Unsent marks the error of an attempt to merge that came before the merge was sent: a STOP does not wait for the next attempt.
func Unsent(err error) error { return &unsentError{err} }

// unbegun reports whether no attempt of a job has begun what it is for.
func unbegun(j queue.Job) bool { return j.Attempt == 1 || strings.HasPrefix(j.Error, notBegun) }

// putOff puts off what a task begins whose card is not where it can be worked on, or cannot be read.
func putOff(e *Engine, j queue.Job, t task.Task, item tracker.Item, err error) *queue.Outcome {
	why := holdOfCard(t.ID, item, err).Reason
	if errors.Is(err, errStopSet) {
		why = err.Error()
	} else if why == "" {
		why = "the card cannot be read, and nothing is merged or deployed until it can: " + err.Error()
	}
	e.Log.Warn("a task waits for the board", "task", t.ID, "repo", t.Repo, "why", why)
	if unbegun(j) {
		why = notBegun + why
	}
	return released(e.Now().Add(max(cardWait, fault.After(err))), why)
}

// isUnbegun reports whether what a task cannot undo waits to begin, for a worker, the end of a pause or the pull request: a deployment
// between two attempts, or a merge of which none was sent. It need not be waited for.
func isUnbegun(ctx context.Context, e *Engine, t task.Task) (bool, error) {
	jobs, err := e.Jobs.Jobs(ctx, queue.Filter{TaskID: t.ID, Open: true})
	var waits, begun bool
	for _, j := range jobs { // one of a run before may be there yet
		kind, _ := EffectKindOf(j)
		merge := irreversible(kind)
		if merge || j.Kind == KindAgent && t.State.Active != "" {
			sent := merge && j.Attempt > 0 && !strings.HasPrefix(j.Error, notBegun)
			waits, begun = true, begun || sent || j.Status == queue.Running
		}
	}
	return waits && !begun, err
}

// stopUnbegun ends what cannot be undone before it begins, since a STOP waits for its end.
func stopUnbegun(e *Engine, t task.Task) *queue.Outcome {
	ev := stage.Event{On: stage.OnStop, At: e.Now(), Unbegun: true}
	next := e.triggerJob(t, ev, nil, fmt.Sprintf("unbegun/%d", t.ID))
	return &queue.Outcome{Kind: queue.OutcomeDone, Error: "STOP was set before it began", Then: []queue.Job{next}}
}

// errStopSet reports that a person has set STOP, of which no webhook has come, and the card was moved on. It is replayed.
var errStopSet = &fault.Error{Text: "STOP was set on the card", Again: true}

// stops reports whether STOP ends a task: it may be switched off.
func stops(e *Engine, t task.Task) bool {
	return e.machine.Decide(t.State, stage.Event{On: stage.OnStop}).Moved
}

// lookTwice is LookAtCard before what cannot be undone: a STOP that was set since the last word counts by the log, too.
func lookTwice(ctx context.Context, e *Engine, t task.Task) (tracker.Item, error) {
	item, err := e.LookAtCard(ctx, t)
	if err != nil || IsAway(item) {
		return item, err
	}
	if !stops(e, t) {
		return item, nil
	}
	m, _, err := e.findMoveInLog(ctx, item, item.Status, false)
	if err != nil || m.At.IsZero() {
		return item, err
	}
	found, err := replayWord(ctx, e, item, t, m, func(_ tracker.Move, word stage.Status) (bool, error) {
		return word == stage.StatusStop, nil
	})
	if err == nil && found {
		err = errStopSet
	}
	return item, err
}

// irreversible reports whether an effect cannot be undone.
func irreversible(kind stage.EffectKind) bool {
	return kind == stage.EffectMerge || kind == EffectGatedMerge
}

// goneWait is how long what is owed to a card that is gone is put off.
const goneWait = 3 * time.Minute

// withoutCard decides what becomes of an effect on a card that the tracker does not find: it waits until the card is back. Once its
// task was cancelled it is not made, and once that is done it is given up aloud.
func (e *Engine) withoutCard(ctx context.Context, f Effect, o queue.Outcome) queue.Outcome {
	o.Error = "the work item does not exist any more"
	t, err := e.Store.Task(ctx, f.TaskID)
	if err == nil && !t.State.Stage.Terminal() {
		_, err = e.LookAtCard(ctx, t)
	}
	switch {
	case t.State.Stage == stage.Cancelled:
		return *done(o.Error)
	case errors.Is(err, tracker.ErrNotFound):
		return *released(e.Now().Add(goneWait), holdOfCard(t.ID, tracker.Item{}, err).Reason)
	case err != nil:
		return Retry(err)
	default:
		return o
	}
}

// isBack holds or frees a task by where its card stands, and reports whether it was held and its card is back.
func isBack(ctx context.Context, e *Engine, t task.Task, item tracker.Item) (bool, error) {
	held, err := holdsOf(ctx, e, t.ID, false)
	if err != nil || len(held) == 0 && !IsAway(item) {
		return false, err
	}
	item, err = e.LookAtCard(ctx, t)
	return len(held) > 0 && !IsAway(item), err
}
