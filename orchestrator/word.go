package orchestrator

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

// WordOf returns the word of a person that the job of an event carries, by the job alone; ok is false when it carries none.
func WordOf(j queue.Job) (w task.Word, ok bool) {
	in := intake{word: &task.Word{Number: j.ID, HeardAt: j.CreatedAt}}
	var h tracker.Hook
	var p triggerPayload
	switch {
	case j.Kind == KindTracker && json.Unmarshal(j.Payload, &h) == nil:
		in.hearBoard(h)
	case j.Kind == KindTrigger && json.Unmarshal(j.Payload, &p) == nil:
		in.hear(task.Task{}, p.Event)
	}
	in.word.Why = j.Error
	return *in.word, in.said()
}

// hearBoard notes what a person says by a webhook of the board. One that names no person is of the reconciler, which has
// found a column that nothing explains.
func (in intake) hearBoard(h tracker.Hook) {
	if !h.Status || h.Self || h.Kind != tracker.HookItemUpdated {
		return
	}
	w := in.word
	w.Card, w.Said, w.By, w.SaidAt = h.ItemID, h.To, senderOf(h), h.At
	if h.Word != stage.StatusUnknown {
		w.Said = string(h.Word)
	}
	if h.Event == HookReplayed && h.ActorID == "" {
		w.By = stage.Principal{Via: stage.ViaReconciler}
	}
}

// hear notes what a person says otherwise than on the board.
func (in intake) hear(t task.Task, ev stage.Event) {
	if ev.By.Kind == stage.KindPerson || ev.By.Kind == stage.KindOperator {
		w := in.word
		w.Card, w.Said, w.By, w.SaidAt = task.OriginalKey(t.TrackerIssueID), string(ev.On), ev.By, ev.At
		if ev.By.Via == stage.ViaChat {
			w.Act = ev.By.Request
		}
	}
}

// hearHost notes what a person says at the git host: what was said there of a commit has the commit as its name.
func (in intake) hearHost(t task.Task, ev stage.Event, h githost.Hook) {
	switch ev.On {
	case stage.OnReview, stage.OnPRMerged, stage.OnPushed:
		in.hear(t, ev)
		in.word.Act = h.SHA
	}
}

// said reports whether the event is a person's word.
func (in intake) said() bool { return in.word != nil && in.word.By != (stage.Principal{}) }

// judged adds what became of the person's word by a decision. Of what the git host reports only that is a word that has moved
// something: it reports the service's own merges and pushes as well.
func (in intake) judged(ctx context.Context, out *task.Commit, before stage.State, ev stage.Event, d stage.Decision) error {
	if !in.said() {
		return nil
	}
	w := *in.word
	status, onBoard := stage.BoardTrigger(stage.Status(w.Said))
	switch {
	case ev.By.Via == stage.ViaHost && !d.Moved && ev.On != stage.OnReview:
		return nil
	case onBoard && status != ev.On: // the event is about the word that stands by now
		w.Fate, w.Why = task.FateSuperseded, StatusName(ev.On)+" stands on the board by now"
	case ev.On == stage.OnStop && before.Stopping: // it need not wait any more, and was set once
		if err := in.compare(ctx, *out.Task, &w); err != nil {
			return err
		}
	default:
		w.Said, w.By, w.Fate, w.Why = string(ev.On), ev.By, fateOf(before, ev, d), strings.Join(d.Notes, "; ")
		w.SaidAt = cmp.Or(w.SaidAt, ev.Seen)
		if d.Moved {
			w.Seq = d.State.Seq
		}
	}
	out.Journal = append(out.Journal, w.Entry(*out.Task, d.State.Seq, in.Now()))
	return nil
}

// fateOf returns what a decision makes of a word. One that is declined changes nothing but that it was heard.
func fateOf(before stage.State, ev stage.Event, d stage.Decision) task.Fate {
	after := d.State
	after.Acted, after.ActedAt, after.HeardAt, after.AskedAfter = before.Acted, before.ActedAt, before.HeardAt, before.AskedAfter
	after.Set, after.Seq = before.Set, before.Seq
	switch {
	case ev.Denied != "", ev.Verdict.Outcome != "" && ev.Verdict.Outcome != stage.Green:
		return task.FateRefused
	case reflect.DeepEqual(before, after):
		return task.FateNothing
	default:
		return task.FateActed
	}
}

// end ends the job of an event that moves no task by a commit of what it owes, with the fate of the word that it carries.
func (in intake) end(ctx context.Context, c task.Commit, fate task.Fate, why string) (*queue.Outcome, error) {
	c.Claim, c.Why = &in.claim, why
	if in.said() {
		t, err := NewestTask(ctx, in.Store, in.word.Card)
		w := *in.word
		if w.Fate, w.Why = fate, why; err == nil && fate == "" {
			err = in.compare(ctx, t, &w)
		}
		if err != nil {
			return retryOutcome(err), nil
		}
		if own, _ := in.Tracker.Own(w.By.ID); !own || w.Fate != task.FateRepeated { // else it may be the webhook of our own write
			c.Journal = append(c.Journal, w.Entry(t, t.State.Seq, in.Now()))
		}
	}
	err := in.Store.Commit(ctx, c)
	return in.finish(err), err
}

// compare finds the fate of a word that moved nothing beside the one that was acted on last: the same act may be heard by
// several ways, and another may stand by now.
func (in intake) compare(ctx context.Context, t task.Task, w *task.Word) error {
	w.Fate = task.FateNothing
	said, onBoard := stage.BoardTrigger(stage.Status(w.Said))
	if t.ID == 0 || w.Said != "" && !onBoard || w.Said == "" && w.By.Via != stage.ViaReconciler {
		return nil
	}
	last, err := lastWord(ctx, in.Records, t, t.State.Acted)
	switch {
	case err != nil:
		return err
	case string(said) == last.Said && last.Number == 0: // it was read on the board before it was heard
		w.Fate, w.Seq, w.Why = last.Fate, last.Seq, last.Why
	case w.Said == "", string(said) == last.Said:
		w.Fate, w.Of = task.FateRepeated, last.Number
	case w.SaidAt.Before(t.State.ActedAt):
		w.Fate, w.Of = task.FateSuperseded, last.Number
	}
	return nil
}

// lastWord is the last word of a status that was acted on, without a number where it was read on the board before it was heard.
func lastWord(ctx context.Context, records task.Records, t task.Task, acted stage.Status) (w task.Word, err error) {
	entries, err := records.Journal(ctx, t.ID)
	var found *task.Recorded
	for i := len(entries) - 1; i >= 0; i-- {
		old, isWord := entries[i].Word()
		r, failed := entries[i].Recorded()
		switch decided := failed == nil && r.Decision.Moved; {
		case found != nil && decided:
			w.Fate = fateOf(r.Decision.State, found.Event, found.Decision)
			return w, err
		case found == nil && isWord && old.Seq != 0 && old.Said == string(acted):
			return old, err
		case found == nil && decided && r.Event.On == stage.Trigger(acted) && !r.Event.Unbegun:
			found, w = &r, task.Word{
				Said: string(r.Event.On), SaidAt: r.Event.Seen, Seq: r.Decision.State.Seq, Fate: task.FateActed,
				Why: strings.Join(r.Decision.Notes, "; "),
			}
		}
	}
	return w, err
}

// movedAt is when a webhook's move was made that has no time of its own, by the tracker's log: what is sent later than it was
// done shows the card as it stands by then. Zero where the log does not say. What a STOP brakes waits while the log is away.
func (in intake) movedAt(ctx context.Context, b board) (none time.Time, err error) {
	_, trigger := stage.BoardTrigger(b.told)
	if !trigger || b.item.Status == b.told || !b.hook.At.IsZero() || b.task.ID == 0 || b.task.State.Stage.Terminal() {
		return b.hook.At, nil
	}
	m, late, err := in.findMoveInLog(ctx, b.item, b.item.Status, false)
	if err != nil && b.told == stage.StatusStop && !fault.Retryable(err) {
		return none, nil
	}
	if err != nil {
		return none, err
	}
	if late && m.At.After(b.item.Moved()) {
		return none, task.ErrConflict // the card was moved since it was read
	}
	m, _, err = newestMove(ctx, in.Engine, b.item, m, none, func(m tracker.Move, to stage.Status) (bool, error) {
		named := to == b.told || b.hook.To != "" && m.To == b.hook.To
		return named && (b.hook.ActorID == "" || m.ActorID == b.hook.ActorID), nil
	})
	return m.At, err
}

// newestMove is the newest move of a log after a moment that is wanted, by the status that its column means by now. Zero where
// there is none. Older ones cost nothing: a card may have been moved for years.
func newestMove(
	ctx context.Context, e *Engine, item tracker.Item, last tracker.Move, after time.Time,
	wanted func(tracker.Move, stage.Status) (bool, error),
) (tracker.Move, stage.Status, error) {
	for _, m := range append([]tracker.Move{last}, last.Earlier...) {
		if !m.At.After(after) {
			break
		}
		to, err := e.Tracker.(tracker.Board).StatusOf(ctx, item.ProjectID, m.To)
		found := false
		if err == nil {
			found, err = wanted(m, to)
		}
		if err != nil || found {
			return m, to, err
		}
	}
	return tracker.Move{}, stage.StatusUnknown, nil
}

// replayOverwritten puts the event of a person's word of which no webhook has come and that a write of ours has replaced, or set as well
// where shown: the tracker's log has it. It reports false while that may be behind the board.
func replayOverwritten(ctx context.Context, e *Engine, item tracker.Item, t task.Task, shown bool) (settled bool, err error) {
	m, late, err := e.findMoveInLog(ctx, item, item.Status, false)
	if err != nil || late {
		return late && e.Now().Sub(item.Moved()) > logPatience, err
	}
	renamed := false // by a person's move, to a column whose name of now is not known yet
	_, err = replayWord(ctx, e, item, t, m, func(m tracker.Move, word stage.Status) (bool, error) {
		own, err := e.Tracker.Own(m.ActorID)
		renamed = renamed || word == stage.StatusUnknown && !own && m.To != "" && m.At.After(since(t))
		_, trigger := stage.BoardTrigger(word)
		return trigger && m.ActorID != "" && !own && (shown || word != item.Status), err
	})
	return err == nil && (!renamed || e.Now().Sub(t.UpdatedAt) > namesPatience), err
}

// replayWord puts the event of the newest word in a log since the last that was acted on, of those that are wanted.
func replayWord(
	ctx context.Context, e *Engine, item tracker.Item, t task.Task, last tracker.Move,
	wanted func(tracker.Move, stage.Status) (bool, error),
) (found bool, err error) {
	m, word, err := newestMove(ctx, e, item, last, since(t), wanted)
	if err != nil || m.At.IsZero() {
		return false, err
	}
	job := TrackerJob(tracker.Hook{
		Kind: tracker.HookItemUpdated, Event: HookReplayed, ProjectID: item.ProjectID, ItemID: item.ID, Status: true, Browser: true,
		ActorID: m.ActorID, To: m.To, Word: word, At: m.At,
		Via: stage.ViaReconciler, Proof: cmp.Or(m.Proof, stage.ProofActivity),
	})
	job.DedupeKey = fmt.Sprintf("%s/%s/%d", word, task.Identity(t), m.At.UnixMicro())
	_, err = e.Jobs.Put(ctx, job)
	return true, err
}

// setAgain returns when a person has set the status again that was acted on last, or that stands there still since it was acted on before
// a word from elsewhere, and whether the log says so. That the work item has changed since does not: a comment, an edit and the second save
// of the same move change it too. It was set again when the item has stood elsewhere in between.
func setAgain(ctx context.Context, e *Engine, b board) (again time.Time, logged bool, err error) {
	t := newest(b.task, b.past)
	acted := t.State.Acted
	stands := b.item.Status == acted && b.seen().After(t.State.ActedAt)
	untold := b.told == stage.StatusUnknown || !b.hook.At.After(t.State.ActedAt)
	if _, trigger := stage.BoardTrigger(b.item.Status); trigger && b.item.Status != acted && untold {
		old, err := lastWord(ctx, e.Records, t, b.item.Status)
		if err != nil {
			return again, false, err
		}
		if stands = old.Said != ""; stands {
			acted = b.item.Status
		}
	}
	replaced := b.item.Status != acted && b.told == acted && b.hook.At.After(t.State.ActedAt)
	if !stands && !replaced || b.told == stage.StatusStop { // nobody is to be kept from stopping
		return again, false, nil
	}
	// While the answer to the word is owed, nothing but the log tells a second save of its move from another one.
	owed := slices.ContainsFunc(b.writes, func(w Effect) bool { return w.Answers == acted })
	m, late, err := e.findMoveInLog(ctx, b.item, b.item.Status, owed)
	switch {
	case late && m.At.After(b.item.Moved()): // the card was moved since it was read
		return again, false, task.ErrConflict
	case err != nil || late || m.Earlier == nil:
		return again, false, err
	}
	last, err := lastWord(ctx, e.Records, t, acted)
	if err != nil {
		return again, false, err
	}
	// What was said elsewhere has put the work item nowhere.
	left := !slices.Contains([]stage.Via{"", stage.ViaBoard, stage.ViaWebhook, stage.ViaReconciler}, last.By.Via)
	at, itself := cmp.Or(last.SaidAt, t.State.ActedAt), false
	for _, m := range slices.Backward(append([]tracker.Move{m}, m.Earlier...)) {
		if m.At.Before(at) {
			continue
		}
		status, err := e.Tracker.(tracker.Board).StatusOf(ctx, b.item.ProjectID, m.To)
		if err != nil {
			return again, false, err
		}
		if !itself && status == acted && m.At.Equal(at) { // what was set before it in the same instant is no reply
			itself, left = true, false
			continue
		}
		own, err := e.Tracker.Own(m.ActorID)
		if err != nil {
			return again, false, err
		}
		by := ourMove{t, b.writes} // on a board with few columns, or it answers the word
		if left && status == acted && !(own && (by.isEcho(status) || by.made(status, e.Now()))) {
			again = m.At
		}
		left = left || status != acted
	}
	return again, true, nil
}

// seen is the moment as of which the card is known, by the tracker's clock.
func (b board) seen() time.Time {
	return later(b.hook.At, b.item.UpdatedAt)
}

// saidAt is the moment of a word, by the tracker's clock. One that was overwritten may have been set again.
func (b board) saidAt(word stage.Status) time.Time {
	if word != b.item.Status && !b.hook.At.IsZero() {
		return later(b.hook.At, b.again)
	}
	return b.seen()
}
