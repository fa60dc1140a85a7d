package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/mux"
)

// HookReplayed is the Event of a hook that no tracker has sent: the reconciler has found the move on the board.
const HookReplayed = "reconcile"

// Heard passes a webhook of a work item to the features, and has comments read again after one of a comment. It returns
// at once, and moves no task.
func (e *Engine) Heard(h tracker.Hook) {
	if h.Kind == tracker.HookComment {
		e.said.drop(h.ItemID)
		return
	}
	if err := passOn(context.Background(), e.features, h); err != nil {
		e.Log.Error("a webhook could not be passed on", "item", h.ItemID, "err", err)
	}
}

// onTracker reads the work item again and acts on its status of now. A person's status is distinguished from one that the service has set
// by the last one written and the last one acted on, so that it never waits for a write.
func (in intake) onTracker(ctx context.Context, h tracker.Hook) *queue.Outcome {
	var ok bool
	if in.project, ok = in.Projects.ByTracker(h.ProjectID); !ok {
		in.hearBoard(h)
		return done("the tracker project is not registered")
	}
	if in.claim.Job.Pool == queue.PoolEvents {
		return in.brake(ctx, h)
	}
	if o := in.awaitAccounts(in.project); o != nil {
		return o
	}
	if own, _ := in.Tracker.Own(h.ActorID); own { // it may have come before that was known
		h.Self = true
	}
	if h.Kind == tracker.HookItemCreated || h.Kind == tracker.HookItemRemoved || h.Browser { // the service does none of these
		h.Self = false
	}
	if h.Self && h.To == "" {
		return done("the change is our own")
	}
	in.Heard(h)
	in.hearBoard(h)
	for range decideMax {
		if o, err := in.actOnBoard(ctx, h); !errors.Is(err, task.ErrConflict) {
			return o
		}
	}
	return retryOutcome(task.ErrConflict)
}

// actOnBoard reads the board once and acts on it. The task and the writes that are owed are read before the board: a decision that is made
// meanwhile changes the task's version, and then the error is ErrConflict.
func (in intake) actOnBoard(ctx context.Context, h tracker.Hook) (*queue.Outcome, error) {
	task, found, past, err := in.taskOf(ctx, h.ItemID)
	if err != nil {
		return retryOutcome(err), nil
	}
	live := found && !task.State.Stage.Terminal()
	writes, _, err := StatusWrites(ctx, in.Jobs, in.project.Board, h.ItemID, task.ID)
	if err != nil {
		return retryOutcome(err), nil
	}
	if h.Self {
		echo, err := in.isOurs(ctx, h, ourMove{newest(task, past), writes})
		switch {
		case err != nil:
			return retryOutcome(err), nil
		case echo:
			return done("the change is our own"), nil
		}
		h.Self = false
		in.hearBoard(h)
	}
	item, err := in.readItem(ctx, h, newest(task, past), writes)
	removed := h.Kind == tracker.HookItemRemoved
	if !live { // a card whose task lives was not refused
		if ended := EndRefusal(ctx, in.Engine, h.ItemID, item, err); ended != nil {
			return retryOutcome(ended), nil
		}
	}
	switch told := removed && !h.Unsigned; {
	case (errors.Is(err, tracker.ErrNotFound) || err != nil && told) && live:
		if _, err := lookAtCard(ctx, in.Engine, task, told); err != nil && !errors.Is(err, tracker.ErrNotFound) {
			return retryOutcome(err), nil
		}
		return done("the work item does not exist any more"), nil
	case errors.Is(err, tracker.ErrNotFound):
		return done("the work item does not exist any more"), nil
	case err != nil:
		return retryOutcome(err), nil
	case removed:
		return in.lookAgain("the work item is there"), nil
	case h.Kind == tracker.HookItemCreated:
		return in.softQG0(ctx, item), nil
	}
	if found && task.Repo != in.project.Repo { // its board has another repository now
		on, _ := stage.BoardTrigger(item.Status)
		own, ok := in.projectOf(task, on)
		if !ok {
			return done((&UnregisteredError{task.Repo}).Error()), nil // a word is found when the repository is back
		}
		in.project = own
	}
	stops := live && IsAway(item)
	if stops {
		item = AsRead(in.project, item)
	}
	b := board{item: item, task: task, past: past, writes: writes, hook: h, received: in.claim.Job.CreatedAt}
	if live {
		if b.back, err = isBack(ctx, in.Engine, task, item); err != nil {
			return retryOutcome(err), nil
		}
		if IsAway(item) {
			return done("the card stands in " + item.StatusName), nil
		}
	}
	if tracks, ok := in.Tracker.(tracker.Board); ok {
		if b.told, err = hookStatus(ctx, tracks, h); err != nil {
			return retryOutcome(err), nil
		}
		if stops && h.Status && b.told == stage.StatusUnknown {
			b.told = item.Status
		}
		if b.shown, err = shownAs(ctx, tracks, item, task, h, b.told); err != nil {
			return retryOutcome(err), nil
		}
	}
	if b.told == stage.StatusStop || item.Status == stage.StatusStop {
		if b.began, err = in.began(ctx, task); err != nil {
			return retryOutcome(err), nil
		}
	}
	if b.hook.At, err = in.movedAt(ctx, b); err != nil {
		return retryOutcome(err), nil
	}
	if b.again, b.logged, err = setAgain(ctx, in.Engine, b); err != nil {
		return retryOutcome(err), nil
	}
	word, why := b.word()
	if in.said() { // a webhook of the time before may have come late
		in.word.SaidAt = later(in.word.SaidAt, later(b.hook.At, b.again))
		if word == item.Status { // it is the word that stands
			in.word.SaidAt = later(in.word.SaidAt, item.Moved())
		}
	}
	answers, way := afterDone(in.machine)
	switch {
	case word == stage.StatusUnknown && why == "" && answers && b.straysAfterEnd():
		word = b.item.Status
	case word == stage.StatusUnknown && why == "" && b.strays():
		return in.putBack(ctx, b,
			fmt.Sprintf("%s moves nothing: the task is at %s, and the service sets that column itself", b.column(), task.State.Stage))
	case word == stage.StatusUnknown && why == "":
		if o := in.lookAgain("the status " + item.StatusName + " is no trigger"); o.Kind == queue.OutcomeRetry || !b.wanders() {
			return o, nil
		}
		return in.putBack(ctx, b,
			fmt.Sprintf("%s is no column of the pipeline: the task is at %s and goes on", b.column(), task.State.Stage))
	case word == stage.StatusUnknown:
		return done(why), nil
	case why != "":
		in.Log.Info("a person's word that does not stand on the board any more",
			"item", item.ID, "repo", in.project.Repo, "status", word, "stands", item.StatusName)
	}
	switch {
	case found && task.State.Stage == stage.Done && answers && word == stage.StatusToAnalyse: // as on a card without a task
		b.past, b.task, found = b.task, b.past, false
		if here, _ := in.Projects.ByTracker(h.ProjectID); here.Repo != task.Repo { // the card was moved, and follows nothing there
			in.project, b.past = here, b.task
		}
	case found && task.State.Stage == stage.Done:
		return in.putBack(ctx, b, b.column()+" moves nothing: the task is done"+way)
	case b.back && word == stage.StatusInProgress && task.State.Hold == stage.HoldNone:
		return in.putBack(ctx, b, fmt.Sprintf("The task goes on at %s", task.State.Stage))
	}
	by, denied, o := in.authorize(ctx, b, word)
	if o != nil {
		return o, nil
	}
	on, _ := stage.BoardTrigger(word)
	ev := stage.Event{On: on, At: in.Now(), By: by, Seen: b.saidAt(word), Derived: stage.Derived{Denied: denied}}
	switch {
	case found:
		if on == stage.OnRejected && denied == "" {
			ev.Reason = in.rejection(ctx, item)
		}
		return in.try(ctx, task, ev, nil)
	case on == stage.OnToAnalyse:
		ev.Follows = followed(b.past)
		return in.afterClearing(ctx, b, ev)
	default:
		return in.answerWithoutTask(ctx, b, word, answers), nil
	}
}

// newest is the task that a work item had last, with the one that was cancelled.
func newest(t, past task.Task) task.Task {
	if past.ID != 0 {
		return past
	}
	return t
}

// isOurs reports whether a move by an account of the service's own is the service's.
func (in intake) isOurs(ctx context.Context, h tracker.Hook, m ourMove) (bool, error) {
	tracks, ok := in.Tracker.(tracker.Board)
	if !ok {
		return true, nil
	}
	to, err := tracks.StatusOf(ctx, h.ProjectID, h.To)
	return m.isEcho(to), err
}

// IsNew reports whether an item stands at a status that no decision has acted on and no
// write of ours has set or replaces. t is its NewestTask.
func (e *Engine) IsNew(ctx context.Context, item tracker.Item, t task.Task) (bool, error) {
	b := board{item: item, task: t}
	if t.State.Stage == stage.Cancelled {
		b.task, b.past = task.Task{}, t
	}
	var err error
	if b.writes, _, err = StatusWrites(ctx, e.Jobs, mux.Name(item.ProjectID), item.ID, b.task.ID); err != nil {
		return false, err
	}
	b.again, b.logged, err = setAgain(ctx, e, b)
	return !b.acted(), err
}

// StatusWrites lists the status writes of a work item that the board may not show yet, in order: those of its task that were
// refused for good since one was made last, and those owed, whose Put is zero. last is the one that was made last as it is. Put is
// when a write has ended.
func StatusWrites(ctx context.Context, jobs queue.Inspector, board, itemID string, taskID int64) (out []Effect, last Effect, err error) {
	list, err := jobs.Jobs(ctx, queue.Filter{Key: effectOrder(itemID, stage.EffectStatus), Open: true})
	if err != nil {
		return nil, last, err
	}
	var all []queue.Job
	if taskID != 0 {
		all, err = jobs.Jobs(ctx, queue.Filter{Pool: poolAt(LaneBoard.Pool(), board), TaskID: taskID, Limit: statusMax})
		if err != nil {
			return nil, last, err
		}
	}
	for i, j := range slices.Concat(all, list) {
		w := Effect{Put: j.FinishedAt}
		if err := json.Unmarshal(j.Payload, &w); err != nil {
			return nil, last, fmt.Errorf("orchestrator: job %d: %w", j.ID, err)
		}
		switch {
		case i >= len(all), j.Status == queue.Failed:
			out = append(out, w)
		case j.Status == queue.Done:
			if out = nil; j.Error == "" {
				last = w
			}
		}
	}
	return out, last, nil
}

// statusMax bounds the status writes of one task.
const statusMax = 10_000

// board holds what is known of a work item when a webhook of it is handled.
type board struct {
	item     tracker.Item
	task     task.Task // zero: none
	past     task.Task // the one that the item had last, which was cancelled or is to be followed, when it has none
	writes   []Effect
	hook     tracker.Hook
	received time.Time    // the webhook
	back     bool         // the task was held for its card, which can be worked on again
	again    time.Time    // when a person has set the status again that was acted on last, by the tracker's log; zero: nobody has
	logged   bool         // that says so, or not
	shown    bool         // the item stands in the column of what the service set last, and no person has put it there
	told     stage.Status // what a person has set, by the webhook; StatusUnknown when it names none
	began    time.Time    // when the task was begun, by the tracker's clock; of a STOP alone
}

// word is a person's new word, or StatusUnknown. why reports that the word was
// overwritten, or why the status is no new word although it is a trigger.
func (b board) word() (word stage.Status, why string) {
	if b.told == stage.StatusStop && b.item.Status != stage.StatusStop && b.lost() {
		return b.told, "overwritten"
	}
	if _, trigger := stage.BoardTrigger(b.item.Status); trigger {
		switch {
		case b.shown:
			why = "the service itself has set " + b.item.StatusName
		case b.acted():
			why = b.item.StatusName + " was acted on already"
		default:
			return b.item.Status, ""
		}
	}
	if b.lost() {
		return b.told, "overwritten"
	}
	return stage.StatusUnknown, why
}

// acted reports whether the status of the item is what the service has dealt with already: the word that was acted on last and stands
// there still, what has stood there since before an undo, or what a write that is owed replaces or sets.
func (b board) acted() bool {
	s := newest(b.task, b.past).State
	until := s.ActedAt
	if b.item.Status == s.Acted {
		until = until.Add(saving)
	}
	switch {
	case b.logged && (b.item.Status == s.Acted || b.told != s.Acted):
		return b.again.IsZero()
	case b.item.Status == s.Acted && b.item.Moved().Before(b.past.StageEnteredAt), // an operator has stopped what it began
		b.item.Moved().Before(b.began): // as the STOP that has ended the undo before this one
		return true
	case b.told == b.item.Status && b.hook.At.After(until):
		return false
	case (b.item.Status == s.Acted || s.Acted == stage.StatusUnknown && !s.ActedAt.IsZero()) && !b.item.Moved().After(until):
		return true
	}
	// Where a refused write would have put the card, a person has put it since.
	refused := func(w Effect) bool { return !w.Put.IsZero() && b.seen().After(s.ActedAt) }
	for i, w := range slices.Backward(b.writes) { // back to the last word of a person's that a write answers
		switch {
		case b.item.Status == w.Status && !refused(w), b.item.Status == w.Answers:
			return true
		case b.past.ID != 0 && slices.Contains(w.Replaces, b.item.Status):
			return true
		case w.Answers != stage.StatusUnknown:
			return false
		case b.item.Status == w.Previous && (i == 0 || !refused(b.writes[i-1])):
			return true
		}
	}
	return false
}

// saving is within how long a browser saves the place in a column after the column: nobody moves a card away and back meanwhile.
const saving = 2 * time.Second

// overwriteWindow is how long after the item's last change a STOP counts that came
// with no time of its own and is not on the board any more.
const overwriteWindow = time.Minute

// lost reports whether the webhook carries a word of a person's that a write of ours has overwritten: the board is looked at before it is
// written to, but has no write on a condition. A STOP that was set since the task began is not taken back by moving the card on, whoever
// does.
func (b board) lost() bool {
	if _, trigger := stage.BoardTrigger(b.told); !trigger || b.task.ID == 0 || b.task.State.Stage.Terminal() {
		return false
	}
	ours := b.shown || b.item.Status == b.task.State.Set ||
		slices.ContainsFunc(b.writes, func(w Effect) bool { return w.Status == b.item.Status }) // it is owed
	acted, last := b.task.State.Acted, since(b.task)
	if b.told == acted && !b.logged {
		last = last.Add(saving)
	}
	if b.told == stage.StatusStop && b.hook.At.After(b.began) {
		return acted != stage.StatusStop || b.hook.At.After(last)
	}
	newer := b.hook.At.After(last) && (b.told != acted || !b.again.IsZero() || !b.logged) ||
		b.hook.At.Equal(last) && b.told != acted // a tracker's clock may tick slowly
	if b.hook.At.IsZero() {
		return b.told == stage.StatusStop && b.received.Sub(b.item.Moved()) < overwriteWindow
	}
	return newer && ours
}

// shownAs reports whether an item stands in the column that shows what the service set last, unless the webhook says that a person has put
// it there since. On a board with few columns that can be the column of a trigger.
func shownAs(ctx context.Context, tracks tracker.Board, item tracker.Item, t task.Task, h tracker.Hook, told stage.Status) (bool, error) {
	before := !h.At.IsZero() && (h.At.Before(t.State.ActedAt) || h.At.Before(item.MovedAt))
	byPerson := h.Status && !h.Self && h.ActorID != "" && (h.To == "" || told == item.Status) && !before
	if t.State.Set == stage.StatusUnknown || byPerson {
		return false, nil
	}
	columns, err := tracks.Columns(ctx, item.ProjectID)
	return columns[t.State.Set] == item.StatusName, err
}
