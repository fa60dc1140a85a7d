package orchestrator

import (
	"context"
	"errors"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// FeatureBlocks returns what the features that are on show of themselves in /queue, by
// name. The block of a feature that cannot say is an error.
func (e *Engine) FeatureBlocks(ctx context.Context) map[string]any {
	out := map[string]any{}
	for _, f := range e.features {
		if f.Show == nil {
			continue
		}
		block, err := f.Show(ctx)
		if err != nil {
			block = map[string]string{"error": err.Error()}
		}
		out[f.Name] = block
	}
	return out
}

// Concurrency is how many agents may be at work at a time.
func (e *Engine) Concurrency() int { return e.opt.MaxConcurrency }

// Green evaluates the gates that a trigger would meet at a task's stage, and reports
// whether it would move. It reads and changes nothing. A slow gate is not judged: the
// trigger is worth raising then, except for a blocked task, which a person resumes.
func (e *Engine) Green(ctx context.Context, t task.Task, on stage.Trigger) (bool, error) {
	p, ok := e.Projects.ByRepo(t.Repo)
	if !ok {
		return false, nil
	}
	v, err := e.judge(ctx, queue.Job{}, p, t, stage.Event{On: on, At: e.Now()})
	if errors.Is(err, errApart) {
		return t.State.Hold != stage.HoldBlocked, nil
	}
	return v != nil && v.Passed(), err
}

// Raise makes an event of a task. It is durable when it returns; the same dedupe
// key again while the first is unfinished is a no-op.
func (e *Engine) Raise(ctx context.Context, t task.Task, ev stage.Event, dedupe string) error {
	_, err := e.Jobs.Put(ctx, e.triggerJob(t, ev, nil, dedupe))
	return err
}

// Waiting lists unfinished jobs with what each waits for, in the words of today.
func (e *Engine) Waiting(ctx context.Context, f queue.Filter) ([]queue.Wait, error) {
	waits, err := e.Jobs.Waiting(ctx, f)
	for _, f := range e.features {
		if f.Words != nil && err == nil {
			f.Words(ctx, waits)
		}
	}
	return waits, err
}
