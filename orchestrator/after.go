package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

// afterDone reports whether the card of a task that is done answers to people, and the way on that it names.
func afterDone(m *stage.Machine) (answers bool, way string) {
	if m.Pipeline().CheckLane(stage.UndoLane) != nil {
		return false, ", and what is left to do begins as another card"
	}
	return true, "; To Analyse opens a follow-up, signalbox undo takes the change back"
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
// behind is gone: the two have their names in common. A status that is being written lands first: its webhook
// would be a word about the task that begins. Where one has landed since the board was read, it is read again.
func (in intake) afterClearing(ctx context.Context, b board, ev stage.Event) (*queue.Outcome, error) {
	for _, kind := range []stage.EffectKind{EffectCancel, stage.EffectStatus} {
		jobs, err := in.Jobs.Jobs(ctx, queue.Filter{Key: effectOrder(b.item.ID, kind), Open: true})
		if err != nil {
			return retryOutcome(err), nil
		}
		cancelled := b.past.State.Stage == stage.Cancelled // else some of the writes were refused for good
		if kind == stage.EffectStatus && cancelled && len(jobs) < len(b.writes) {
			return nil, task.ErrConflict
		}
		if slices.ContainsFunc(jobs, func(j queue.Job) bool {
			of, _ := EffectKindOf(j)
			return of == kind && (kind == EffectCancel || j.Status == queue.Running)
		}) {
			return &queue.Outcome{
				Kind: queue.OutcomeRelease, At: in.Now().Add(in.opt.StatusDefer),
				Error: "waits until what the cancelled task leaves behind is removed and written",
			}, nil
		}
		for _, j := range jobs {
			in.owed = append(in.owed, j.ID)
		}
	}
	return in.begin(ctx, b.item, ev)
}

// OnUndo begins a task on the stage.UndoLane, and OnReverted reports its commit. Only the rows of the feature have them.
const (
	OnUndo     stage.Trigger = "undo"
	OnReverted stage.Trigger = "reverted"
)

// RefusalOfUndo returns in one sentence why what a task has landed cannot be taken back by one of its card; empty when
// it can.
func RefusalOfUndo(ctx context.Context, e *Engine, t task.Task) (string, error) {
	_, able := e.Workspaces.(work.Reverter)
	answers, _ := afterDone(e.machine)
	switch {
	case !answers:
		return "this program runs without undo (ORCH_AFTER_DONE_ENABLED)", nil
	case !able:
		return "the workspaces of this program cannot take anything back", nil
	case t.State.Stage != stage.Done:
		return fmt.Sprintf("only what is done can be undone, and the task is at %s", t.State.Stage), nil
	case t.State.MergeSHA == "":
		return "the service has merged nothing of it", nil
	}
	live, err := e.Store.Tasks(ctx, task.Filter{TrackerIssueID: t.TrackerIssueID, Live: true, Limit: 1})
	if err != nil {
		return "", err
	}
	if len(live) > 0 {
		return fmt.Sprintf("%s (task %d) of the same card is not finished: wait for it, or stop it", live[0].WorkItemID, live[0].ID), nil
	}
	by, err := undoOf(ctx, e, t)
	if err != nil || by.ID == 0 {
		return "", err
	}
	return fmt.Sprintf("%s (task %d) has taken it back", by.WorkItemID, by.ID), nil
}

// undoOf is the task that has taken back what another has landed, and was not taken back itself; zero: there is none.
func undoOf(ctx context.Context, e *Engine, t task.Task) (none task.Task, err error) {
	_, after, err := task.Around(ctx, e.Store, t)
	for _, o := range after {
		if o.State.Lane == stage.UndoLane && o.State.Stage == stage.Done {
			if by, failed := undoOf(ctx, e, o); failed != nil || by.ID == 0 {
				return o, failed
			}
		}
	}
	return none, err
}

// undo begins the task that takes back what another has landed.
func (in intake) undo(ctx context.Context, of task.Task, ev stage.Event) *queue.Outcome {
	for range decideMax {
		why, err := RefusalOfUndo(ctx, in.Engine, of)
		if err != nil {
			return retryOutcome(err)
		}
		if why != "" {
			o, _ := in.end(ctx, task.Commit{}, task.FateRefused, why)
			return o
		}
		ev.Follows, ev.Lane, ev.Seen = of.WorkItemID, stage.UndoLane, onBoard(of.State, ev.At)
		item := tracker.Item{
			ID: of.TrackerIssueID, Title: fmt.Sprintf("Undo %s: %s", of.WorkItemID, of.Title),
			Description: fmt.Sprintf("Take back what %s has landed, for %s.", of.WorkItemID, ev.By.Who()),
		}
		if o, err := in.begin(ctx, item, ev); !errors.Is(err, task.ErrConflict) {
			return o
		}
	}
	return retryOutcome(task.ErrConflict)
}
