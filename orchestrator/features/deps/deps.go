// Package deps makes a task wait for the tasks that it depends on: those in the
// local table, and those that the tracker's relations name.
//
// An agent starts by relations that were read within the last minute: trackers send no
// webhook of them. What cannot be read counts as ready. Tasks that wait for each other in a circle
// will never be ready: they are Blocked on the board, with one alert that names the circle.
package deps

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox-dev/signalbox/internal/defaults"
	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admit"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/tracker"
)

// Names of the rules.
const (
	Name  = "task_deps"
	Cycle = "task_deps_cycle"
)

// Sources of dependencies.
const (
	SourceDB      = "db"
	SourceTracker = "tracker"
)

// Options of the feature.
type Options struct {
	orchestrator.Parts

	// Relations are the tracker's; nil = the local table only.
	Relations tracker.Relations
	// Items reads whether a card that has no task is finished; nil = such cards
	// are waited for by nobody.
	Items tracker.Tracker
	// Line is the name of the rule by which a task waits for the task right before it in its
	// repository; empty = there is none. With them the waiting of tasks
	// for each other can be a circle, too.
	Line  string
	Every time.Duration `envDefault:"1m"` // how often is looked which are to be read, and how long a start goes by what was read
	Read  time.Duration `envDefault:"5m"` // how often the relations of a task that waits by them are read again
}

// Deps is the feature.
type Deps struct {
	opt   Options
	nudge chan struct{} // a task has begun or ended

	mu      sync.Mutex
	moved   []task.Task       // that have begun or ended since the loop last looked
	cards   map[string]bool   // of which a webhook has come since
	changed []int64           // tasks that are judged otherwise since; 0 is all that wait
	known   map[int64]related // what the relations said when they were read
	number  int64             // of the newest reading

	reading atomic.Int32 // how many are being read
	due     []task.Task  // those that are to be read; only the loop uses it
}

// New checks the options.
func New(o Options) (*Deps, error) {
	if err := o.Complete("deps"); err != nil {
		return nil, err
	}
	defaults.Fill(&o)
	return &Deps{opt: o, nudge: make(chan struct{}, 1), known: map[int64]related{}, cards: map[string]bool{}}, nil
}

// Feature is the dependencies for the engine.
func (d *Deps) Feature() orchestrator.Feature {
	return orchestrator.Feature{
		Name:      Name,
		Admission: d.rules(), On: d.on,
		Loops: []orchestrator.Loop{{Name: "loop", Run: d.loop}},
		Show:  d.show,
	}
}

// on wakes the loop when which tasks wait may have changed.
func (d *Deps) on(_ context.Context, m any) error {
	switch m := m.(type) {
	case tracker.Hook:
		d.hear(m.ItemID, !m.Status)
	case orchestrator.Change:
		if m.With == nil && (m.Began() || m.Ended()) {
			item, _ := task.ParseTombstone(m.Task.TrackerIssueID)
			d.hear(item, false, m.Task)
		}
	}
	return nil
}

// hear notes a card of which something was heard: it may be edited, or its task has begun or ended.
func (d *Deps) hear(item string, edited bool, moved ...task.Task) {
	d.locked(func() {
		d.cards[item] = d.cards[item] || edited
		d.moved = append(d.moved, moved...)
	})
	run.Hint(d.nudge)
}

// locked runs a short function under the lock.
func (d *Deps) locked(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f()
}

// look has tasks judged anew, and what waits.
func (d *Deps) look(ids ...int64) {
	d.locked(func() { d.changed = append(append(d.changed, 0), ids...) })
	run.Hint(d.nudge)
}

func (d *Deps) loop(ctx context.Context, e *orchestrator.Engine) {
	reads := run.NewOn(e.Scheduler, ctx, d.opt.Log)
	defer reads.Stop()
	for whole := e.Now(); ; {
		d.pass(ctx, e)
		if now := e.Now(); !now.Before(whole) {
			whole = now.Add(d.opt.Every)
			if err := d.tidy(ctx); err != nil && ctx.Err() == nil {
				d.opt.Log.Error("dependencies could not be looked after", "err", err)
			}
		}
		d.readDue(e, reads)
		if e.Wait(ctx, whole.Sub(e.Now()), d.nudge) != nil {
			return
		}
	}
}

// pass looks after what has happened: it has the relations of cards read that have changed, and has those judged anew
// that wait for them or for a task that has begun or ended.
func (d *Deps) pass(ctx context.Context, e *orchestrator.Engine) {
	var moved []task.Task
	var cards map[string]bool
	var concerned, changed []int64
	d.locked(func() {
		moved, cards, changed = d.moved, d.cards, d.changed
		d.moved, d.cards, d.changed = nil, map[string]bool{}, nil
		if len(cards) == 0 {
			return
		}
		for id, r := range d.known {
			has := func(ref tracker.Ref) bool { _, said := cards[ref.ItemID]; return said }
			if cards[r.item] || slices.ContainsFunc(r.refs, has) {
				r.at = time.Time{}
				d.known[id], concerned = r, append(concerned, id)
			}
		}
	})
	waited := len(moved) > 0 && d.waitedFor(ctx, moved)
	slices.Sort(concerned)
	for _, id := range concerned {
		if t, err := d.opt.Store.Task(ctx, id); err == nil {
			d.due = append(d.due, t)
		}
	}
	if waited || slices.Contains(changed, 0) {
		e.Admission.Mark("")
	}
	if len(changed) > 0 {
		e.Admission.Mark("", changed...) // 0 is none
	}
}

// waitedFor reports whether others depend on one of some tasks, or one on others.
func (d *Deps) waitedFor(ctx context.Context, tasks []task.Task) bool {
	table, err := d.opt.Store.Dependencies(ctx, 0)
	return err != nil || slices.ContainsFunc(table, func(row task.Dependency) bool {
		return slices.ContainsFunc(tasks, func(t task.Task) bool { return t.ID == row.TaskID || t.ID == row.On })
	})
}

// view is the block in /queue.
type view struct {
	Enabled bool              `json:"enabled"`
	Table   []task.Dependency `json:"dependencies"`
	Waiting []waiting         `json:"waiting"`
}

type waiting struct {
	admit.Waiting
	Cycle bool `json:"cycle"`
}

func (d *Deps) show(ctx context.Context) (any, error) {
	v := view{Enabled: true, Table: []task.Dependency{}, Waiting: []waiting{}}
	table, err := d.opt.Store.Dependencies(ctx, 0)
	v.Table = append(v.Table, table...)
	for _, r := range d.rules() {
		list, failed := admit.ListWaiting(ctx, d.opt.Store, r, "")
		for _, w := range list {
			v.Waiting = append(v.Waiting, waiting{w, r.Name == Cycle})
		}
		err = errors.Join(err, failed)
	}
	return v, err
}
