package simulate

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/internal/allowance"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/memtracker"
)

// Ages of a process's memories, as in the adapter of Plane.
const (
	recentFor  = 10 * time.Second
	columnsFor = 10 * time.Minute
	minute     = time.Minute + time.Second // in which the tracker counts requests, and a moment
)

// memories holds what a process has seen of the tracker and takes for true; they end with it.
type memories struct {
	recent  map[string]recentItem
	columns map[string]columns    // by project
	known   time.Duration         // since the beginning of the world: which accounts are the service's own
	meter   *allowance.Meter      // of requests to the tracker
	reads   map[string][]readCard // by card: what came of looking at it
}

// recentItem is a card as the process has read or written it last.
type recentItem struct {
	tracker.Item

	at time.Time
}

// readCard records what came of looking at a card.
type readCard struct {
	at time.Time
	tracker.Item

	err error
}

// relations are read apart from their card.
const relations = "relations of "

// related looks whether a process has read the relations of a task whose agent starts.
func (c *checker) related(n *node, t task.Task, j queue.Job) {
	if n.has("task_deps") && !t.State.Leased && t.State.Lane != stage.UndoLane && !slices.ContainsFunc(
		n.memories.reads[relations+t.TrackerIssueID],
		func(r readCard) bool {
			return r.at.After(j.StartedAt.Add(-time.Duration(c.s.world.Tempo) * 30 * time.Second))
		},
	) {
		c.fail(Relations, "%s starts an agent of task %d by relations that were not read for it", n.name, t.ID)
	}
}

// textFor is how old the text of a card may be when its agent starts, and a moment.
const textFor = 7 * time.Second

// columns are those of a project as the process has read them last.
type columns struct {
	list  []stage.Status
	board *memtracker.Board // with these columns
	at    time.Time
}

// newMemories are those of a process that begins: with one of its own it waits for the tracker's
// answer which accounts are the service's.
func (n *node) newMemories() memories {
	m := memories{reads: map[string][]readCard{}, recent: map[string]recentItem{}, columns: map[string]columns{}, known: n.sim.since()}
	m.meter = &allowance.Meter{Window: time.Minute, Slack: minute - time.Minute, Settling: 2 * time.Second}
	if most := n.sim.world.Nameless; most > 0 {
		m.known += time.Duration(n.sim.dice("accounts "+n.name, int64(n.machine)).Int64N(int64(most)))
	}
	return m
}

// identified reports whether the process has learned which accounts are the service's own.
func (n *node) identified() bool { return n.sim.calm || n.sim.since() >= n.memories.known }

// columnsOf are the columns of a project as the process takes them to be: as they were read in the
// last minutes, and as they were read last when they cannot be read.
func (p *trackerPort) columnsOf(ctx context.Context, project, name string) (columns, error) {
	s, old := p.n.sim, p.n.memories.columns[project]
	if s.world.Recalls && old.board != nil && p.n.domain.Now().Sub(old.at) < columnsFor {
		return old, nil
	}
	list, err := request(ctx, p.n, ofBoard(name), project, func() ([]stage.Status, error) { return s.people.columns[project], nil })
	if err != nil && s.world.Recalls && old.board != nil {
		return old, nil
	}
	now := columns{list: list, board: memtracker.New(s.v.Now), at: p.n.domain.Now()}
	now.board.AddProject(project, list...)
	if err == nil {
		p.n.memories.columns[project] = now
	}
	return now, err
}

// remembered are the columns by which a card is read and moved; in a world without memories the true ones.
func (p *trackerPort) remembered(ctx context.Context, project string) (columns, error) {
	if !p.n.sim.world.Recalls {
		return columns{}, nil
	}
	return p.columnsOf(ctx, project, "Columns")
}

// seen is a card as the process reads its column.
func (c columns) seen(i tracker.Item) tracker.Item {
	if len(c.list) > 0 && i.Status != stage.StatusUnknown && !slices.Contains(c.list, i.Status) {
		i.Status, i.StatusName = stage.StatusUnknown, "Renamed"
	}
	return i
}

// request makes a request of the tracker. A process sends none that its meter has no room for; the tracker counts
// those of all of them, and refuses what is more.
func request[T any](ctx context.Context, n *node, o op, arg string, f func() (T, error)) (none T, err error) {
	s, limit, now := n.sim, n.sim.world.Budget, n.domain.Now()
	if limit == 0 || s.calm {
		return call(ctx, n, o, arg, f)
	}
	meter, class := n.memories.meter, allowance.Of(ctx)
	if wait := meter.Turn(class, now); wait > 0 {
		return none, errors.Join(&fault.Error{Text: o.lane + ": 429 not sent", Again: true, Wait: wait}, tracker.ErrBudget)
	}
	sent := meter.Send(class, now)
	return call(ctx, n, o, arg, func() (T, error) {
		if wait := fits(&s.requests, limit, s.v.Now()); wait > 0 {
			meter.Refused(sent, n.domain.Now().Add(wait))
			return none, &fault.Error{Text: o.lane + ": 429 too many requests", Again: true, Wait: wait}
		}
		s.requests = append(s.requests, s.v.Now())
		meter.Answered(sent, limit, limit-len(s.requests), n.domain.Now())
		return f()
	})
}

// fits is how long it lasts until one more request fits into the minute; what has left it is dropped.
func fits(sent *[]time.Time, limit int, now time.Time) time.Duration {
	*sent = slices.DeleteFunc(*sent, func(at time.Time) bool { return now.Sub(at) >= minute })
	if len(*sent) < limit {
		return 0
	}
	return (*sent)[0].Add(minute).Sub(now)
}

// rename gives a column of a board another name, or its own again.
func (p *people) rename(project int, column stage.Status) {
	s, board := p.s, p.s.list[project].TrackerProject
	list := slices.Clone(p.columns[board])
	if at := slices.Index(list, column); at >= 0 {
		list = slices.Delete(list, at, at+1)
	} else {
		list = append(list, column)
	}
	s.trace.line(s.since(), "person", "renames", board+" "+string(column))
	p.setColumns(board, list)
}

// setColumns sets the columns that a board has by the names that the service has for them; none = all.
func (p *people) setColumns(board string, list []stage.Status) {
	if len(list) == 0 {
		for _, info := range stage.Statuses() {
			list = append(list, info.Key)
		}
	}
	p.columns[board] = list
	p.s.board.AddProject(board, list...)
}
