package reconcile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

// pagesMax bounds one listing.
const pagesMax = 100

// boards is F-2: it replays the moves on boards of which no webhook came. lost names each move
// that was found so; braked is the reason when it was too much to be true.
func (r *Reconciler) boards(
	ctx context.Context, e *orchestrator.Engine, versions map[string]int64,
) (replayed int, lost []string, braked string, err error) {
	if r.opt.Tracker == nil {
		return 0, nil, "", nil
	}
	for _, p := range r.turn(e.Projects.Boards()) {
		// What a board says is not acted on yet: it would count as lost in every pass.
		if unknown := e.Identified(p); unknown != nil {
			err = errors.Join(err, unknown)
			continue
		}
		items, listed, failed := r.lost(ctx, e, p, versions)
		err = errors.Join(err, failed)
		if failed != nil && len(items) == 0 { // nothing to act on, and no sign that a brake is over
			continue
		}
		for _, item := range items {
			lost = append(lost, fmt.Sprintf("%s %s %d", item.ID, item.Status, item.UpdatedAt.UnixMicro()))
		}
		stopped, failed := r.brake(ctx, e, p, items, listed)
		err = errors.Join(err, failed)
		if stopped != "" {
			braked = stopped
			continue
		}
		for _, item := range items {
			r.opt.Log.Warn("a webhook was lost and is replayed", "item", item.ID, "repo", p.Repo, "status", item.Status)
			job := replay(item)
			job.DedupeKey = "reconcile/" + item.ID
			if _, failed := e.Jobs.Put(ctx, job); failed != nil {
				err = errors.Join(err, failed)
				continue
			}
			replayed++
		}
	}
	return replayed, lost, braked, err
}

// replay returns the event of a work item of whose move no webhook came.
func replay(item tracker.Item) queue.Job {
	return orchestrator.TrackerJob(tracker.Hook{
		Kind: tracker.HookItemUpdated, Event: orchestrator.HookReplayed,
		ProjectID: item.ProjectID, ItemID: item.ID, Status: true,
	})
}

// missed reports whether a work item stands at a trigger that the service has
// neither acted on nor set itself, by the column's own name or a fallback.
func (r *Reconciler) missed(ctx context.Context, e *orchestrator.Engine, item tracker.Item, columns map[stage.Status]string) (bool, error) {
	on, trigger := stage.BoardTrigger(item.Status)
	if !trigger {
		return false, nil
	}
	t, err := orchestrator.NewestTask(ctx, e.Store, item.ID)
	if err != nil {
		return false, err
	}
	lives := t.ID != 0 && t.State.Stage != stage.Cancelled
	_, known := e.Projects.ByRepo(t.Repo)
	switch {
	case !lives && on != stage.OnToAnalyse,
		lives && t.State.Stage.Terminal() && (on != stage.OnToAnalyse || !r.opt.AfterDone),
		lives && item.StatusName == columns[t.State.Set],
		lives && !known && item.Status != stage.StatusStop, // nothing can be done of it now
		item.Status == stage.StatusStop && t.State.Acted == stage.StatusStop:
		return false, nil
	}
	isNew, err := e.IsNew(ctx, item, t)
	if err != nil || !isNew {
		return false, err
	}
	return r.unreported(ctx, e, item, t)
}

// unreported reports whether a person may have moved a work item and no event of it is stored, a
// webhook's or a replayed one: that would read the item when its turn comes, however late.
func (r *Reconciler) unreported(ctx context.Context, e *orchestrator.Engine, item tracker.Item, t task.Task) (bool, error) {
	var open []queue.Job
	for _, key := range orchestrator.BoardKeys(item.ID) {
		some, err := e.Jobs.Jobs(ctx, queue.Filter{Key: key, Open: true})
		if err != nil {
			return false, err
		}
		open = append(open, some...)
	}
	for _, j := range open {
		var h tracker.Hook
		if j.Kind == orchestrator.KindTracker && json.Unmarshal(j.Payload, &h) == nil && h.Kind == tracker.HookItemUpdated {
			return false, nil
		}
	}
	ours, err := e.SetByUs(ctx, item, t)
	if err != nil { // the replayed event waits for the log, and the other cards do not
		r.opt.Log.Warn("who has moved a work item cannot be read", "item", item.ID, "status", item.Status, "err", err)
	}
	return !ours, nil
}
