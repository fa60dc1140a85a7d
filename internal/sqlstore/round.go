package sqlstore

import (
	"errors"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// Tx is a transaction of the writer. It holds the writer lock.
type Tx struct {
	Conn
	Now time.Time // once something was read: since the lock is held

	store   *Store
	last    *int64               // highest id of a job; nil = not read yet
	deduped map[string]int64     // unfinished jobs by dedupe key, of those that were looked up; 0 = none
	wake    map[string]bool      // pools that may have become claimable
	depth   map[string]int64     // unfinished jobs by pool: how many were added
	added   map[string]queue.Job // by pool, the first of those that may have come to stand in the ready queue
}

// loaded holds what the requests of a round are decided on.
type loaded struct {
	running    map[int64]claimed // jobs of the claims that end or are prolonged
	queued     map[int64]bool    // of the others that are to be so
	versions   map[int64]int64   // of tasks
	lines      map[*request]task.Line
	pauses     []task.Pause
	duplicates map[*request]bool // deliveries that are known
	head       []byte            // of the journal's chain, where a request writes into it
}

// round does requests as one set: it loads what they are decided on, decides each in Go,
// and writes what was decided.
func (t *Tx) round(reqs []*request) error {
	if len(reqs) == 0 {
		return nil
	}
	if f := reqs[0].alone; f != nil {
		if err := t.Flush(); err != nil {
			return err
		}
		t.Now = Stamp(t.store.Now())
		if err := errors.Join(f(t), t.Flush()); err != nil {
			return &aloneError{reqs[0], err}
		}
		return nil
	}
	l, err := t.load(reqs)
	if err != nil {
		return err
	}
	return t.write(decide(t, reqs, l))
}

func (t *Tx) load(reqs []*request) (*loaded, error) {
	l := &loaded{
		running: map[int64]claimed{}, queued: map[int64]bool{}, versions: map[int64]int64{},
		lines: map[*request]task.Line{}, duplicates: map[*request]bool{},
	}
	var claims, tasks []int64
	journal := false
	var received []*request
	var found []claimed
	for _, r := range reqs {
		switch {
		case r.put != nil:
			t.lookUp(r.put)
		case r.finish != nil:
			claims = append(claims, r.finish.claim.Job.ID)
			t.lookUp(r.finish.outcome.Then)
		case r.extend != nil:
			claims = append(claims, r.extend.claim.Job.ID)
		case r.receive != nil:
			received = append(received, r)
			t.lookUp([]queue.Job{r.receive.job})
		case r.commit != nil:
			if c := r.commit.Claim; c != nil {
				claims = append(claims, c.Job.ID)
			}
			claims = append(claims, r.commit.Unclaimed...)
			if k := r.commit.Task; k != nil {
				tasks = append(tasks, k.ID)
				t.loadLine(l, r)
			}
			t.loadPauses(l, r.commit)
			t.lookUp(r.commit.Jobs)
			journal = journal || len(r.commit.Journal) > 0
		}
	}
	if journal {
		t.Queue(intoHead(&l.head), readHead)
	}
	if len(claims) > 0 {
		t.Queue(into(&found, scanClaimed), claimedJobs, claims)
	}
	if len(tasks) > 0 {
		t.Queue(intoMap(l.versions), taskVersions, tasks)
	}
	t.loadDuplicates(l, received)
	err := t.Flush()
	t.Now = Stamp(t.store.Now())
	for _, c := range found {
		switch c.job.Status {
		case queue.Running:
			l.running[c.job.ID] = c
		case queue.Queued:
			l.queued[c.job.ID] = true
		}
	}
	return l, err
}

// decided holds what a round writes, in this order.
type decided struct {
	ended    []queue.Job // as they are now
	next     []int64     // those behind them
	extended []queue.Job
	created  []*task.Task
	changed  []*task.Task
	story    task.Commit // journal, gates and runs of all
	head     []byte      // of the journal's chain before them
	commits  []*task.Commit
	received []task.Delivery
	put      []queue.Job
	puts     []span // whose ids are answered
}

// span is the part of what is put that one request has put.
type span struct {
	r        *request
	from, to int
}

// add puts jobs for a request.
func (d *decided) add(r *request, jobs ...queue.Job) {
	from := len(d.put)
	d.put = append(d.put, jobs...)
	d.puts = append(d.puts, span{r, from, len(d.put)})
}

// decide judges requests in their order. One that is refused has its error and nothing else.
func decide(t *Tx, reqs []*request, l *loaded) *decided {
	d := &decided{head: l.head}
	for _, r := range reqs {
		switch {
		case r.put != nil:
			d.add(r, r.put...)
		case r.finish != nil:
			d.finish(t, r, l)
		case r.extend != nil:
			d.extend(t, r, l)
		case r.commit != nil:
			d.commit(t, r, l)
		case r.receive != nil:
			if r.duplicate = l.duplicates[r]; !r.duplicate {
				d.received = append(d.received, r.receive.delivery)
				d.add(r, r.receive.job)
			}
		}
	}
	return d
}

// holds reports a claim that is held.
func (l *loaded) holds(c queue.Claim) bool {
	j, ok := l.running[c.Job.ID]
	return ok && j.job.Attempt == c.Job.Attempt
}

// end ends a claim that is held. A second end of it is too late.
func (d *decided) end(t *Tx, l *loaded, c queue.Claim, o queue.Outcome) {
	j := l.running[c.Job.ID]
	delete(l.running, c.Job.ID)
	after := queue.ApplyOutcome(j.job, o, t.Now)
	if d.ended = append(d.ended, after); j.next.ID != 0 && after.Status.Terminal() {
		d.next = append(d.next, j.next.ID)
		t.add(j.next)
	}
}

func (d *decided) finish(t *Tx, r *request, l *loaded) {
	f := r.finish
	now, was := l.running[f.claim.Job.ID].job, f.claim.Job
	if !l.holds(f.claim) || f.untold && (now.Worker != was.Worker || !now.StartedAt.Equal(was.StartedAt)) {
		r.err = queue.ErrLost
		return
	}
	d.end(t, l, f.claim, f.outcome)
	d.add(r, f.outcome.Then...)
}

func (d *decided) extend(t *Tx, r *request, l *loaded) {
	if !l.holds(r.extend.claim) {
		r.err = queue.ErrLost
		return
	}
	j := l.running[r.extend.claim.Job.ID].job
	j.HeartbeatAt, j.LeaseUntil = t.Now, t.Now.Add(r.extend.ttl)
	d.extended = append(d.extended, j)
}

func (d *decided) commit(t *Tx, r *request, l *loaded) {
	c := r.commit
	if c.Claim != nil && !l.holds(*c.Claim) {
		r.err = queue.ErrLost
		return
	}
	if slices.ContainsFunc(c.Unclaimed, func(id int64) bool { return !l.queued[id] }) || c.PausesMoved(l.pauses) {
		r.err = task.ErrConflict
		return
	}
	if k := c.Task; k != nil {
		if l.versions[k.ID] != k.Version || c.Line != nil && l.lines[r] != *c.Line {
			r.err = task.ErrConflict
			return
		}
		switch {
		case c.Unchanged:
		case k.Version == 0:
			d.created = append(d.created, k)
		default:
			d.changed = append(d.changed, k)
		}
	}
	if c.Claim != nil {
		d.end(t, l, *c.Claim, queue.Outcome{Kind: queue.OutcomeDone, Error: c.Why})
	}
	s := &d.story
	s.Journal, s.Gates, s.Runs = append(s.Journal, c.Journal...), append(s.Gates, c.Gates...), append(s.Runs, c.Runs...)
	d.commits = append(d.commits, c)
	d.add(r, c.Jobs...)
}

func (t *Tx) write(d *decided) error {
	t.end(d.ended, d.next) // first, so that dedupe keys are free for what is put
	t.extend(d.extended)
	t.saveTasks(d.created, d.changed)
	t.saveStory(&d.story, d.head)
	for _, c := range d.commits {
		if err := t.commitRest(c); err != nil {
			return err
		}
	}
	t.saveDeliveries(d.received)
	ids, err := t.Put(d.put)
	if err != nil {
		return err
	}
	for _, p := range d.puts {
		p.r.ids = ids[p.from:p.to:p.to]
	}
	return nil
}

// commitRest does what few commits bring with them.
func (t *Tx) commitRest(c *task.Commit) error {
	own := int64(0)
	if c.Claim != nil {
		own = c.Claim.Job.ID
	}
	for i, pools := range [][]string{c.CancelPools, c.CancelQueued} {
		if c.Task != nil && len(pools) > 0 {
			if _, err := t.cancel(c.Task.ID, own, pools, i == 0); err != nil { // of CancelQueued none at work
				return err
			}
		}
	}
	t.hold(c.Hold)
	t.free(c.Free)
	t.savePauses(c)
	t.saveFacts(c)
	for _, one := range c.Contents {
		t.Queue(nil, saveContent, one.ID, task.Pack(one.Body))
	}
	return nil
}

// count brings the counters of unfinished jobs up to date.
func (t *Tx) count() {
	pools, added := []string{}, []int64{}
	for pool, n := range t.depth {
		if n != 0 {
			pools, added = append(pools, pool), append(added, n)
		}
	}
	if len(pools) > 0 {
		t.Queue(nil, addDepth, pools, added)
	}
}
