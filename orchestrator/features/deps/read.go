package deps

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admit"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/tracker"
)

// burst is how many tasks have their relations read at the same time, or again in one pass:
// trackers limit requests, and what is known stays true most of the time.
const burst = 5

// related holds what a task's relations said when they were read.
type related struct {
	at      time.Time // when the newest reading began; zero = they are to be read
	reading int64     // its number; 0 = it has ended
	item    string    // the task's own card
	refs    []tracker.Ref
	names   map[tracker.Ref]string // of unfinished cards
	cards   []string               // those of them that have no task
}

// refresh reads the relations of a task whose agent is about to start: it goes by those that were read within the last
// minute, or by what is known when they cannot be read.
func (d *Deps) refresh(ctx context.Context, s admit.Start) (unused func(context.Context) error, err error) {
	r := d.ofTask(s.Task.ID)
	old := r.reading != 0 || d.opt.Now().Sub(r.at) >= d.opt.Every
	if old && d.opt.Relations != nil && !s.Task.State.Leased && s.Task.State.Lane != stage.UndoLane {
		d.update(ctx, s.Task, d.start(s.Task, true))
	}
	return func(context.Context) error { return nil }, nil
}

// start notes that a task's relations are read from now on, and returns the number of the reading: 0 = they are being read
// already, which may hang. A claim does not wait for that.
func (d *Deps) start(t task.Task, claimed bool) (number int64) {
	d.note(t.ID, func(r *related) {
		if claimed || r.reading == 0 {
			d.number++
			number = d.number
			r.item, r.at, r.reading = t.TrackerIssueID, d.opt.Now(), number
			d.reading.Add(1)
		}
	})
	return number
}

// tidy lists the tasks whose relations are to be read: those of which nothing is known and an agent is due, then those that
// wait by what may have changed. It removes what tasks that have ended waited for.
func (d *Deps) tidy(ctx context.Context) error {
	alive, waits := map[int64]bool{}, map[int64]bool{}
	table, failed := d.opt.Store.Dependencies(ctx, 0) // before the tasks: who does not live then has ended
	rows, err := admit.ListWaiting(ctx, d.opt.Store, d.rules()[0], "")
	for _, w := range rows {
		waits[w.TaskID] = true
	}
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	d.due = nil
	for t, err := range task.Each(ctx, d.opt.Store, task.Filter{Live: true}) {
		if err != nil {
			return err
		}
		alive[t.ID] = true
		r := d.ofTask(t.ID)
		if d.opt.Relations != nil && len(d.due) < 1000 && // the others a minute later
			t.State.Active != "" && (r.at.IsZero() || waits[t.ID] && d.isOld(r)) {
			d.due = append(d.due, t)
		}
	}
	d.locked(func() {
		maps.DeleteFunc(d.known, func(id int64, r related) bool { return !alive[id] && r.reading == 0 })
	})
	slices.SortStableFunc(d.due, func(a, b task.Task) int { return d.ofTask(a.ID).at.Compare(d.ofTask(b.ID).at) })
	over := slices.DeleteFunc(table, func(row task.Dependency) bool { return alive[row.TaskID] })
	for _, row := range over[:min(len(over), 100)] {
		err = errors.Join(err, d.opt.Store.Undepend(ctx, row))
	}
	return err
}

// isOld reports whether what was read may have changed since.
func (d *Deps) isOld(r related) bool { return d.opt.Now().Sub(r.at) >= d.opt.Read }

// readDue begins to read the relations that are due, as many as may be read at the same time.
func (d *Deps) readDue(e *orchestrator.Engine, reads *run.Group) {
	for ; len(d.due) > 0 && d.reading.Load() < burst; d.due = d.due[1:] {
		if d.isOld(d.ofTask(d.due[0].ID)) { // else it was read since it was listed
			d.begin(e, reads, d.due[0])
		}
	}
}

func (d *Deps) ofTask(id int64) (r related) {
	d.locked(func() { r = d.known[id] })
	return r
}

// note changes what is known of a task.
func (d *Deps) note(id int64, change func(*related)) {
	d.locked(func() {
		r := d.known[id]
		change(&r)
		d.known[id] = r
	})
}

// update reads a task's relations and keeps what they say. Nobody is judged by a part of it; what has failed is read again a
// little later, and at once where a newer reading has begun meanwhile: this one may have recorded after it.
func (d *Deps) update(ctx context.Context, t task.Task, number int64) {
	failed := true
	defer d.note(t.ID, func(r *related) {
		d.reading.Add(-1)
		if r.reading != number {
			r.at = time.Time{}
		} else if r.reading = 0; failed {
			r.at = d.opt.Now().Add(d.opt.Every - d.opt.Read)
		}
		if r.reading == 0 && r.at.IsZero() { // or the card has changed
			d.cards[r.item] = true
		}
		run.Hint(d.nudge)
	})
	r, err := d.read(ctx, t)
	if err == nil {
		err = d.record(ctx, t.ID, r)
	}
	if failed = err != nil && !errors.Is(err, context.Canceled); failed {
		d.opt.Log.Warn("relations could not be read", "task", t.ID, "repo", t.Repo, "err", err)
	}
}

// begin begins to read a task's relations. A tracker that does not answer puts it off: tidy lists it again.
func (d *Deps) begin(e *orchestrator.Engine, reads *run.Group, t task.Task) {
	p, _ := e.Projects.ByRepo(t.Repo)
	if d.opt.Now().Before(e.SickPools()[orchestrator.LaneBoard.PoolOf(p.On(t.TrackerProjectID))].Next) {
		return
	}
	if number := d.start(t, false); number != 0 {
		reads.Go("relations", func(ctx context.Context) {
			ctx, cancel := e.Scheduler.WithTimeout(ctx, time.Minute)
			defer cancel()
			d.update(ctx, t, number)
		})
	}
}

// read queries the tracker for what a task waits for.
func (d *Deps) read(ctx context.Context, t task.Task) (r related, err error) {
	r.refs, err = d.opt.Relations.BlockedBy(ctx, t.TrackerProjectID, t.TrackerIssueID)
	if errors.Is(err, tracker.ErrNoRelations) || errors.Is(err, tracker.ErrNotFound) {
		return r, nil
	}
	if err != nil || d.opt.Items == nil {
		return r, err
	}
	r.names = map[tracker.Ref]string{}
	for _, ref := range r.refs {
		item, err := d.opt.Items.Item(ctx, ref.ProjectID, ref.ItemID)
		if err != nil && fault.Retryable(err) {
			return r, err
		}
		if err == nil && !item.Finished && item.Status != stage.StatusStop { // whatever the tracker counts STOP as
			r.names[ref] = fmt.Sprintf("the card %q", item.Title)
		}
	}
	return r, nil
}

// record brings the table up to what the tracker says of a task: it waits for the newest tasks of the cards that its
// relations name, cancelled ones too, which are over. A card without one is waited for as a card. What was found is kept then.
func (d *Deps) record(ctx context.Context, id int64, r related) error {
	var on []int64
	var cards []string
	for _, ref := range r.refs {
		newest, err := d.opt.Store.Tasks(ctx, task.Filter{TrackerIssueID: ref.ItemID, Cancelled: true, BeforeID: math.MaxInt64, Limit: 1})
		if err != nil {
			return err
		}
		if len(newest) > 0 {
			on = append(on, newest[0].ID)
		} else if name, unfinished := r.names[ref]; unfinished {
			cards = append(cards, name)
		}
	}
	slices.Sort(on)
	known, err := d.opt.Store.Dependencies(ctx, id)
	if err != nil {
		return err
	}
	var had []int64
	for _, row := range known {
		if row.Source == SourceTracker {
			had = append(had, row.On)
		}
	}
	slices.Sort(had)
	if on = slices.Compact(on); !slices.Equal(on, had) {
		if err := d.opt.Store.SetDependencies(ctx, id, SourceTracker, on); err != nil {
			return err
		}
		d.look(append(on, had...)...)
	}
	d.note(id, func(known *related) {
		if !slices.Equal(known.cards, cards) {
			d.changed = append(d.changed, id)
		}
		known.refs, known.cards = r.refs, cards
	})
	return nil
}
