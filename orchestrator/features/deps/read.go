package deps

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

// burst is how many tasks have their relations read at the same time, or again in one pass:
// trackers limit requests, and what is known stays true most of the time.
const burst = 20

// wait is how long a task waits for its relations at most, and how long one reading may take.
const wait = time.Minute

// related holds what a task's relations said when they were read.
type related struct {
	at      time.Time // when the newest reading began; zero = they are to be read now
	reading bool      // it has not ended
	read    bool      // one has succeeded
	item    string    // the task's own card
	refs    []tracker.Ref
	cards   map[tracker.Ref]string // names of unfinished cards among those without a task
}

// reading is one that has ended.
type reading struct {
	task task.Task
	related
	err error
}

// readDue begins to read the relations that are due, and returns the holds that stay because
// theirs may still be read in time, with the moment at which the first of them ends.
func (d *Deps) readDue(
	e *orchestrator.Engine, reads *run.Group, live []task.Task, held []queue.Hold,
) (unread []queue.Hold, next time.Time) {
	holds := map[string]queue.Hold{}
	for _, h := range held {
		if h.Name == Name {
			holds[h.Subject] = h
		}
	}
	alive := map[int64]bool{}
	var now, later []task.Task
	for _, t := range live {
		alive[t.ID] = true
		switch r, waits := d.known[t.ID], holds[subject(t.ID)].Name != ""; {
		case r.reading:
		case r.at.IsZero() && (r.read || waits && d.opt.Now().Before(d.until(holds[subject(t.ID)]))):
			now = append(now, t)
		case d.opt.Now().Sub(r.at) >= d.opt.Read:
			later = append(later, t)
		}
	}
	maps.DeleteFunc(d.known, func(id int64, _ related) bool { return !alive[id] })
	slices.SortStableFunc(later, func(a, b task.Task) int {
		return cmp.Compare(d.known[a.ID].at.UnixNano(), d.known[b.ID].at.UnixNano())
	})
	if d.opt.Now().Before(d.again) {
		later = nil
	} else {
		d.again = d.opt.Now().Add(d.opt.Every)
	}
	for _, t := range append(now, later...) {
		d.begin(e, reads, t, d.until(holds[subject(t.ID)]))
	}
	for _, t := range live {
		h, r := holds[subject(t.ID)], d.known[t.ID]
		until := d.until(h)
		if h.Name == "" || r.read || !r.reading && !r.at.IsZero() || !d.opt.Now().Before(until) {
			continue
		}
		if unread = append(unread, h); next.IsZero() || until.Before(next) {
			next = until
		}
	}
	return unread, next
}

// until is when a hold ends for which no relations could be read. One that a former process has
// set, of what it had read, is given this one's time to read.
func (d *Deps) until(h queue.Hold) time.Time {
	if h.Reason != lookup && h.Since.Before(d.started) {
		return d.started.Add(wait)
	}
	return h.Since.Add(wait)
}

// begin begins to read a task's relations, unless too many are being read or the tracker does
// not answer. What was read once is no longer waited for, and has a time of its own.
func (d *Deps) begin(e *orchestrator.Engine, reads *run.Group, t task.Task, until time.Time) {
	p, _ := e.Projects.ByRepo(t.Repo)
	_, sick := e.SickPools()[orchestrator.LaneBoard.PoolOf(p.On(t.TrackerProjectID))]
	if d.reading >= burst || sick {
		return
	}
	r, within := d.known[t.ID], until.Sub(d.opt.Now())
	if r.read || within <= 0 {
		within = wait
	}
	d.reading++
	r.at, r.reading = d.opt.Now(), true
	d.known[t.ID] = r
	reads.Go("relations", func(ctx context.Context) {
		a := reading{task: t, err: run.ErrUnfinished}
		defer func() {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.ended = append(d.ended, a)
			run.Hint(d.nudge)
		}()
		ctx, cancel := e.Scheduler.WithTimeout(ctx, within)
		defer cancel()
		a.related, a.err = d.read(ctx, t)
	})
}

// takeRead keeps what the readings that have ended have found. It returns the tasks that are
// known for the first time, and whether all holds are to be looked at.
func (d *Deps) takeRead() (first []task.Task, all bool, err error) {
	d.mu.Lock()
	ended := d.ended
	d.ended = nil
	d.mu.Unlock()
	for _, a := range ended {
		before := d.known[a.task.ID]
		d.reading--
		a.at = before.at
		switch same := before.read && slices.Equal(before.refs, a.refs) && maps.Equal(before.cards, a.cards); {
		case a.err != nil:
			err = errors.Join(err, a.err)
			all = all || !before.read
			before.reading, before.at = false, d.opt.Now().Add(d.opt.Every-d.opt.Read)
			d.known[a.task.ID] = before
			continue
		case !before.read && len(a.refs) == 0:
			first = append(first, a.task)
		default:
			all = all || !same
		}
		d.known[a.task.ID] = a.related
	}
	return first, all, err
}

// read queries the tracker for what a task waits for.
func (d *Deps) read(ctx context.Context, t task.Task) (related, error) {
	r := related{read: true, item: t.TrackerIssueID, cards: map[tracker.Ref]string{}}
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
		if item, err := d.opt.Items.Item(ctx, ref.ProjectID, ref.ItemID); err == nil && !over(item) {
			r.cards[ref] = fmt.Sprintf("the card %q", item.Title)
		}
	}
	return r, nil
}
