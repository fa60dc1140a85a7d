package reconcile

import (
	"context"
	"errors"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/tracker"
)

// absent looks at the cards of live tasks that are not on the board any more: no webhook names a card
// that was deleted or archived. all is the set of the board's items; nil: it was not listed as a whole,
// and only the cards that were gone before are looked at, which may be back.
func (r *Reconciler) absent(ctx context.Context, e *orchestrator.Engine, p task.Project, all map[string]bool) error {
	held, err := e.GoneCards(ctx)
	if err != nil || all == nil && len(held) == 0 {
		return err
	}
	for t, failed := range task.Each(ctx, e.Store, task.Filter{Repo: p.Repo, Live: true}) {
		if failed != nil {
			return errors.Join(err, failed)
		}
		h, gone := held[t.ID]
		if now := r.opt.Now(); orchestrator.IsForPull(h) && now.Sub(r.pulls[t.ID]) >= headsEvery {
			r.pulls[t.ID] = now
			_, failed := orchestrator.LookAtPull(ctx, e, t, githost.BeforeRun, "")
			err = errors.Join(err, failed)
		}
		if t.TrackerProjectID != p.TrackerProject || !gone && (all == nil || all[t.TrackerIssueID]) {
			continue
		}
		if _, failed := e.LookAtCard(ctx, t); !errors.Is(failed, tracker.ErrNotFound) {
			err = errors.Join(err, failed)
		}
	}
	return err
}
