// Package memstore keeps tasks in memory beside a memqueue: the double of the
// stores of tasks, for tests. It passes the suite in orchestrator/storetest.
package memstore

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/queue/memqueue"
)

// Store is a task.Store and task.Records in memory, and the
// queue that shares its transactions.
type Store struct {
	*memqueue.Queue
	now func() time.Time

	mu         sync.Mutex
	lastTask   int64
	lastRow    int64
	tasks      []task.Task // by id
	deliveries []task.Delivery
	journal    []task.JournalEntry
	gates      []task.GateResult
	runs       []task.AgentRun
	deps       []task.Dependency
	reserved   []task.Reservation // by job and attempt
	pauses     []task.Pause       // by agent and model
	facts      []task.Fact        // by kind, of and task
	contents   map[string][]byte  // packed
}

// New makes an empty store. A nil clock means time.Now.
func New(now func() time.Time) *Store {
	if now == nil {
		now = time.Now
	}
	return &Store{Queue: memqueue.New(now), now: now, contents: map[string][]byte{}}
}

// NewTaskID implements task.Store.
func (s *Store) NewTaskID(context.Context) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastTask++
	return s.lastTask, nil
}

// Task implements task.Store.
func (s *Store) Task(_ context.Context, id int64) (task.Task, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.index(id); i >= 0 {
		return s.tasks[i], nil
	}
	return task.Task{}, task.ErrNotFound
}

func (s *Store) index(id int64) int {
	return slices.IndexFunc(s.tasks, func(t task.Task) bool { return t.ID == id })
}

// Tasks implements task.Store.
func (s *Store) Tasks(_ context.Context, f task.Filter) ([]task.Task, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.Limit <= 0 {
		f.Limit = 100
	}
	var out []task.Task
	add := func(t task.Task) {
		if t.ID > f.AfterID && (f.BeforeID == 0 || t.ID < f.BeforeID) && selects(f, t) && len(out) < f.Limit {
			out = append(out, t)
		}
	}
	for i := range s.tasks {
		if f.BeforeID != 0 {
			i = len(s.tasks) - 1 - i
		}
		add(s.tasks[i])
	}
	return out, nil
}

func selects(f task.Filter, t task.Task) bool {
	is := func(want, have string) bool { return want == "" || want == have }
	named := func(want, have string) bool {
		from, before := task.TombstoneRange(want)
		return is(want, have) || f.Cancelled && from <= have && have < before
	}
	return named(f.TrackerIssueID, t.TrackerIssueID) && is(f.Repo, t.Repo) && is(f.Branch, t.Branch) &&
		named(f.WorkItemID, t.WorkItemID) && is(string(f.Stage), string(t.State.Stage)) && (!f.Live || !t.State.Stage.Terminal())
}

// Commit implements task.Store.
func (s *Store) Commit(_ context.Context, c task.Commit) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Atomically(func(q *memqueue.Tx) error { return s.commit(q, c) })
}

func (s *Store) commit(q *memqueue.Tx, c task.Commit) error {
	own := int64(0)
	if c.Claim != nil {
		if err := q.Check(*c.Claim); err != nil {
			return err
		}
		own = c.Claim.Job.ID
	}
	claimed := func(id int64) bool {
		j := q.Window(id-1, 1)
		return len(j) == 0 || j[0].ID != id || j[0].Status != queue.Queued
	}
	if slices.ContainsFunc(c.Unclaimed, claimed) || c.PausesMoved(s.pauses) ||
		c.Task != nil && (s.conflicts(*c.Task) || c.Line != nil && *c.Line != s.line(*c.Task)) {
		return task.ErrConflict
	}
	if c.Claim != nil {
		q.Finish(*c.Claim, queue.Outcome{Kind: queue.OutcomeDone, Error: c.Why})
	}
	s.save(c)
	if c.Task != nil && len(c.CancelPools) > 0 {
		q.Cancel(c.Task.ID, own, c.CancelPools...)
	}
	if c.Task != nil && len(c.CancelQueued) > 0 {
		q.CancelQueued(c.Task.ID, c.CancelQueued...)
	}
	q.Hold(c.Hold...)
	q.Free(c.Free...)
	q.Put(c.Jobs...)
	return nil
}

// conflicts reports whether the row is at another version, or a name is taken.
func (s *Store) conflicts(t task.Task) bool {
	i := s.index(t.ID)
	if (i < 0) != (t.Version == 0) || i >= 0 && s.tasks[i].Version != t.Version {
		return true
	}
	return slices.ContainsFunc(s.tasks, func(o task.Task) bool {
		live := !o.State.Stage.Terminal() && !t.State.Stage.Terminal()
		return o.ID != t.ID && (live && o.TrackerProjectID == t.TrackerProjectID && o.TrackerIssueID == t.TrackerIssueID ||
			o.Repo == t.Repo && (o.WorkItemID == t.WorkItemID || o.Branch == t.Branch))
	})
}

// line is the place of a task among the unfinished ones of its repository.
func (s *Store) line(t task.Task) (l task.Line) {
	for _, o := range s.tasks { // by id
		switch {
		case o.Repo != t.Repo || o.State.Stage.Terminal() || o.ID == t.ID:
		case o.ID < t.ID:
			l.Ahead = o.ID
		case l.Behind == 0:
			l.Behind = o.ID
		}
	}
	return l
}

func (s *Store) save(c task.Commit) {
	if c.Task != nil && !c.Unchanged {
		t := *c.Task
		t.Version++
		if i := s.index(t.ID); i >= 0 {
			s.tasks[i] = t
		} else {
			s.tasks = append(s.tasks, t)
			slices.SortFunc(s.tasks, func(a, b task.Task) int { return int(a.ID - b.ID) })
		}
	}
	for _, e := range c.Journal {
		e.ID, e.Payload = s.row(), slices.Clone(e.Payload)
		s.journal = append(s.journal, e)
	}
	for _, one := range c.Contents {
		if s.contents[one.ID] == nil {
			s.contents[one.ID] = task.Pack(one.Body)
		}
	}
	for _, g := range c.Gates {
		g.ID = s.row()
		s.gates = append(s.gates, g)
	}
	for _, r := range c.Runs {
		s.runs = slices.DeleteFunc(s.runs, func(o task.AgentRun) bool { return o.JobID == r.JobID && o.Attempt == r.Attempt })
		r.ID = s.row()
		s.runs = append(s.runs, r)
		s.unreserve(r.JobID, r.Attempt)
	}
	s.savePauses(c)
	s.saveFacts(c)
}

func (s *Store) row() int64 {
	s.lastRow++
	return s.lastRow
}

// Receive implements task.Store.
func (s *Store) Receive(ctx context.Context, d task.Delivery, job queue.Job) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.deliveries {
		if o.Source == d.Source && (o.ID == d.ID && d.ID != "" || o.BodyHash == d.BodyHash) {
			return true, nil
		}
	}
	s.deliveries = append(s.deliveries, d)
	_, err := s.Put(ctx, job)
	return false, err
}

// Dependencies implements task.Dependencies.
func (s *Store) Dependencies(_ context.Context, taskID int64) ([]task.Dependency, error) {
	return pick(s, &s.deps, func(d task.Dependency) bool { return taskID == 0 || d.TaskID == taskID })
}

// SetDependencies implements task.Dependencies.
func (s *Store) SetDependencies(_ context.Context, taskID int64, source string, on []int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deps = slices.DeleteFunc(s.deps, func(d task.Dependency) bool {
		return d.TaskID == taskID && d.Source == source && !slices.Contains(on, d.On)
	})
	for _, id := range on {
		s.depend(task.Dependency{TaskID: taskID, On: id, Source: source})
	}
	return nil
}

// Depend implements task.Dependencies.
func (s *Store) Depend(_ context.Context, d task.Dependency) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.depend(d)
	return nil
}

func (s *Store) depend(d task.Dependency) {
	if slices.ContainsFunc(s.deps, func(o task.Dependency) bool { return o.TaskID == d.TaskID && o.On == d.On }) {
		return
	}
	d.CreatedAt = s.now()
	s.deps = append(s.deps, d)
	slices.SortFunc(s.deps, func(a, b task.Dependency) int {
		return cmp.Or(cmp.Compare(a.TaskID, b.TaskID), cmp.Compare(a.On, b.On))
	})
}

// Undepend implements task.Dependencies.
func (s *Store) Undepend(_ context.Context, d task.Dependency) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deps = slices.DeleteFunc(s.deps, func(o task.Dependency) bool {
		return o.TaskID == d.TaskID && o.On == d.On && o.Source == d.Source
	})
	return nil
}

// Journal implements task.Records.
func (s *Store) Journal(_ context.Context, taskID int64) ([]task.JournalEntry, error) {
	return pick(s, &s.journal, func(e task.JournalEntry) bool { return e.TaskID == taskID })
}

// JournalSince implements task.Records.
func (s *Store) JournalSince(_ context.Context, after int64, limit int) ([]task.JournalEntry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if after < 0 {
		return slices.Clone(s.journal[max(0, len(s.journal)-1):]), nil
	}
	from, _ := slices.BinarySearchFunc(s.journal, after+1, func(e task.JournalEntry, id int64) int { return cmp.Compare(e.ID, id) })
	return slices.Clone(s.journal[from:min(len(s.journal), from+limit)]), nil
}

// Content implements task.Contents.
func (s *Store) Content(_ context.Context, id string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	packed, ok := s.contents[id]
	if !ok {
		return nil, task.ErrNotFound
	}
	return task.Unpack(packed)
}

// GateResults implements task.Records.
func (s *Store) GateResults(_ context.Context, taskID int64) ([]task.GateResult, error) {
	return pick(s, &s.gates, func(g task.GateResult) bool { return g.TaskID == taskID })
}

// AgentRuns implements task.Records.
func (s *Store) AgentRuns(_ context.Context, taskIDs ...int64) ([]task.AgentRun, error) {
	return pick(s, &s.runs, func(r task.AgentRun) bool { return len(taskIDs) == 0 || slices.Contains(taskIDs, r.TaskID) })
}

func pick[T any](s *Store, from *[]T, want func(T) bool) ([]T, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []T
	for _, v := range *from {
		if want(v) {
			out = append(out, v)
		}
	}
	return out, nil
}

// LastDelivery implements task.Records.
func (s *Store) LastDelivery(_ context.Context, source string) (last time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.deliveries {
		if d.Source == source && d.ReceivedAt.After(last) {
			last = d.ReceivedAt
		}
	}
	return last, nil
}
