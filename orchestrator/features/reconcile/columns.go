package reconcile

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/tracker"
)

// listed is a card as it was listed last, and the version of its task beside which that was judged.
type listed struct {
	tracker.Item

	judged int64
}

// restore sets columns again that tasks which wait or have ended have set and the board does not show, and has words heard that such
// a write has replaced. A card is judged once as it was listed and for each version of its task.
func (r *Reconciler) restore(
	ctx context.Context, e *orchestrator.Engine, p task.Project, columns map[stage.Status]string, versions map[string]int64,
) (unread error) {
	cards := r.view(p.TrackerProject).listed
	for _, id := range slices.Sorted(maps.Keys(cards)) {
		card := cards[id]
		if card.judged != 0 && card.judged == versions[id] {
			continue
		}
		t, err := orchestrator.NewestTask(ctx, e.Store, id)
		if err != nil {
			return errors.Join(unread, err)
		}
		own, known := e.Projects.ByRepo(t.Repo)
		switch {
		case t.ID == 0, !known, t.State.Stage == stage.Cancelled:
			delete(cards, id)
			continue
		case r.opt.Now().Sub(t.UpdatedAt) < r.opt.Every:
			continue
		}
		settled := !t.State.Stage.Terminal() && t.State.Hold == stage.HoldNone // until it waits
		if !settled {
			settled, err = e.RestoreColumn(ctx, own.On(p.TrackerProject), card.Item, t, columns)
		}
		switch {
		case err != nil && !errors.Is(err, task.ErrConflict) && !errors.Is(err, tracker.ErrNotFound): // a card may be gone
			unread = errors.Join(unread, err)
		case settled && t.State.Stage.Terminal():
			delete(cards, id)
		case settled:
			card.judged = t.Version
			cards[id] = card
		}
	}
	return unread
}
