package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

// CardGone is the name of the hold of a task that lives and whose card is not on the board any more:
// no agent of it starts, and nothing is merged or deployed.
const CardGone = "card_gone"

// cardWait is how long what cannot be undone is put off while the card cannot be read.
const cardWait = 30 * time.Second

func goneHold(taskID int64) queue.Hold {
	return queue.Hold{
		Subject: CardOf(taskID), Name: CardGone,
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
func (e *Engine) LookAtCard(ctx context.Context, t task.Task) error {
	p, ok := e.Projects.ByRepo(t.Repo)
	if !ok {
		return &UnregisteredError{t.Repo}
	}
	for range decideMax {
		_, err := e.Tracker.Item(ctx, p.On(t.TrackerProjectID).TrackerProject, t.TrackerIssueID)
		gone := errors.Is(err, tracker.ErrNotFound)
		if err != nil && !gone || t.State.Stage.Terminal() {
			return err
		}
		hold := goneHold(t.ID)
		held, failed := e.Jobs.HoldsIn(ctx, hold.Subject, hold.Subject+"\x00", 1)
		switch known := len(held) > 0; {
		case failed != nil:
			return failed
		case gone == known:
			return err
		case !gone:
			e.Log.Info("the card of a task is back", "task", t.ID, "work_item", t.WorkItemID, "repo", t.Repo)
			return e.Store.Commit(ctx, task.Commit{Free: []queue.Hold{hold}})
		}
		text := hold.Reason + ". The task is held: nothing of it begins, is merged or deployed. What to do: " + StopGone(t.ID) + "."
		notice := EffectJob(t, p, stage.Effect{Kind: stage.EffectNotify, Text: text}, "gone/"+task.Identity(t))
		failed = e.Store.Commit(ctx, task.Commit{Task: &t, Hold: []queue.Hold{hold}, Jobs: []queue.Job{notice}})
		if !errors.Is(failed, task.ErrConflict) {
			e.Log.Error("the card of a task is gone", "task", t.ID, "work_item", t.WorkItemID, "repo", t.Repo, "err", failed)
			return cmp.Or(failed, err)
		}
		if t, failed = e.Store.Task(ctx, t.ID); failed != nil {
			return failed
		}
	}
	return task.ErrConflict
}

// awaitCard keeps what cannot be undone from a task whose card is gone or cannot be read. nil: the
// card is there.
func (e *Engine) awaitCard(ctx context.Context, t task.Task) *queue.Outcome {
	err := e.LookAtCard(ctx, t)
	if err == nil {
		return nil
	}
	why := "the card cannot be read, and nothing is merged or deployed until it can: " + err.Error()
	if errors.Is(err, tracker.ErrNotFound) {
		why = goneHold(t.ID).Reason
	}
	e.Log.Warn("a merge or a deployment waits for the board", "task", t.ID, "repo", t.Repo, "err", err)
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
	switch err := e.LookAtCard(ctx, t); {
	case errors.Is(err, tracker.ErrNotFound):
		return queue.Outcome{Kind: queue.OutcomeDone, Error: goneHold(t.ID).Reason}
	case err != nil:
		return Retry(err)
	default:
		return queue.Outcome{Kind: queue.OutcomeRetry, Cause: o.Cause, Error: o.Error}
	}
}
