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
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/tracker"
)

// burst is how many tasks have their relations read at the same time, or again in one pass:
// trackers limit requests, and what is known stays true most of the time.
const burst = 5

// wait is how long one reading may take.
const wait = time.Minute

// related holds what a task's relations said when they were read.
type related struct {
	at      time.Time // when the newest reading began; zero = they are to be read
	reading bool      // it has not ended
	item    string    // the task's own card
	refs    []tracker.Ref
	names   map[tracker.Ref]string // of unfinished cards
	cards   []string               // those of them that have no task
}

// reading is one that has ended.
type reading struct {
	task task.Task
	related
	err error
}

// refresh reads the relations of a task whose agent is about to start: it goes by those that were read within the last
// minute, or by what is known when they cannot be read.
func (d *Deps) refresh(ctx context.Context, s admit.Start) (unused func(context.Context) error, err error) {
	unused = func(context.Context) error { return nil }
	r := d.ofTask(s.Task.ID)
	fresh := !r.reading && d.opt.Now().Sub(r.at) < d.opt.Every
	if fresh || d.opt.Relations == nil || s.Task.State.Leased || s.Task.State.Lane == orchestrator.UndoLane {
		return unused, nil
	}
	a := reading{task: s.Task}
	d.note(s.Task.ID, func(r *related) { r.at, r.item = d.opt.Now(), s.Task.TrackerIssueID })
	if a.related, a.err = d.read(ctx, s.Task); a.err == nil {
		a.err = d.record(ctx, s.Task.ID, a.related)
	}
	if a.err != nil {
		d.fail(a)
		d.opt.Log.Warn("an agent starts by what is known of its dependencies", "task", s.Task.ID, "repo", s.Task.Repo, "err", a.err)
	}
	return unused, nil
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
		if d.opt.Relations != nil && t.State.Active != "" && (r.at.IsZero() || waits[t.ID] && d.isOld(r)) {
			d.due = append(d.due, t.ID)
		}
	}
	d.locked(func() { maps.DeleteFunc(d.known, func(id int64, r related) bool { return !alive[id] && !r.reading }) })
	slices.SortStableFunc(d.due, func(a, b int64) int { return d.ofTask(a).at.Compare(d.ofTask(b).at) })
	over := slices.DeleteFunc(table, func(row task.Dependency) bool { return alive[row.TaskID] })
	for _, row := range over[:min(len(over), 100)] {
		err = errors.Join(err, d.opt.Store.Undepend(ctx, row))
	}
	return err
}

// isOld reports whether what was read may have changed since.
func (d *Deps) isOld(r related) bool { return d.opt.Now().Sub(r.at) >= d.opt.Read }

// readDue begins to read the relations that are due, as many as may be read at the same time.
func (d *Deps) readDue(ctx context.Context, e *orchestrator.Engine, reads *run.Group) error {
	for ; len(d.due) > 0 && d.reading < burst; d.due = d.due[1:] {
		if r := d.ofTask(d.due[0]); r.reading || !d.isOld(r) {
			continue // since it was listed
		}
		t, err := d.opt.Store.Task(ctx, d.due[0])
		if err != nil && !errors.Is(err, task.ErrNotFound) {
			return err
		}
		if err == nil && !t.State.Stage.Terminal() {
			d.begin(e, reads, t)
		}
	}
	return nil
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

// fail has a task read again a little later.
func (d *Deps) fail(a reading) {
	d.note(a.task.ID, func(r *related) { r.at = d.opt.Now().Add(d.opt.Every - d.opt.Read) })
}

// begin begins to read a task's relations. Too many that are being read, and a tracker that does not answer, put it off.
func (d *Deps) begin(e *orchestrator.Engine, reads *run.Group, t task.Task) {
	p, _ := e.Projects.ByRepo(t.Repo)
	lane := e.SickPools()[orchestrator.LaneBoard.PoolOf(p.On(t.TrackerProjectID))]
	now, begins := d.opt.Now(), false
	d.note(t.ID, func(r *related) {
		begins = d.reading < burst && !r.reading && !now.Before(lane.Next)
		r.item, r.at, r.reading = t.TrackerIssueID, time.Time{}, r.reading || begins
		if begins {
			r.at = now
		}
	})
	if d.reading >= burst {
		d.due = append(d.due, t.ID)
	}
	if !begins {
		return // else tidy lists it
	}
	d.reading++
	reads.Go("relations", func(ctx context.Context) {
		a := reading{task: t, err: run.ErrUnfinished}
		defer func() {
			d.locked(func() { d.ended = append(d.ended, a) })
			run.Hint(d.nudge)
		}()
		ctx, cancel := e.Scheduler.WithTimeout(ctx, wait)
		defer cancel()
		a.related, a.err = d.read(ctx, t)
	})
}

// read queries the tracker for what a task waits for.
func (d *Deps) read(ctx context.Context, t task.Task) (related, error) {
	r := related{names: map[tracker.Ref]string{}}
	refs, err := d.opt.Relations.BlockedBy(ctx, t.TrackerProjectID, t.TrackerIssueID)
	if errors.Is(err, tracker.ErrNoRelations) || errors.Is(err, tracker.ErrNotFound) {
		return r, nil
	}
	if err != nil {
		return r, fmt.Errorf("relations of task %d: %w", t.ID, err)
	}
	r.refs = refs
	for _, ref := range refs {
		if d.opt.Items == nil {
			break
		}
		item, err := d.opt.Items.Item(ctx, ref.ProjectID, ref.ItemID)
		if err == nil && !item.Finished && item.Status != stage.StatusStop { // whatever the tracker counts STOP as
			r.names[ref] = fmt.Sprintf("the card %q", item.Title)
		}
	}
	return r, nil
}

// takeRead keeps what the readings that have ended have found, and returns the tasks that are judged by it.
func (d *Deps) takeRead(ctx context.Context) (ids []int64, err error) {
	var ended []reading
	d.locked(func() { ended, d.ended = d.ended, nil })
	for _, a := range ended {
		d.reading--
		before := d.ofTask(a.task.ID)
		d.note(a.task.ID, func(r *related) { r.reading = false })
		if before.at.IsZero() { // the card has changed meanwhile
			d.due = slices.Insert(d.due, 0, a.task.ID)
		}
		if a.err == nil { // nobody is judged by a part of it
			a.err = d.record(ctx, a.task.ID, a.related)
		}
		if a.err != nil {
			d.fail(a)
			err = errors.Join(err, a.err)
		} else if !slices.Equal(before.cards, d.ofTask(a.task.ID).cards) { // record has the rest judged
			ids = append(ids, a.task.ID)
		}
	}
	return ids, err
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
	on = slices.Compact(on)
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
	if !slices.Equal(on, had) {
		if err := d.opt.Store.SetDependencies(ctx, id, SourceTracker, on); err != nil {
			return err
		}
		d.look(append(on, had...)...)
	}
	d.note(id, func(known *related) { known.refs, known.names, known.cards = r.refs, r.names, cards })
	return nil
}
