// Package memqueue is a queue in memory: the double of package queue for tests
// and for programs without durable state. It passes the suite in queue/queuetest.
package memqueue

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/queue"
)

// Queue is a queue.Queue, queue.Admin and queue.Inspector in memory.
type Queue struct {
	now func() time.Time

	mu     sync.Mutex
	lastID int64
	jobs   map[int64]*queue.Job
	order  []*queue.Job            // all jobs, by id
	open   []*queue.Job            // the unfinished ones, by id
	keys   map[string][]*queue.Job // the unfinished ones with a key, by id
	dedupe map[string]int64        // unfinished jobs by dedupe key
	holds  []queue.Hold
	wake   map[string]chan struct{}
	seen   time.Time // jobs that were due by then have had their hint
}

// New makes an empty queue. A nil clock means time.Now.
func New(now func() time.Time) *Queue {
	if now == nil {
		now = time.Now
	}
	return &Queue{
		now: now, jobs: map[int64]*queue.Job{}, keys: map[string][]*queue.Job{}, dedupe: map[string]int64{}, wake: map[string]chan struct{}{},
	}
}

// Tx is the queue while Atomically holds it. Its methods cannot fail but Check.
type Tx struct{ q *Queue }

// Atomically runs f while nobody else can see or change the queue. Nothing is undone when f returns an error: f checks before it changes.
func (q *Queue) Atomically(f func(*Tx) error) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return f(&Tx{q})
}

// Put adds jobs and returns their ids.
func (t *Tx) Put(jobs ...queue.Job) []int64 {
	q := t.q
	ids := make([]int64, 0, len(jobs))
	for _, j := range jobs {
		if id, known := q.dedupe[j.DedupeKey]; known && j.DedupeKey != "" {
			ids = append(ids, id)
			continue
		}
		q.lastID++
		j.ID, j.Status, j.Attempt, j.CreatedAt = q.lastID, queue.Queued, 0, q.now()
		j.Holds, j.Payload = slices.Clone(j.Holds), slices.Clone(j.Payload)
		q.jobs[j.ID] = &j
		q.order, q.open = append(q.order, &j), append(q.open, &j)
		if j.Key != "" {
			q.keys[j.Key] = append(q.keys[j.Key], &j)
		}
		if j.DedupeKey != "" {
			q.dedupe[j.DedupeKey] = j.ID
		}
		ids = append(ids, j.ID)
		q.hint(j.Pool)
	}
	return ids
}

// Check returns ErrLost unless the claim is held.
func (t *Tx) Check(c queue.Claim) error {
	j := t.q.jobs[c.Job.ID]
	if j == nil || j.Status != queue.Running || j.Attempt != c.Job.Attempt {
		return queue.ErrLost
	}
	return nil
}

// Finish ends a claim that Check has accepted.
func (t *Tx) Finish(c queue.Claim, o queue.Outcome) {
	t.end(queue.ApplyOutcome(*t.q.jobs[c.Job.ID], o, t.q.now()))
	t.Put(o.Then...)
}

// end stores a job that is not running any more.
func (t *Tx) end(j queue.Job) {
	kept := t.q.jobs[j.ID]
	*kept = j
	if j.Status.Terminal() {
		same := func(o *queue.Job) bool { return o == kept }
		t.q.open = slices.DeleteFunc(t.q.open, same)
		if rest := slices.DeleteFunc(t.q.keys[j.Key], same); len(rest) > 0 {
			t.q.keys[j.Key] = rest
		} else {
			delete(t.q.keys, j.Key)
		}
		delete(t.q.dedupe, j.DedupeKey)
	}
	t.q.hintAfter(j)
}

// hintAfter hints that a job, or the next one of its key, may be claimable.
func (q *Queue) hintAfter(j queue.Job) {
	if !j.Status.Terminal() {
		q.hint(j.Pool)
	} else if rest := q.keys[j.Key]; len(rest) > 0 {
		q.hint(rest[0].Pool)
	}
}

// Cancel cancels a task's unfinished jobs in the pools (none = all), except one job, and returns them.
func (t *Tx) Cancel(taskID, except int64, pools ...string) []queue.Job {
	return t.cancel(pools, func(j queue.Job) bool { return j.TaskID == taskID && j.ID != except })
}

// CancelQueued cancels a task's jobs in the pools that are not running.
func (t *Tx) CancelQueued(taskID int64, pools ...string) []queue.Job {
	return t.cancel(pools, func(j queue.Job) bool { return j.TaskID == taskID && j.Status == queue.Queued })
}

func (t *Tx) cancel(pools []string, which func(queue.Job) bool) []queue.Job {
	var out []queue.Job
	for _, open := range slices.Clone(t.q.open) {
		j := *open
		if !which(j) || len(pools) > 0 && !slices.Contains(pools, j.Pool) {
			continue
		}
		j.Status, j.FinishedAt, j.Worker, j.LeaseUntil = queue.Cancelled, t.q.now(), "", time.Time{}
		t.end(j)
		out = append(out, j)
	}
	return out
}

// Window lists the n jobs behind an id.
func (t *Tx) Window(after int64, n int) []queue.Job {
	from, _ := slices.BinarySearchFunc(t.q.order, after+1, func(j *queue.Job, id int64) int { return cmp.Compare(j.ID, id) })
	var out []queue.Job
	for _, j := range t.q.order[from:min(from+n, len(t.q.order))] {
		out = append(out, *j)
	}
	return out
}

// Remove removes jobs that have ended.
func (t *Tx) Remove(ids ...int64) {
	for _, id := range ids {
		delete(t.q.jobs, id)
	}
	t.q.order = slices.DeleteFunc(t.q.order, func(j *queue.Job) bool { return t.q.jobs[j.ID] == nil })
}

// Hold holds subjects.
func (t *Tx) Hold(holds ...queue.Hold) {
	for _, h := range holds {
		same := func(o queue.Hold) bool { return o.Subject == h.Subject && o.Name == h.Name }
		if i := slices.IndexFunc(t.q.holds, same); i >= 0 {
			t.q.holds[i].Reason = h.Reason
			continue
		}
		h.Since = t.q.now()
		t.q.holds = append(t.q.holds, h)
	}
}

// Free frees subjects.
func (t *Tx) Free(holds ...queue.Hold) {
	for _, h := range holds {
		t.q.holds = slices.DeleteFunc(t.q.holds, func(o queue.Hold) bool { return o.Subject == h.Subject && o.Name == h.Name })
		for _, j := range t.q.open {
			if slices.Contains(j.Holds, h.Subject) {
				t.q.hint(j.Pool)
			}
		}
	}
}

// waits returns what the unfinished jobs of a filter wait for, in order of id.
func (q *Queue) waits(f queue.Filter) []queue.Wait {
	now := q.now()
	var out []queue.Wait
	for _, j := range q.open {
		if matches(j, f) {
			out = append(out, queue.Wait{Job: clone(j), Reasons: q.reasons(j, now)})
		}
	}
	return out
}

// behind reports whether an earlier job has the key of a job, and which.
func (q *Queue) behind(j *queue.Job) (first int64, is bool) {
	if j.Key == "" || q.keys[j.Key][0] == j {
		return 0, false
	}
	return q.keys[j.Key][0].ID, true
}

func (q *Queue) reasons(j *queue.Job, now time.Time) []queue.Reason {
	if j.Status == queue.Running {
		return []queue.Reason{queue.AtWork(*j)}
	}
	var out []queue.Reason
	if first, is := q.behind(j); is {
		out = append(out, queue.Behind(first))
	}
	if j.AvailableAt.After(now) {
		out = append(out, queue.Delayed(j.AvailableAt))
	}
	for _, h := range q.holds {
		if slices.Contains(j.Holds, h.Subject) {
			out = append(out, queue.Held(h))
		}
	}
	return out
}

func clone(j *queue.Job) queue.Job {
	c := *j
	c.Holds, c.Payload = slices.Clone(j.Holds), slices.Clone(j.Payload)
	return c
}

func (q *Queue) hint(pool string) {
	select {
	case q.waker(pool) <- struct{}{}:
	default:
	}
}

func (q *Queue) waker(pool string) chan struct{} {
	if q.wake[pool] == nil {
		q.wake[pool] = make(chan struct{}, 1)
	}
	return q.wake[pool]
}

// Put implements queue.Queue.
func (q *Queue) Put(_ context.Context, jobs ...queue.Job) (ids []int64, err error) {
	err = q.Atomically(func(t *Tx) error { ids = t.Put(jobs...); return nil })
	return ids, err
}
