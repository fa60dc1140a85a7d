package deps

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/admit"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// findPath finds a shortest way from one task to another over the tasks that each waits for, both included;
// nil = there is none. From a task to itself it is a cycle that the task is in, with the task at both ends.
func findPath(from, to int64, waitsFor func(int64) ([]int64, error)) ([]int64, error) {
	before := map[int64]int64{}
	for next := []int64{from}; len(next) > 0; next = next[1:] {
		ids, err := waitsFor(next[0])
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			if _, seen := before[id]; seen {
				continue
			}
			before[id] = next[0]
			if id == to {
				path := []int64{to, next[0]}
				for path[len(path)-1] != from {
					path = append(path, before[path[len(path)-1]])
				}
				slices.Reverse(path)
				return path, nil
			}
			next = append(next, id)
		}
	}
	return nil, nil
}

// world reads which tasks wait for which, each once in a pass.
type world struct {
	*Deps
	table []task.Dependency
	tasks map[int64]task.Task // zero: finished, or there is none
	line  map[int64]int64     // who waits for the one right before it in its repository
}

func (d *Deps) world(ctx context.Context, p *admit.Pass) (*world, error) {
	return admit.Once(p, d, func() (*world, error) {
		table, err := d.opt.Store.Dependencies(ctx, 0)
		return &world{Deps: d, table: table, tasks: map[int64]task.Task{}, line: map[int64]int64{}}, err
	})
}

// unfinished reads a task that has not ended.
func (w *world) unfinished(ctx context.Context, id int64) (t task.Task, ok bool, err error) {
	t, known := w.tasks[id]
	if !known {
		if t, err = w.opt.Store.Task(ctx, id); err != nil && !errors.Is(err, task.ErrNotFound) {
			return t, false, err
		}
		if err != nil || t.State.Stage.Terminal() {
			t = task.Task{}
		}
		w.tasks[id] = t
	}
	return t, t.ID != 0, nil
}

// prerequisites are the unfinished tasks that a task depends on. One that has the merge lease waits for none:
// what it depends on may stand behind it in the line for that lease.
func (w *world) prerequisites(ctx context.Context, t task.Task) (on []task.Task, err error) {
	for _, row := range w.table {
		if row.TaskID != t.ID || t.State.Leased {
			continue
		}
		other, unfinished, failed := w.unfinished(ctx, row.On)
		if err = errors.Join(err, failed); unfinished {
			on = append(on, other)
		}
	}
	return on, err
}

// waitsFor are all tasks that a task waits for: those that it depends on, and the one right before it where
// tasks of its repository begin one at a time.
func (w *world) waitsFor(ctx context.Context, id int64) (ids []int64, err error) {
	t, unfinished, err := w.unfinished(ctx, id)
	if err != nil || !unfinished {
		return nil, err
	}
	on, err := w.prerequisites(ctx, t)
	for _, other := range on {
		ids = append(ids, other.ID)
	}
	if w.opt.Line == "" || err != nil {
		return ids, err
	}
	rows, err := admit.Rows(ctx, w.opt.Store, t.Repo, id)
	if err != nil || t.State.Active == "" || !slices.ContainsFunc(rows, func(h queue.Hold) bool { return h.Name == w.opt.Line }) {
		return ids, err
	}
	ahead, err := w.opt.Store.Tasks(ctx, task.Filter{Repo: t.Repo, Live: true, BeforeID: id, Limit: 1})
	for _, other := range ahead {
		w.line[id], ids = other.ID, append(ids, other.ID)
	}
	return ids, err
}

// cycle finds a circle of waiting that a task is in and that no end of a task opens, the smallest first.
func (w *world) cycle(ctx context.Context, id int64) ([]int64, error) {
	if !slices.ContainsFunc(w.table, func(row task.Dependency) bool { return row.TaskID == id || row.On == id }) {
		return nil, nil
	}
	path, err := findPath(id, id, func(id int64) ([]int64, error) { return w.waitsFor(ctx, id) })
	if err != nil || path == nil {
		return nil, err
	}
	ids := path[1:]
	i := slices.Index(ids, slices.Min(ids))
	return slices.Concat(ids[i:], ids[:i]), nil
}

// describe names a cycle: "GPX-1 → GPX-3 → GPX-1", and what in it is no dependency.
func (w *world) describe(cycle []int64) string {
	text := w.tasks[cycle[0]].WorkItemID
	var line []string
	for i, id := range cycle {
		on := cycle[(i+1)%len(cycle)]
		text += " → " + w.tasks[on].WorkItemID
		if w.line[id] == on && !slices.ContainsFunc(w.table, func(r task.Dependency) bool { return r.TaskID == id && r.On == on }) {
			line = append(line, w.tasks[id].WorkItemID+" begins after "+w.tasks[on].WorkItemID)
		}
	}
	if len(line) > 0 {
		text += fmt.Sprintf(" (tasks of a repository begin one at a time: %s)", strings.Join(line, ", "))
	}
	return text
}
