package deps

import (
	"cmp"
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

// wait is how long a task waits for its relations at most, and how long one reading may take.
const wait = time.Minute

// related holds what a task's relations said when they were read.
type related struct {
	at      time.Time // when the newest reading began; zero = they are to be read now
	reading bool      // it has not ended
	stale   bool      // it is to be read as soon as that is possible
	read    bool      // one has succeeded
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

// tracked returns the cards without a task that a task waits for, or what it waits for as long as its relations can
// still be read in time. A task that waited when a former process ended is given this one's time to read.
func (d *Deps) tracked(ctx context.Context, t task.Task) (cards []string, unread string, until time.Time, err error) {
	r := d.ofTask(t.ID)
	if now := d.opt.Now(); r.read || !r.reading && !r.at.IsZero() {
		return r.cards, "", until, nil // else nothing could be read
	} else if until = t.CreatedAt.Add(wait); now.Before(until) {
		return nil, lookup, until, nil
	} else if until = d.started.Add(wait); !now.Before(until) {
		return nil, "", until, nil
	}
	rows, err := admit.Rows(ctx, d.opt.Store, t.Repo, t.ID)
	for _, row := range rows {
		if row.Name == Name && row.Reason != lookup {
			unread = row.Reason
		}
	}
	return nil, unread, until, err
}

// tidy lists the tasks whose relations are to be read, those that wait for that and those of which they may have changed,
// and removes what tasks that have ended waited for.
func (d *Deps) tidy(ctx context.Context) error {
	var now, later []int64
	alive, waits := map[int64]bool{}, map[int64]bool{}
	table, failed := d.opt.Store.Dependencies(ctx, 0) // before the tasks: who does not live then has ended
	rows, err := admit.ListWaiting(ctx, d.opt.Store, d.rules()[0], "")
	for _, w := range rows {
		waits[w.TaskID] = true
	}
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	for t, err := range task.Each(ctx, d.opt.Store, task.Filter{Live: true}) {
		if err != nil {
			return err
		}
		alive[t.ID] = true
		switch r := d.ofTask(t.ID); {
		case d.opt.Relations == nil:
		case r.stale, r.at.IsZero() && waits[t.ID]:
			now = append(now, t.ID)
		case d.isOld(r):
			later = append(later, t.ID)
		}
	}
	d.locked(func() { maps.DeleteFunc(d.known, func(id int64, r related) bool { return !alive[id] && !r.reading }) })
	slices.SortStableFunc(later, func(a, b int64) int {
		return cmp.Compare(d.ofTask(a).at.UnixNano(), d.ofTask(b).at.UnixNano())
	})
	d.due = append(now, later...)
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
		if r := d.ofTask(d.due[0]); r.reading || !r.stale && !d.isOld(r) {
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

func (d *Deps) keep(id int64, r related) { d.locked(func() { d.known[id] = r }) }

// begin begins to read a task's relations. Too many that are being read, and a tracker that does not answer, put it off.
// What was read once is no longer waited for, and has a time of its own.
func (d *Deps) begin(e *orchestrator.Engine, reads *run.Group, t task.Task) {
	p, _ := e.Projects.ByRepo(t.Repo)
	lane := e.SickPools()[orchestrator.LaneBoard.PoolOf(p.On(t.TrackerProjectID))]
	r, now := d.ofTask(t.ID), d.opt.Now()
	within := t.CreatedAt.Add(wait).Sub(now)
	if r.read || within <= 0 {
		within = wait
	}
	busy := d.reading >= burst
	if busy && !r.stale {
		d.due = slices.Insert(d.due, 0, t.ID)
	}
	if r.item, r.stale = t.TrackerIssueID, busy || now.Before(lane.Next) || r.reading; !r.stale { // where no job comes by, this looks
		r.at, r.reading = now, true
	}
	if d.keep(t.ID, r); r.stale {
		return
	}
	d.reading++
	reads.Go("relations", func(ctx context.Context) {
		a := reading{task: t, err: run.ErrUnfinished}
		defer func() {
			d.locked(func() { d.ended = append(d.ended, a) })
			run.Hint(d.nudge)
		}()
		ctx, cancel := e.Scheduler.WithTimeout(ctx, within)
		defer cancel()
		a.related, a.err = d.read(ctx, t)
	})
}

// read queries the tracker for what a task waits for.
func (d *Deps) read(ctx context.Context, t task.Task) (related, error) {
	r := related{read: true, item: t.TrackerIssueID, names: map[tracker.Ref]string{}}
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
		r := d.ofTask(a.task.ID)
		if r.reading = false; r.stale { // the card has changed meanwhile
			d.due = slices.Insert(d.due, 0, a.task.ID)
		}
		if a.err == nil { // nobody is judged by a part of it
			found := r
			found.read, found.refs, found.names = true, a.refs, a.names
			a.err = d.record(ctx, a.task.ID, found)
		}
		if a.err != nil {
			r.at, err = d.opt.Now().Add(d.opt.Every-d.opt.Read), errors.Join(err, a.err)
			d.keep(a.task.ID, r)
		}
		if a.err != nil || !r.read || !slices.Equal(r.cards, d.ofTask(a.task.ID).cards) { // record has the rest judged
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
	r.cards = cards
	d.keep(id, r)
	return nil
}
