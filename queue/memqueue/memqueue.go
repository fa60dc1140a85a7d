// Package memqueue is a queue in memory: the double of package queue for tests
// and for programs without durable state. It passes the suite in queue/queuetest.
package memqueue

import (
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
	order  []int64          // of all jobs, by id
	open   []int64          // of the unfinished ones, by id
	dedupe map[string]int64 // unfinished jobs by dedupe key
	holds  []queue.Hold
	wake   map[string]chan struct{}
	seen   time.Time // jobs that were due by then have had their hint
}

// New makes an empty queue. A nil clock means time.Now.
func New(now func() time.Time) *Queue {
	if now == nil {
		now = time.Now
	}
	return &Queue{now: now, jobs: map[int64]*queue.Job{}, dedupe: map[string]int64{}, wake: map[string]chan struct{}{}}
}

// Tx is the queue while Atomically holds it. Its methods cannot fail but Check.
type Tx struct{ q *Queue }

// Atomically runs f while nobody else can see or change the queue. Nothing is
// undone when f returns an error: f checks before it changes.
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
		q.order, q.open = append(q.order, j.ID), append(q.open, j.ID)
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
	*t.q.jobs[j.ID] = j
	if j.Status.Terminal() {
		t.q.open = slices.DeleteFunc(t.q.open, func(id int64) bool { return id == j.ID })
		delete(t.q.dedupe, j.DedupeKey)
	}
	t.q.hintAfter(j)
}

// hintAfter hints that a job, or the next one of its key, may be claimable.
func (q *Queue) hintAfter(j queue.Job) {
	if !j.Status.Terminal() {
		q.hint(j.Pool)
		return
	}
	if j.Key == "" {
		return
	}
	for _, id := range q.open {
		if q.jobs[id].Key == j.Key {
			q.hint(q.jobs[id].Pool)
			return
		}
	}
}

// Cancel cancels a task's unfinished jobs in the pools (none = all), except one
// job, and returns them.
func (t *Tx) Cancel(taskID, except int64, pools ...string) []queue.Job {
	return t.cancel(pools, func(j queue.Job) bool { return j.TaskID == taskID && j.ID != except })
}

// CancelQueued cancels a task's jobs in the pools that are not running.
func (t *Tx) CancelQueued(taskID int64, pools ...string) []queue.Job {
	return t.cancel(pools, func(j queue.Job) bool { return j.TaskID == taskID && j.Status == queue.Queued })
}

func (t *Tx) cancel(pools []string, which func(queue.Job) bool) []queue.Job {
	var out []queue.Job
	for _, id := range slices.Clone(t.q.open) {
		j := *t.q.jobs[id]
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
	from, _ := slices.BinarySearch(t.q.order, after+1)
	var out []queue.Job
	for _, id := range t.q.order[from:min(from+n, len(t.q.order))] {
		out = append(out, *t.q.jobs[id])
	}
	return out
}

// Remove removes jobs that have ended.
func (t *Tx) Remove(ids ...int64) {
	for _, id := range ids {
		delete(t.q.jobs, id)
	}
	t.q.order = slices.DeleteFunc(t.q.order, func(id int64) bool { return t.q.jobs[id] == nil })
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
		for _, id := range t.q.open {
			if j := t.q.jobs[id]; slices.Contains(j.Holds, h.Subject) {
				t.q.hint(j.Pool)
			}
		}
	}
}

// waits returns what the unfinished jobs wait for, in order of id.
func (q *Queue) waits() []queue.Wait {
	now := q.now()
	first := map[string]int64{}
	var out []queue.Wait
	for _, id := range q.open {
		j := q.jobs[id]
		if _, seen := first[j.Key]; !seen && j.Key != "" {
			first[j.Key] = id
		}
		out = append(out, queue.Wait{Job: clone(j), Reasons: q.reasons(j, first[j.Key], now)})
	}
	return out
}

func (q *Queue) reasons(j *queue.Job, first int64, now time.Time) []queue.Reason {
	if j.Status == queue.Running {
		return []queue.Reason{queue.AtWork(*j)}
	}
	var out []queue.Reason
	if j.Key != "" && first != j.ID {
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
