package admin

import (
	"context"
	"fmt"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// NoteMax bounds what a person writes for the agents of a task, in bytes.
const NoteMax = 10_000

// Note keeps what a person has written for the next run of a task, and shows it on the card. It moves nothing.
func Note(ctx context.Context, e *orchestrator.Engine, taskID int64, text string, by stage.Principal) error {
	t, said, err := written(ctx, e, taskID, text, by)
	if err != nil {
		return err
	}
	a := task.Act{Act: task.ActNote, By: by, Why: strings.TrimSpace(text)}
	return record(ctx, e, t, a, task.Commit{Jobs: []queue.Job{said}})
}

// Answer keeps what a person has answered to the questions of a task, shows it on the card and runs the stage again.
func Answer(ctx context.Context, e *orchestrator.Engine, taskID int64, text string, by stage.Principal) error {
	t, said, err := written(ctx, e, taskID, text, by)
	if err != nil {
		return err
	}
	if t.State.Hold != stage.HoldNeedsInput {
		return &RefusedError{"nothing is to be answered: no question of an agent is open"}
	}
	a := task.Act{Act: task.ActAnswer, By: by, Why: strings.TrimSpace(text)}
	return operate(ctx, e, t, a, stage.Event{On: stage.OnRetry}, said)
}

// written is the task that a text is for, and the comment that shows it.
func written(ctx context.Context, e *orchestrator.Engine, taskID int64, text string, by stage.Principal) (task.Task, queue.Job, error) {
	t, err := e.Store.Task(ctx, taskID)
	if err != nil {
		return t, queue.Job{}, err
	}
	p, ok := e.Projects.ByRepo(t.Repo)
	switch text = strings.TrimSpace(text); {
	case !ok:
		return t, queue.Job{}, &RefusedError{(&orchestrator.UnregisteredError{Repo: t.Repo}).Error()}
	case t.State.Stage.Terminal():
		return t, queue.Job{}, &RefusedError{fmt.Sprintf("no run will read it: the task is %s", t.State.Stage)}
	case text == "", len(text) > NoteMax:
		return t, queue.Job{}, &RefusedError{fmt.Sprintf("the text is to have 1 to %d bytes", NoteMax)}
	}
	comment := stage.Effect{Kind: stage.EffectComment, Author: stage.Stream, Text: fmt.Sprintf("%s, for the agents: %s", by, text)}
	return t, orchestrator.EffectJob(t, p, comment, fmt.Sprintf("note/%s/%d", task.Identity(t), e.Now().UnixNano())), nil
}
