package effects

import (
	"context"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

// waits makes the one comment of a task say what the task waits for now, or that it goes
// on. The key of the comment is that of the effect without what it was owed for.
func (d Deps) waits(ctx context.Context, e orchestrator.Effect) queue.Outcome {
	editor, ok := d.Tracker.(tracker.Editor)
	if !ok {
		return queue.Outcome{Kind: queue.OutcomeDone, Error: "the tracker cannot edit comments"}
	}
	said, err := d.Store.Facts(ctx, orchestrator.WaitSaid(e.TaskID), 1)
	if err != nil {
		return d.retry(e, err)
	}
	var text string
	if len(said) > 0 {
		text = said[0].Text
	} else if t, err := d.Store.Task(ctx, e.TaskID); err != nil {
		return d.retry(e, err)
	} else {
		text = orchestrator.WaitOver(t)
	}
	err = editor.SetComment(ctx, tracker.NewComment{
		ProjectID: e.ProjectID, ItemID: e.ItemID, Author: stage.Stream, Key: e.Key[:strings.LastIndex(e.Key, "/")],
		Again: e.Attempt > 1, Body: text,
	})
	return d.posted(e, err)
}
