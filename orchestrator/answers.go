package orchestrator

import (
	"context"
	"fmt"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
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

// putBack gives a card its column back. Nothing of the task changes; it is done only beside
// the version that was read, else an older column could be set last.
func (e *Engine) putBack(ctx context.Context, c queue.Claim, p task.Project, b board) (*queue.Outcome, error) {
	name := func(s stage.Status) string { info, _ := stage.StatusNamed(s); return info.Name }
	text := fmt.Sprintf("%s moves nothing: the task is at %s, and the service sets that column itself. The card goes back to %s; STOP ends the task.",
		name(b.item.Status), b.task.State.Stage, name(b.task.State.Set))
	t := b.task
	key := fmt.Sprintf("stray/%s/%d", task.Identity(t), b.seen().UnixMicro())
	err := e.Store.Commit(ctx, task.Commit{Task: &t, Unchanged: true, Claim: &c, Jobs: []queue.Job{
		EffectJob(t, p, stage.Effect{Kind: stage.EffectComment, Author: stage.Stream, Text: text}, key),
		EffectJob(t, p, stage.Effect{Kind: stage.EffectStatus, Status: t.State.Set}, key+"/status"),
	}})
	return e.finish(c, err), err
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
