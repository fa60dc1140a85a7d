package orchestrator

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

// What a person moves on the board and what means nothing is answered, once. Words of
// the board at a stage are the machine's matter (stage.DoDecline); here is the rest.

// describeWait returns that the agent of a task is not at work and what it waits for, for who sets a
// status meanwhile; empty when it is at work.
func describeWait(ctx context.Context, e *Engine, t task.Task) (string, error) {
	waits, err := e.Waiting(ctx, queue.Filter{TaskID: t.ID})
	for _, w := range waits {
		if w.Job.Kind != KindAgent || w.Job.Status == queue.Running {
			continue
		}
		what, begun := "waits for a free agent", "has not begun"
		if len(w.Reasons) > 0 {
			what = WaitText(w.Reasons[0])
		}
		if w.Job.Attempt > 0 {
			begun = "is not at work"
		}
		return fmt.Sprintf("the %s %s: it %s", t.State.Active, begun, what), nil
	}
	return "", err
}

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
