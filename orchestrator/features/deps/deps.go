// Package deps makes a task wait for the tasks that it depends on: those in the
// local table, and those that the tracker's relations name. Its jobs are held, so
// that waiting takes no slot and costs nothing.
//
// A new task is held until its relations have been read once. What cannot be read
// counts as ready. Tasks that wait for each other in a circle will never be ready:
// they are Blocked on the board, with one alert that names the circle.
package deps

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

// Names of the holds.
const (
	Name  = "task_deps"
	Cycle = "task_deps_cycle"
)

// Sources of dependencies.
const (
	SourceDB      = "db"
	SourceTracker = "tracker"
)

// Options of the feature. Store, Table, Queue and Inspector are required.
type Options struct {
	Store     task.Store
	Table     task.Dependencies
	Queue     queue.Admin
	Inspector queue.Inspector
	// Relations are the tracker's; nil = the local table only.
	Relations tracker.Relations
	// Items reads whether a card that has no task is finished; nil = such cards
	// are waited for by nobody.
	Items tracker.Tracker
	// Line is the name of the holds by which the analyst of a task waits for the task right
	// before it in its repository; empty = there are none. With them the waiting of tasks
	// for each other can be a circle, too.
	Line string
	// Changed is called when other tasks are held than before; nil = nobody listens.
	Changed func()
	Every   time.Duration // how often all holds are put right; default 1 min
	Read    time.Duration // how often a task's relations are read again; default 5 min
	Log     *slog.Logger  // nil discards
	Now     func() time.Time
}

// Deps is the feature.
type Deps struct {
	opt   Options
	nudge chan struct{} // a task has begun or ended

	mu    sync.Mutex
	moved []task.Task     // that have begun or ended since the loop last looked
	cards map[string]bool // of which a webhook has come since
	set   bool            // the local table was changed since

	ended []reading // that have ended since

	// Only the loop uses these.
	known   map[int64]related // what the relations said when they were read
	reading int               // how many are being read
	started time.Time         // when the loop began
	again   time.Time         // when what is known is next read again
}

// New checks the options.
func New(o Options) (*Deps, error) {
	if o.Store == nil || o.Table == nil || o.Queue == nil || o.Inspector == nil {
		return nil, errors.New("deps: Options.Store, Table, Queue and Inspector are required")
	}
	if o.Every <= 0 {
		o.Every = time.Minute
	}
	if o.Read <= 0 {
		o.Read = 5 * time.Minute
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Changed == nil {
		o.Changed = func() {}
	}
	if o.Now == nil {
		o.Now = run.Real{}.Now
	}
	return &Deps{opt: o, nudge: make(chan struct{}, 1), known: map[int64]related{}, cards: map[string]bool{}}, nil
}

// Feature is the dependencies for the engine.
func (d *Deps) Feature() orchestrator.Feature {
	return orchestrator.Feature{
		Name: Name, Doc: "A task waits for the tasks that it depends on.",
		Holds: d.holds, Committed: d.committed, Heard: d.onHook,
		Loops: []orchestrator.Loop{{Name: "loop", Run: d.loop}},
		Show:  d.show,
	}
}

// lookup explains why a new task is held.
const lookup = "what it depends on is being looked up"

// subject names the holds of a task's jobs.
func subject(id int64) string { return "task/" + strconv.FormatInt(id, 10) }

// holds keeps a new task until its relations have been read, and lets go of one
// that has ended; the loop does the rest at once.
func (d *Deps) holds(_ context.Context, c orchestrator.Change, with *task.Commit) error {
	own := queue.Hold{Subject: subject(c.Task.ID), Name: Name, Reason: lookup}
	switch {
	case c.Began() && d.opt.Relations != nil:
		with.Hold = append(with.Hold, own)
	case c.Ended():
		with.Free = append(with.Free, own, queue.Hold{Subject: own.Subject, Name: Cycle})
	}
	return nil
}

// committed wakes the loop: which tasks wait may have changed.
func (d *Deps) committed(c orchestrator.Change) {
	if c.Began() || c.Ended() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.moved = append(d.moved, c.Task)
		run.Hint(d.nudge)
	}
}

// onHook wakes the loop after a webhook of a card.
func (d *Deps) onHook(h tracker.Hook) {
	if d.opt.Relations == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cards[h.ItemID] = d.cards[h.ItemID] || !h.Status
	run.Hint(d.nudge)
}

// takeHeard returns the tasks whose relations the webhooks of cards may have changed: those that
// wait for such a card, and those whose own card has changed in more than its status.
func (d *Deps) takeHeard() (ids []int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, r := range d.known {
		waits := slices.ContainsFunc(r.refs, func(ref tracker.Ref) bool { _, said := d.cards[ref.ItemID]; return said })
		if waits || d.cards[r.item] {
			ids = append(ids, id)
		}
	}
	clear(d.cards)
	return ids
}

func (d *Deps) loop(ctx context.Context, e *orchestrator.Engine) {
	reads := run.NewOn(e.Scheduler, ctx, d.opt.Log)
	defer reads.Stop()
	d.started = d.opt.Now()
	for whole := e.Now(); ; {
		all, err := d.touch(ctx, e, reads)
		if all || !e.Now().Before(whole) {
			next, failed := d.pass(ctx, e, reads)
			whole, err = e.Now().Add(d.opt.Every), errors.Join(err, failed)
			if !next.IsZero() && next.Before(whole) {
				whole = next
			}
		}
		if err != nil && ctx.Err() == nil {
			d.opt.Log.Error("dependencies could not be looked after", "err", err)
		}
		if e.Wait(ctx, whole.Sub(e.Now()), d.nudge) != nil {
			return
		}
	}
}

func (d *Deps) takeSet() (set bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	set, d.set = d.set, false
	return set
}

func (d *Deps) takeMoved() []task.Task {
	d.mu.Lock()
	defer d.mu.Unlock()
	moved := d.moved
	d.moved = nil
	return moved
}

// touch looks after tasks that have begun or ended or whose relations were read, and reports
// whether others wait for them or they for others: then all are looked at.
func (d *Deps) touch(ctx context.Context, e *orchestrator.Engine, reads *run.Group) (all bool, err error) {
	moved := d.takeMoved()
	first, all, err := d.takeRead()
	for _, id := range d.takeHeard() {
		r := d.known[id]
		r.at, all = time.Time{}, true
		d.known[id] = r
	}
	if all = d.takeSet() || all; all || len(moved)+len(first) == 0 {
		return all, err
	}
	table, failed := d.opt.Table.Dependencies(ctx)
	if failed != nil {
		return true, errors.Join(err, failed)
	}
	var free []queue.Hold
	for i, t := range append(first, moved...) {
		item, _ := task.ParseTombstone(t.TrackerIssueID)
		switch {
		case slices.ContainsFunc(table, func(r task.Dependency) bool { return r.On == t.ID || r.TaskID == t.ID }), d.waitedFor(item):
			return true, err
		case i < len(first):
			free = append(free, queue.Hold{Subject: subject(t.ID), Name: Name})
		case t.State.Stage.Terminal():
			delete(d.known, t.ID)
		case d.opt.Relations != nil:
			d.begin(e, reads, t, d.opt.Now().Add(wait))
			all = all || !d.known[t.ID].reading
		}
	}
	return all, errors.Join(err, d.opt.Queue.Free(ctx, free...))
}

// waitedFor reports whether the relations of a task name a card.
func (d *Deps) waitedFor(item string) bool {
	for _, r := range d.known {
		if slices.ContainsFunc(r.refs, func(ref tracker.Ref) bool { return ref.ItemID == item }) {
			return true
		}
	}
	return false
}

// view is the block in /queue.
type view struct {
	Enabled bool              `json:"enabled"`
	Table   []task.Dependency `json:"dependencies"`
	Waiting []waiting         `json:"waiting"`
}

type waiting struct {
	TaskID int64     `json:"task_id"`
	Cycle  bool      `json:"cycle"`
	Reason string    `json:"reason"`
	Since  time.Time `json:"since"`
}

func (d *Deps) show(ctx context.Context) (any, error) {
	v := view{Enabled: true, Table: []task.Dependency{}, Waiting: []waiting{}}
	table, err1 := d.opt.Table.Dependencies(ctx)
	held, err2 := d.opt.Inspector.Holds(ctx)
	v.Table = append(v.Table, table...)
	for _, h := range held {
		id, err := strconv.ParseInt(strings.TrimPrefix(h.Subject, "task/"), 10, 64)
		if err == nil && (h.Name == Name || h.Name == Cycle) {
			v.Waiting = append(v.Waiting, waiting{TaskID: id, Cycle: h.Name == Cycle, Reason: h.Reason, Since: h.Since})
		}
	}
	return v, errors.Join(err1, err2)
}
