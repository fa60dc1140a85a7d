package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/tracker"
)

// A look at a board lists what has changed since the one before, and a little more: a change may
// become visible after one with a later time. Once an hour all of it is listed, and when its columns have changed: cards are kept as they
// were read, by the names of then.
const (
	margin     = 5 * time.Minute
	sweepEvery = time.Hour
)

// Of the requests that the tracker allows a token in a minute so many are for looks at boards, of
// sixty. With columns, which are cached for ten minutes, and sweeps twenty boards cost ten requests
// a minute when nothing changes.
const (
	looksOf60    = 7
	assumedLimit = 60 // where the tracker has not said yet
	columnsFor   = 10 * time.Minute
)

// view is a board as it was seen last.
type view struct {
	standing map[string]tracker.Item // where a person requests something
	listed   map[string]listed       // that may not show what is owed
	newest   time.Time               // change
	known    map[string]standing     // items that have changed last
	sequence int64                   // of the newest item
	total    int                     // items; 0: the tracker does not count them
	swept    time.Time               // when all of it was listed
	columns  map[stage.Status]string // by their names of then
}

// standing is how an item was listed: a tracker's clock may tick slowly.
type standing struct {
	at     time.Time
	column string
}

func (s standing) shows(item tracker.Item) bool {
	return s.at.Equal(item.UpdatedAt) && s.column == item.StatusName
}

// share is how many boards a pass looks at: all, unless the tracker limits requests.
func share(limited bool, limit int, every time.Duration, boards int) int {
	if !limited {
		return boards
	}
	limit = cmp.Or(limit, assumedLimit)
	return min(boards, max(1, int(float64(limit*looksOf60)/60*every.Minutes())))
}

// IdleCost is how many requests a minute the reconciler makes to a tracker that allows limit of them,
// when nothing changes on boards of at most a thousand items.
func IdleCost(boards, limit int, every time.Duration) float64 {
	looks := float64(share(true, limit, every, boards)) / every.Minutes()
	return looks + float64(boards)*(1/columnsFor.Minutes()+1/sweepEvery.Minutes())
}

// turn returns the boards of this pass: some in turn, when there are many.
func (r *Reconciler) turn(all []task.Project) (out []task.Project) {
	limit, limited := 0, false
	if b, ok := r.opt.Tracker.(tracker.Budgeted); ok {
		for _, one := range b.Budgets() {
			if limited = true; one.Limit > 0 && (limit == 0 || one.Limit < limit) {
				limit = one.Limit
			}
		}
	}
	n := share(limited, limit, r.opt.Every, len(all))
	r.mu.Lock()
	defer r.mu.Unlock()
	for range n {
		r.at %= len(all)
		out = append(out, all[r.at])
		r.at++
	}
	if n == len(all) { // else the last one would always be that for which no requests are left
		r.at++
	}
	return out
}

// look lists a board, as far as it may have changed, and returns the items that stand where a person
// requests something. Of a board that was listed as a whole all is the set of its items.
func (r *Reconciler) look(
	ctx context.Context, p task.Project, columns map[stage.Status]string,
) (standing []tracker.Item, all map[string]bool, err error) {
	v := r.view(p.TrackerProject)
	if r.opt.Now().Sub(v.swept) >= sweepEvery || !maps.Equal(v.columns, columns) {
		v, all, err = r.sweep(ctx, p)
	} else if v, err = r.follow(ctx, p, v); err == nil && v.total < 0 {
		v, all, err = r.sweep(ctx, p)
	}
	if err != nil {
		return nil, nil, err
	}
	v.columns = columns
	r.setView(p.TrackerProject, v)
	for _, id := range slices.Sorted(maps.Keys(v.standing)) {
		standing = append(standing, v.standing[id])
	}
	slices.SortStableFunc(standing, func(a, b tracker.Item) int { return b.UpdatedAt.Compare(a.UpdatedAt) })
	return standing, all, nil
}

func (r *Reconciler) view(project string) view {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.views[project]
}

func (r *Reconciler) setView(project string, v view) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.views[project] = v
}

// sweep lists all of a board that stands in a column.
func (r *Reconciler) sweep(ctx context.Context, p task.Project) (view, map[string]bool, error) {
	v, all := view{standing: map[string]tracker.Item{}, listed: map[string]listed{}, swept: r.opt.Now()}, map[string]bool{}
	err := r.list(ctx, p, tracker.Query{ProjectID: p.TrackerProject, Placed: true}, func(page tracker.Page) (enough bool) {
		v.total = page.Total
		for _, item := range page.Items {
			if !all[item.ID] { // rows move between pages
				all[item.ID] = true
				v.add(item)
			}
		}
		return false
	})
	v.forget()
	return v, all, err
}

// follow lists what has changed, up to a page on which nothing has. The total is -1 when items are
// missing that were there.
func (r *Reconciler) follow(ctx context.Context, p task.Project, before view) (view, error) {
	v, born := before, 0
	v.standing, v.listed, v.known = maps.Clone(before.standing), maps.Clone(before.listed), maps.Clone(before.known)
	seen := map[string]bool{}
	changed := tracker.Query{ProjectID: p.TrackerProject, Since: before.newest.Add(-margin)}
	err := r.list(ctx, p, changed, func(page tracker.Page) (enough bool) {
		v.total, enough = page.Total, true
		for _, item := range page.Items {
			if seen[item.ID] || v.known[item.ID].shows(item) {
				continue
			}
			seen[item.ID], enough = true, false
			if item.Sequence > before.sequence {
				born++
			}
			v.add(item)
		}
		return enough
	})
	v.forget()
	if v.total < before.total+born && before.total > 0 {
		v.total = -1
	}
	return v, err
}

// add takes an item in as it is now.
func (v *view) add(item tracker.Item) {
	if _, trigger := stage.BoardTrigger(item.Status); trigger {
		v.standing[item.ID] = item
	} else {
		delete(v.standing, item.ID)
	}
	if v.known == nil {
		v.known = map[string]standing{}
	}
	v.known[item.ID], v.sequence = standing{item.UpdatedAt, item.StatusName}, max(v.sequence, item.Sequence)
	if item.UpdatedAt.After(v.newest) {
		v.newest = item.UpdatedAt
	}
	item.Description = "" // columns need none, and those of all cards are megabytes
	v.listed[item.ID] = listed{Item: item}
}

// forget drops what is not listed again.
func (v *view) forget() {
	maps.DeleteFunc(v.known, func(_ string, s standing) bool { return s.at.Before(v.newest.Add(-margin)) })
}

// list reads a listing to its end, or until it is enough: a part of one is no ground to act on.
func (r *Reconciler) list(ctx context.Context, p task.Project, q tracker.Query, add func(tracker.Page) (enough bool)) error {
	for range pagesMax {
		page, err := r.opt.Tracker.List(ctx, q)
		if err != nil {
			return err
		}
		for i, item := range page.Items {
			page.Items[i] = orchestrator.AsRead(p, item)
		}
		if q.Cursor = page.Next; add(page) || q.Cursor == "" {
			return nil
		}
	}
	return fmt.Errorf("the listing of %s does not end", p.Repo)
}

// lost lists a project's work items whose status was not acted on and is in no stored event.
// listed is the number of items that were compared; 0 with an error: none. One that could not be is in the error, and the others are found.
func (r *Reconciler) lost(
	ctx context.Context, e *orchestrator.Engine, p task.Project, versions map[string]int64,
) (out []tracker.Item, listed int, err error) {
	columns, err := r.opt.Board.Columns(ctx, p.TrackerProject)
	if err != nil {
		return nil, 0, err
	}
	standing, all, err := r.look(ctx, p, columns)
	if err != nil {
		return nil, 0, err
	}
	if err = r.absent(ctx, e, p, all); err != nil {
		defer r.setView(p.TrackerProject, view{}) // the next pass lists all of it again
	}
	err = errors.Join(err, r.restore(ctx, e, p, columns, versions))
	for _, item := range standing {
		missed, failed := r.missed(ctx, e, item, columns)
		if failed != nil && !errors.Is(failed, tracker.ErrNotFound) { // it may be gone since it was listed
			err = errors.Join(err, failed)
		}
		if missed {
			out = append(out, item)
		}
	}
	return out, len(standing), err
}
