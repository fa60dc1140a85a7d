package orchestrator

import (
	"context"
	"slices"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

// afterDone answers a word on the card of a task that is done, by the feature that has an answer.
func afterDone(features []Feature, word stage.Status) (begins bool, way string) {
	for _, f := range features {
		if f.AfterDone != nil {
			return f.AfterDone(word)
		}
	}
	return false, ""
}

// followed names the task that the next one of a card comes after; past is the one that it had last. Empty = none.
func followed(past task.Task) string {
	if past.State.Stage == stage.Done {
		return past.WorkItemID
	}
	return past.State.Follows
}

// straysAfterEnd reports whether a person has put the card of a task that has ended into a column that shows what the
// service does.
func (b board) straysAfterEnd() bool {
	_, known := stage.StatusNamed(b.item.Status)
	return known && b.told == b.item.Status && b.item.Status != stage.StatusDone && b.item.Status != b.task.State.Set && !b.shown &&
		(b.past.ID != 0 || b.task.State.Stage.Terminal())
}

// afterClearing starts a task when what a cancelled one of the same work item leaves
// behind is gone: the two have their names in common.
func (in intake) afterClearing(ctx context.Context, item tracker.Item, ev stage.Event) *queue.Outcome {
	jobs, err := in.Jobs.Jobs(ctx, queue.Filter{Key: effectOrder(item.ID, EffectCancel), Open: true})
	if err != nil {
		return retryOutcome(err)
	}
	if slices.ContainsFunc(jobs, func(j queue.Job) bool { kind, _ := EffectKindOf(j); return kind == EffectCancel }) {
		return &queue.Outcome{
			Kind: queue.OutcomeRelease, At: in.Now().Add(in.opt.StatusDefer),
			Error: "waits until what the cancelled task leaves behind is removed",
		}
	}
	return in.start(ctx, item, ev)
}
