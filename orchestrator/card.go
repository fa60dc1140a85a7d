package orchestrator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/prompt"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

// cardGone is the name of the hold of a task that lives and whose card is not on the board any more:
// no agent of it starts, and nothing is merged or deployed.
const cardGone = "card_gone"

// cardWait is how long what cannot be undone is put off while the card cannot be read.
const cardWait = 30 * time.Second

func goneHold(taskID int64) queue.Hold {
	return queue.Hold{
		Subject: cardOf(taskID), Name: cardGone,
		Reason: "the card is not on the board any more: it was deleted, archived or moved to another project",
	}
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

// StopGone tells a person what to do about a task whose card is gone.
func StopGone(taskID int64) string {
	return fmt.Sprintf("restore the card, and the task goes on by itself; or stop the task "+
		"(its page on the dashboard, signalbox stop %d, or POST /tasks/%d/stop)", taskID, taskID)
}

// LookAtCard reads the card of a task that lives. While there is none the task is held, and people are
// notified once; the error is tracker.ErrNotFound then. A card that is back frees it. Of several that find
// it gone at once, one holds the task: its version is compared.
func (e *Engine) LookAtCard(ctx context.Context, t task.Task) (item tracker.Item, err error) {
	p, ok := e.Projects.ByRepo(t.Repo)
	if !ok {
		return item, &UnregisteredError{t.Repo}
	}
	for range decideMax {
		item, err = e.Tracker.Item(ctx, p.On(t.TrackerProjectID).TrackerProject, t.TrackerIssueID)
		gone := errors.Is(err, tracker.ErrNotFound)
		if err != nil && !gone || t.State.Stage.Terminal() {
			return item, err
		}
		hold := goneHold(t.ID)
		held, failed := e.Jobs.HoldsIn(ctx, hold.Subject, hold.Subject+"\x00", 1)
		switch known := len(held) > 0; {
		case failed != nil:
			return item, failed
		case gone == known:
			return item, err
		case !gone:
			e.Log.Info("the card of a task is back", "task", t.ID, "work_item", t.WorkItemID, "repo", t.Repo)
			return item, e.Store.Commit(ctx, task.Commit{Free: []queue.Hold{hold}})
		}
		text := hold.Reason + ". The task is held: nothing of it begins, is merged or deployed. What to do: " + StopGone(t.ID) + "."
		notice := EffectJob(t, p, stage.Effect{Kind: stage.EffectNotify, Text: text}, "gone/"+task.Identity(t))
		failed = e.Store.Commit(ctx, task.Commit{Task: &t, Hold: []queue.Hold{hold}, Jobs: []queue.Job{notice}})
		if !errors.Is(failed, task.ErrConflict) {
			e.Log.Error("the card of a task is gone", "task", t.ID, "work_item", t.WorkItemID, "repo", t.Repo, "err", failed)
			return item, cmp.Or(failed, err)
		}
		if t, failed = e.Store.Task(ctx, t.ID); failed != nil {
			return item, failed
		}
	}
	return item, task.ErrConflict
}

// textFor is how long the text of a card that was read for an event is taken for that of the moment.
const textFor = 5 * time.Second

// readText gives a task, whose agent is about to begin, the text that its card has now, and tells people so where it is
// another than before. The outcome is not nil while the card is gone, or cannot be read before a deployment; else the agent
// of a card that cannot be read works by the text that is known.
func (e *Engine) readText(ctx context.Context, p task.Project, t task.Task, l stage.Launch) (task.Task, *queue.Outcome) {
	last, err := e.items.get(t.TrackerIssueID), error(nil)
	item := last.item
	if age := e.Now().Sub(last.at); l.Phase == stage.PhaseRelease || age < 0 || age > textFor {
		item, err = e.LookAtCard(ctx, t)
	}
	switch {
	case errors.Is(err, tracker.ErrNotFound), err != nil && l.Phase == stage.PhaseRelease:
		return t, e.putOff(t, err)
	case err != nil:
		e.Log.Warn("the card cannot be read, and an agent works by the text that is known", "task", t.ID, "repo", t.Repo, "err", err)
		return t, nil
	}
	for range decideMax {
		if t.Title == item.Title && t.Description == item.Description {
			return t, nil
		}
		now := t
		now.Title, now.Description = item.Title, item.Description
		if err := refreshRequest(ctx, e.Workspaces, p, now, l); fault.Retryable(err) {
			return t, &queue.Outcome{Kind: queue.OutcomeRelease, At: e.Now().Add(remoteWait), Error: err.Error()}
		} else if err != nil { // the prompt has the text, too
			e.Log.Warn("the file of a request stays as it was", "task", t.ID, "repo", t.Repo, "err", err)
		}
		text := fmt.Sprintf("The card was edited: the %s has its new text (run %d). "+
			"What was written and approved before stays as it is.", l.Role, l.Run)
		told := EffectJob(now, p, stage.Effect{Kind: stage.EffectComment, Author: stage.Stream, Text: text},
			fmt.Sprintf("text/%s/%d", task.Identity(t), l.Run))
		err := e.Store.Commit(ctx, task.Commit{Task: &now, Jobs: []queue.Job{told}, Journal: []task.JournalEntry{{
			TaskID: t.ID, Seq: t.State.Seq, At: e.Now(), Kind: task.KindText, Payload: encode(task.Note{Result: text}),
		}}})
		if err != nil && !errors.Is(err, task.ErrConflict) {
			return t, retryOutcome(err)
		}
		missed := err != nil
		if t, err = e.Store.Task(ctx, t.ID); err != nil {
			return t, retryOutcome(err)
		}
		if t.State.Active == "" || t.State.Run != l.Run {
			return t, done("the task does not wait for this run any more")
		}
		if !missed {
			return t, nil
		}
	}
	return t, retryOutcome(task.ErrConflict)
}

// textHash names the text of a card in the records of the runs that have read it.
func textHash(t task.Task) string { return prompt.Hash(t.Title + "\n" + t.Description) }

// refreshRequest brings the file of the request in a task's branch up to the text of its card. What is
// merged stays as it is.
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

// putOff puts off what a task begins whose card is gone or cannot be read.
func (e *Engine) putOff(t task.Task, err error) *queue.Outcome {
	why := "the card cannot be read, and nothing is merged or deployed until it can: " + err.Error()
	if errors.Is(err, tracker.ErrNotFound) {
		why = goneHold(t.ID).Reason
	}
	e.Log.Warn("a task waits for the board", "task", t.ID, "repo", t.Repo, "err", err)
	return &queue.Outcome{Kind: queue.OutcomeRelease, At: e.Now().Add(max(cardWait, fault.After(err))), Error: why}
}

// irreversible reports whether an effect cannot be undone.
func irreversible(kind stage.EffectKind) bool {
	return kind == stage.EffectMerge || kind == stage.EffectGatedMerge
}

// withoutCard decides what becomes of an effect on a card that the tracker does not find. What is owed to a
// card that is gone is owed no more; one that is there after all is written to again.
func (e *Engine) withoutCard(ctx context.Context, f Effect, o queue.Outcome) queue.Outcome {
	t, err := e.Store.Task(ctx, f.TaskID)
	if err != nil || t.State.Stage.Terminal() {
		return o
	}
	switch _, err := e.LookAtCard(ctx, t); {
	case errors.Is(err, tracker.ErrNotFound):
		return queue.Outcome{Kind: queue.OutcomeDone, Error: goneHold(t.ID).Reason}
	case err != nil:
		return Retry(err)
	default:
		return queue.Outcome{Kind: queue.OutcomeRetry, Cause: o.Cause, Error: o.Error}
	}
}

// What a person moves on the board and what means nothing is answered, once. Words of
// the board at a stage are the machine's matter (stage.DoDecline); here is the rest.

// strays reports whether a person has put the card of a task that lives into a column that
// shows what the service does, and does not show it now.
func (b board) strays() bool {
	_, known := stage.StatusNamed(b.item.Status)
	if !known || b.task.ID == 0 || b.task.State.Stage.Terminal() || b.shown || b.task.State.Set == stage.StatusUnknown {
		return false
	}
	for _, w := range b.writes {
		if w.Status == b.item.Status {
			return false
		}
	}
	return b.told == b.item.Status && b.task.State.Set != b.item.Status
}

// putBack gives a card its column back. Nothing of the task changes; it is done only beside
// the version that was read, else an older column could be set last.
func (e *Engine) putBack(ctx context.Context, c queue.Claim, p task.Project, b board) (*queue.Outcome, error) {
	name := func(s stage.Status) string { info, _ := stage.StatusNamed(s); return info.Name }
	text := fmt.Sprintf("%s moves nothing: the task is at %s, and the service sets that column itself. "+
		"The card goes back to %s; STOP ends the task.",
		name(b.item.Status), b.task.State.Stage, name(b.task.State.Set))
	t := b.task
	key := fmt.Sprintf("stray/%s/%d", task.Identity(t), b.seen().UnixMicro())
	err := e.Store.Commit(ctx, task.Commit{Task: &t, Unchanged: true, Claim: &c, Jobs: []queue.Job{
		EffectJob(t, p, stage.Effect{Kind: stage.EffectComment, Author: stage.Stream, Text: text}, key),
		EffectJob(t, p, stage.Effect{Kind: stage.EffectStatus, Status: t.State.Set}, key+"/status"),
	}})
	return e.finish(c, err), err
}

// RestoreColumn sets the column of a task again when its newest write was made, and the card stands where the service's
// own account has put it earlier: a write came late, or was lost. A person's move stays. It reports false while one is owed.
func (e *Engine) RestoreColumn(
	ctx context.Context, p task.Project, item tracker.Item, t task.Task, columns map[stage.Status]string,
) (settled bool, err error) {
	writes, err := e.Jobs.Jobs(ctx, queue.Filter{Pool: poolAt(LaneBoard.Pool(), p.Board), TaskID: t.ID, Limit: statusMax})
	if err != nil || len(writes) == 0 {
		return err == nil, err
	}
	var w Effect
	earlier := false
	for _, j := range writes {
		earlier = earlier || w.Status != "" && columns[w.Status] == item.StatusName
		if err := json.Unmarshal(j.Payload, &w); err != nil {
			return false, fmt.Errorf("orchestrator: job %d: %w", j.ID, err)
		}
	}
	if newest := writes[len(writes)-1].Status; newest != queue.Done || columns[w.Status] == item.StatusName || !earlier {
		return newest.Terminal(), nil
	}
	_, trigger := stage.BoardTrigger(item.Status)
	if trigger && (item.Status != stage.StatusInProgress || !t.State.Stage.Terminal()) {
		return true, nil // it may be the word of a person who uses the same account
	}
	m, _, err := e.findMoveInLog(ctx, item, item.Status)
	if err != nil || m.ActorID == "" {
		return err == nil, err
	}
	if own, err := e.Tracker.Own(m.ActorID); !own {
		return err == nil, err
	}
	e.Log.Warn("a column is not shown that was set, and is set again",
		"task", t.ID, "repo", t.Repo, "item", item.ID, "shown", item.StatusName, "owed", w.Status)
	again := stage.Effect{Kind: stage.EffectStatus, Status: w.Status, Replaces: stage.Replaceable(item.Status)}
	key := fmt.Sprintf("column/%s/%d", task.Identity(t), item.UpdatedAt.UnixMicro())
	err = e.Store.Commit(ctx, task.Commit{Task: &t, Unchanged: true, Jobs: []queue.Job{EffectJob(t, p, again, key)}})
	return err == nil, err
}

// answerWithoutTask answers a word on a card that has no task. Its column stays: where it was is not
// known.
func (e *Engine) answerWithoutTask(ctx context.Context, c queue.Claim, p task.Project, b board, word stage.Status) *queue.Outcome {
	info, _ := stage.StatusNamed(word)
	why := info.Name + " is ignored: the work item has no task"
	if !b.hook.Status || word == stage.StatusStop {
		return done(why)
	}
	text := fmt.Sprintf("%s moves nothing: there is no task of this card. To Analyse starts one.", info.Name)
	key := fmt.Sprintf("notask/%s/%s/%d", b.item.ID, word, b.seen().UnixMicro())
	t := task.Task{TrackerIssueID: b.item.ID, Title: b.item.Title}
	job := EffectJob(t, p, stage.Effect{Kind: stage.EffectComment, Author: stage.Stream, Text: text}, key)
	return e.finish(c, e.Store.Commit(ctx, task.Commit{Jobs: []queue.Job{job}, Claim: &c}))
}

// brakes reports whether a webhook proves by itself that a person has set STOP, and when: it is
// acted on without a look at the board, which may not answer.
func brakes(h tracker.Hook) bool {
	set := h.Kind == tracker.HookItemUpdated && h.Status && h.Word == stage.StatusStop
	return set && !h.Unsigned && h.ActorID != "" && (!h.Self || h.Browser) && !h.At.IsZero()
}

// brake cancels the task of a work item on which STOP was set since it began. What is left, such as
// the STOP of a task before, goes the way of all webhooks.
func (e *Engine) brake(ctx context.Context, c queue.Claim, p task.Project, h tracker.Hook) *queue.Outcome {
	for range decideMax {
		t, found, _, err := e.taskOf(ctx, h.ItemID)
		if err != nil {
			return retryOutcome(err)
		}
		own, registered := p, true
		if found && t.Repo != p.Repo {
			own, registered = e.projectOf(t, stage.OnStop)
		}
		b := board{task: t, hook: h, told: stage.StatusStop}
		if b.began, err = e.began(ctx, t); err != nil {
			return retryOutcome(err)
		}
		if !registered || h.At.Equal(b.began) || !b.lost() {
			return &queue.Outcome{Kind: queue.OutcomeDone, Error: "the board is read first", Then: []queue.Job{TrackerJob(h)}}
		}
		o, err := e.try(ctx, c, own, t, stage.Event{On: stage.OnStop, At: e.Now(), By: senderOf(h), Seen: h.At}, nil)
		if !errors.Is(err, task.ErrConflict) {
			return o
		}
	}
	return retryOutcome(task.ErrConflict)
}

// began is when the word was set that has begun a task, by the tracker's clock.
func (e *Engine) began(ctx context.Context, t task.Task) (time.Time, error) {
	entries, err := e.Records.Journal(ctx, t.ID)
	if err != nil {
		return time.Time{}, err
	}
	for _, entry := range entries {
		if r, err := entry.Recorded(); err == nil && r.Event.On == stage.OnToAnalyse {
			return r.Event.Seen, nil
		}
	}
	return t.State.ActedAt, nil
}

// hosts returns the field of an entry that the engine's parts are not made for, and why.
func (e *Engine) hosts(p task.Project) (field, wrong string) {
	_, plain := e.Host.(githost.Plain)
	switch {
	case p.Plain() && !plain:
		return "host", "is git, and the git host of this program serves no repository without one (githost.Plain)"
	case len(p.CI) > 0 && e.Commands == nil:
		return "ci", "has commands, and none can be run by this program (Deps.Commands)"
	default:
		return "", ""
	}
}

// confirmLanded looks whether main of a plain repository has the head of a task, by any pusher.
// A nil outcome means that it has.
func (e *Engine) confirmLanded(ctx context.Context, host githost.Plain, p task.Project, t task.Task, ev *stage.Event) *queue.Outcome {
	head := t.State.Head
	if head != "" && head == t.State.Landed {
		return done("that merge was deployed and rejected")
	}
	landed, err := githost.Landed(ctx, host, p.Repo, p.Main, head)
	switch {
	case err != nil:
		return retryOutcome(err)
	case !landed:
		return done(fmt.Sprintf("%s does not have %s at %.12s", p.Main, t.Branch, head))
	default:
		ev.SHA = head
		return nil
	}
}
