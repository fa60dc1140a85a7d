package orchestrator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

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

// wanders reports whether a person has put the card of a task that lives into a column that is none of the pipeline's.
func (b board) wanders() bool {
	person := b.hook.Status && !b.hook.Self && b.hook.ActorID != ""
	return person && b.item.Status == stage.StatusUnknown && b.item.StatusName != "" && !b.shown &&
		b.task.ID != 0 && !b.task.State.Stage.Terminal() && b.task.State.Set != stage.StatusUnknown
}

// column names for people the column that the card stands in.
func (b board) column() string {
	if info, known := stage.StatusNamed(b.item.Status); known {
		return info.Name
	}
	return b.item.StatusName
}

// putBack gives a card its column back and says why, at most once a minute: trackers may save a move twice. Nothing of the task changes;
// it is done only beside the version that was read, else an older column could be set last.
func (in intake) putBack(ctx context.Context, b board, why string) (*queue.Outcome, error) {
	t := b.task
	to, _ := stage.StatusNamed(t.State.Set)
	text := why + ". The card goes back to " + to.Name
	if !t.State.Stage.Terminal() {
		text += "; STOP ends the task"
	}
	key := fmt.Sprintf("stray/%s/%s/%d", task.Identity(t), b.column(), b.seen().Truncate(time.Minute).Unix())
	return in.end(ctx, task.Commit{Task: &t, Unchanged: true, Jobs: []queue.Job{
		EffectJob(t, in.project, stage.Effect{Kind: stage.EffectComment, Author: stage.Stream, Text: text + "."}, key),
		EffectJob(t, in.project, stage.Effect{
			Kind: stage.EffectStatus, Status: t.State.Set, Answers: b.item.Status, Replaces: stage.Replaceable(b.item.Status),
		}, key+"/status"),
	}}, task.FateNothing, why)
}

// RestoreColumn sets the column of a task again when its newest write was made, and the card stands where the service's
// own account has put it earlier: a write came late, or was lost. A person's move stays, and is heard where a write has replaced it. It
// reports false while one is owed.
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
	shown := columns[w.Status] == item.StatusName
	_, said := stage.BoardTrigger(item.Status) // maybe by a person who uses the same account
	said = said && (item.Status != stage.StatusInProgress || !t.State.Stage.Terminal())
	if newest := writes[len(writes)-1].Status; newest != queue.Done || shown || said || !earlier {
		if newest.Terminal() && !t.State.Stage.Terminal() {
			return replayOverwritten(ctx, e, item, t, shown)
		}
		return newest.Terminal(), nil
	}
	m, _, err := e.findMoveInLog(ctx, item, item.Status, false)
	if err != nil {
		return false, err
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

// answerWithoutTask answers a word on a card that has no task. Its column stays: where it was is not known.
func (in intake) answerWithoutTask(ctx context.Context, b board, word stage.Status, past bool) *queue.Outcome {
	info, _ := stage.StatusNamed(word)
	why := info.Name + " is ignored: the work item has no task"
	if !b.hook.Status || word == stage.StatusStop && b.told != stage.StatusToAnalyse { // else it was written over
		return done(why)
	}
	text := fmt.Sprintf("%s moves nothing: there is no task of this card. To Analyse starts one.", info.Name)
	if past && b.past.ID != 0 {
		text = fmt.Sprintf("%s moves nothing: the task of this card was cancelled. To Analyse starts another.", info.Name)
	}
	key := fmt.Sprintf("notask/%s/%s/%d", b.item.ID, word, b.seen().UnixMicro())
	t := task.Task{TrackerIssueID: b.item.ID, Title: b.item.Title}
	job := EffectJob(t, in.project, stage.Effect{Kind: stage.EffectComment, Author: stage.Stream, Text: text}, key)
	o, _ := in.end(ctx, task.Commit{Jobs: []queue.Job{job}}, task.FateNothing, why)
	return o
}

// brakes reports whether a webhook proves by itself that a person has set STOP, or put the card where the tracker ends work,
// and when: it is acted on without a look at the board, which may not answer.
func brakes(h tracker.Hook) bool {
	set := h.Kind == tracker.HookItemUpdated && h.Status && (h.Word == stage.StatusStop || ends(h))
	return set && !h.Unsigned && h.ActorID != "" && (!h.Self || h.Browser) && !h.At.IsZero()
}

// ends reports whether a webhook is of a card that was put where the tracker ends work; see IsAway.
func ends(h tracker.Hook) bool { return h.Finished && h.Word == stage.StatusUnknown }

// ReadFirst is the end of the job of a webhook that brakes, when another has taken it over, which reads the board.
const ReadFirst = "the board is read first"

// brake cancels the task of a work item on which STOP was set since it began, and holds that of one which was put where the
// tracker ends work; the board is read then. What is left, such as the STOP of a task before, goes the way of all webhooks.
func (in intake) brake(ctx context.Context, h tracker.Hook) *queue.Outcome {
	read := &queue.Outcome{Kind: queue.OutcomeDone, Error: ReadFirst, Then: []queue.Job{TrackerJob(h)}} // which carries the word
	for range decideMax {
		t, found, _, err := in.taskOf(ctx, h.ItemID)
		if err != nil {
			return retryOutcome(err)
		}
		registered := true
		if found && t.Repo != in.project.Repo {
			in.project, registered = in.projectOf(t, stage.OnStop)
		}
		b := board{task: t, hook: h, told: stage.StatusStop}
		if b.began, err = in.began(ctx, t); err != nil {
			return retryOutcome(err)
		}
		switch {
		case !registered || h.At.Equal(b.began) || !b.lost():
			return read
		case ends(h) && !in.project.CancelledIsStop:
			if t.State.Stopping || !h.At.After(t.State.ActedAt) {
				return read
			}
			hold := holdOfCard(t.ID, tracker.Item{StatusName: cmp.Or(h.Column, "a column"), Finished: true}, nil)
			if err = holdFor(ctx, in.Engine, t, in.project, hold, h.At, ""); err == nil {
				return read
			}
		case !t.State.Stopping && !stops(in.Engine, t): // STOP is switched off, and the card may be back
			return read
		default:
			in.hearBoard(h)
			in.word.Said = string(stage.StatusStop)
			o, failed := in.try(ctx, t, stage.Event{On: stage.OnStop, At: in.Now(), By: senderOf(h), Seen: h.At}, nil)
			if err = failed; !errors.Is(err, task.ErrConflict) {
				return o
			}
		}
		if !errors.Is(err, task.ErrConflict) {
			return retryOutcome(err)
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
		if r, err := entry.Recorded(); err == nil && !r.Event.Seen.IsZero() {
			return r.Event.Seen, nil
		}
	}
	return since(t), nil
}

// since is from when a word on the card is about a task: behind the last that was acted on. No word of the board has begun an undo.
func since(t task.Task) time.Time {
	return cmp.Or(t.State.ActedAt, t.CreatedAt)
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

// confirmLanded looks whether main of a plain repository has the head of a task, by any pusher. A nil outcome means that it has.
func (in intake) confirmLanded(ctx context.Context, host githost.Plain, t task.Task, ev *stage.Event) *queue.Outcome {
	head := t.State.Head
	landed, err := githost.Landed(ctx, host, in.project.Repo, in.project.Main, head)
	switch {
	case err != nil:
		return retryOutcome(err)
	case landed == "":
		return done(fmt.Sprintf("%s does not have %s at %.12s", in.project.Main, t.Branch, head))
	case landed == t.State.Landed:
		return done("that merge was deployed and rejected")
	default:
		ev.SHA = landed
		return nil
	}
}

// hookStatus returns the status that a person has set by a webhook; StatusUnknown when the webhook names none, or no person.
func hookStatus(ctx context.Context, tracks tracker.Board, h tracker.Hook) (stage.Status, error) {
	if !h.Status || h.Self || h.To == "" || h.ActorID == "" {
		return stage.StatusUnknown, nil
	}
	if h.Word != stage.StatusUnknown {
		return h.Word, nil
	}
	return tracks.StatusOf(ctx, h.ProjectID, h.To)
}

// lookAgain looks once more, a little later, in case the tracker answered
// from a replica that had not seen the change yet; then it is done.
func (in intake) lookAgain(why string) *queue.Outcome {
	if after := 2 * in.opt.StatusDefer; in.claim.Job.Attempt == 1 && in.Now().Sub(in.claim.Job.CreatedAt) < after {
		return &queue.Outcome{Kind: queue.OutcomeRetry, At: in.Now().Add(after), Error: looksAgain + why}
	}
	return done(why)
}
