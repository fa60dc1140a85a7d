package deps

import (
	"context"
	"fmt"
	"slices"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// List are the dependencies of a task, from all sources. orchestrator.ErrNotFound when
// there is no such task.
func (d *Deps) List(ctx context.Context, taskID int64) ([]task.Dependency, error) {
	if _, err := d.opt.Store.Task(ctx, taskID); err != nil {
		return nil, err
	}
	return d.opt.Store.Dependencies(ctx, taskID)
}

// Add makes a task wait for another, in the local table. It has taken effect a moment
// after it returns. A dependency that can never end is refused
// (admin.RefusedError); orchestrator.ErrNotFound when one of the tasks does not exist.
func (d *Deps) Add(ctx context.Context, e *orchestrator.Engine, taskID, on int64, by stage.Principal) error {
	return d.change(ctx, e, taskID, on, by, true)
}

// Remove ends a dependency of the local table. Of one that another source has named it is
// refused: it would come back.
func (d *Deps) Remove(ctx context.Context, e *orchestrator.Engine, taskID, on int64, by stage.Principal) error {
	return d.change(ctx, e, taskID, on, by, false)
}

func (d *Deps) change(ctx context.Context, e *orchestrator.Engine, taskID, on int64, by stage.Principal, add bool) error {
	t, err := d.opt.Store.Task(ctx, taskID)
	if err != nil {
		return err
	}
	table, err := d.opt.Store.Dependencies(ctx, 0)
	if err != nil {
		return err
	}
	act := task.Act{Act: task.ActUndepend, By: by, On: on}
	if add {
		act.Act = task.ActDepend
		if err := d.refused(ctx, t, on, table); err != nil {
			return err
		}
	}
	row := task.Dependency{TaskID: taskID, On: on, Source: SourceDB}
	named := slices.IndexFunc(table, func(r task.Dependency) bool { return r.TaskID == taskID && r.On == on })
	if !add && named >= 0 && table[named].Source != SourceDB {
		why := fmt.Sprintf("Task %d waits for task %d because of a relation of its card: remove it at the tracker.", taskID, on)
		return &admin.RefusedError{Why: why}
	}
	if err := admin.Audit(ctx, e, t, act); err != nil {
		return err
	}
	write := d.opt.Store.Depend
	if !add {
		write = d.opt.Store.Undepend
	}
	if err := write(ctx, row); err != nil {
		return err
	}
	d.look(taskID, on)
	return nil
}

// refused returns why a task cannot wait for another.
func (d *Deps) refused(ctx context.Context, t task.Task, on int64, table []task.Dependency) error {
	other, err := d.opt.Store.Task(ctx, on)
	switch {
	case err != nil:
		return err
	case t.State.Stage.Terminal():
		return &admin.RefusedError{Why: fmt.Sprintf("Task %d is %s: it waits for nothing any more.", t.ID, t.State.Stage)}
	case other.State.Stage.Terminal():
		return &admin.RefusedError{Why: fmt.Sprintf("Task %d is %s: there is nothing to wait for.", on, other.State.Stage)}
	}
	w := world{Deps: d, table: table, tasks: map[int64]task.Task{}}
	path, err := findPath(on, t.ID, func(id int64) (ids []int64, err error) {
		waits, err := w.prerequisites(ctx, task.Task{ID: id})
		for _, other := range waits {
			ids = append(ids, other.ID)
		}
		return ids, err
	})
	if err != nil {
		return err
	}
	if path != nil || on == t.ID {
		return &admin.RefusedError{Why: fmt.Sprintf("Task %d cannot wait for task %d: "+
			"that one waits for it already, and neither would ever begin.", t.ID, on)}
	}
	return nil
}
