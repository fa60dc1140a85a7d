package memqueue

import (
	"cmp"
	"context"
	"slices"
	"sort"
	"time"

	"github.com/signalbox-dev/signalbox/queue"
)

// Take implements queue.Queue.
func (q *Queue) Take(_ context.Context, pool, worker string, n int, ttl time.Duration) ([]queue.Claim, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.take(pool, worker, n, ttl), nil
}

// Take claims jobs.
func (t *Tx) Take(pool, worker string, n int, ttl time.Duration) []queue.Claim {
	return t.q.take(pool, worker, n, ttl)
}

func (q *Queue) take(pool, worker string, n int, ttl time.Duration) []queue.Claim {
	now := q.now()
	var ready []*queue.Job
	for _, j := range q.open {
		if j.Pool == pool && j.Status == queue.Queued && !j.AvailableAt.After(now) && !q.held(j) {
			if _, waits := q.behind(j); !waits {
				ready = append(ready, j)
			}
		}
		if j.Pool != pool && j.AvailableAt.After(q.seen) && !j.AvailableAt.After(now) {
			q.hint(j.Pool)
		}
	}
	if now.After(q.seen) {
		q.seen = now
	}
	slices.SortStableFunc(ready, func(a, b *queue.Job) int { return cmp.Compare(a.Priority, b.Priority) })
	var out []queue.Claim
	for _, j := range ready[:min(n, len(ready))] {
		j.Status, j.Worker, j.StartedAt, j.HeartbeatAt, j.LeaseUntil = queue.Running, worker, now, now, now.Add(ttl)
		j.Attempt++
		out = append(out, queue.Claim{Job: clone(j)})
	}
	return out
}

// held reports whether a subject of a job is held.
func (q *Queue) held(j *queue.Job) bool {
	return slices.ContainsFunc(q.holds, func(h queue.Hold) bool { return slices.Contains(j.Holds, h.Subject) })
}

// Extend implements queue.Queue.
func (q *Queue) Extend(_ context.Context, c queue.Claim, ttl time.Duration) error {
	return q.Atomically(func(t *Tx) error {
		if err := t.Check(c); err != nil {
			return err
		}
		j, now := q.jobs[c.Job.ID], q.now()
		j.HeartbeatAt, j.LeaseUntil = now, now.Add(ttl)
		return nil
	})
}

// Finish implements queue.Queue.
func (q *Queue) Finish(_ context.Context, c queue.Claim, o queue.Outcome) error {
	return q.Atomically(func(t *Tx) error {
		if err := t.Check(c); err != nil {
			return err
		}
		t.Finish(c, o)
		return nil
	})
}

// FinishTake implements queue.Queue.
func (q *Queue) FinishTake(
	_ context.Context, c queue.Claim, o queue.Outcome, pool, worker string, n int, ttl time.Duration,
) (claims []queue.Claim, err error) {
	err = q.Atomically(func(t *Tx) error {
		lost := t.Check(c)
		if lost == nil {
			t.Finish(c, o)
		}
		claims = q.take(pool, worker, n, ttl)
		return lost
	})
	return claims, err
}

// Cancel implements queue.Admin.
func (q *Queue) Cancel(_ context.Context, taskID int64, pools ...string) (out []queue.Job, err error) {
	err = q.Atomically(func(t *Tx) error { out = t.Cancel(taskID, 0, pools...); return nil })
	return out, err
}

// Reap implements queue.Admin.
func (q *Queue) Reap(context.Context) (out []queue.Job, err error) {
	err = q.Atomically(func(t *Tx) error {
		now := q.now()
		for _, open := range slices.Clone(q.open) {
			if j := *open; j.Status == queue.Running && !j.LeaseUntil.After(now) {
				j = queue.ApplyOutcome(j, queue.Outcome{Kind: queue.OutcomeRetry, At: now, Error: queue.LostHeartbeat}, now)
				t.end(j)
				out = append(out, clone(&j))
			}
		}
		return nil
	})
	return out, err
}

// Hasten implements queue.Restarter.
func (q *Queue) Hasten(_ context.Context, pool string, taskID int64) (n int, err error) {
	err = q.Atomically(func(*Tx) error {
		for _, j := range q.open {
			delayed := j.Status == queue.Queued && j.Error != "" && j.AvailableAt.After(q.now())
			if delayed && matches(j, queue.Filter{Pool: pool, TaskID: taskID}) {
				j.AvailableAt = q.now()
				q.hint(j.Pool)
				n++
			}
		}
		return nil
	})
	return n, err
}

// Repeat implements queue.Restarter.
func (q *Queue) Repeat(_ context.Context, id int64) (next int64, err error) {
	err = q.Atomically(func(t *Tx) error {
		j := q.jobs[id]
		if j == nil || j.Status != queue.Failed {
			return queue.ErrNotFailed
		}
		next = t.Put(queue.Anew(*j))[0]
		j.Status, j.Error = queue.Cancelled, queue.Repeated(*j, next)
		return nil
	})
	return next, err
}

// Hold implements queue.Admin.
func (q *Queue) Hold(_ context.Context, holds ...queue.Hold) error {
	return q.Atomically(func(t *Tx) error { t.Hold(holds...); return nil })
}

// Free implements queue.Admin.
func (q *Queue) Free(_ context.Context, holds ...queue.Hold) error {
	return q.Atomically(func(t *Tx) error { t.Free(holds...); return nil })
}

// Waiting implements queue.Admin.
func (q *Queue) Waiting(_ context.Context, f queue.Filter) ([]queue.Wait, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := q.waits(f)
	queue.ClaimOrder(out)
	return out[:min(len(out), limit(f))], nil
}

// HoldsIn implements queue.HoldFinder.
func (q *Queue) HoldsIn(_ context.Context, from, before string, limit int) (out []queue.Hold, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, h := range q.holds {
		if from <= h.Subject && h.Subject < before {
			out = append(out, h)
		}
	}
	slices.SortFunc(out, func(a, b queue.Hold) int {
		return cmp.Or(cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.Name, b.Name))
	})
	return out[:min(len(out), limit)], nil
}

// Jobs implements queue.Inspector.
func (q *Queue) Jobs(_ context.Context, f queue.Filter) ([]queue.Job, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := q.order
	if f.Open {
		all = q.open
	}
	var out []queue.Job
	for _, j := range all {
		if matches(j, f) && (f.Failed || len(out) < limit(f)) {
			out = append(out, clone(j))
		}
	}
	if f.Failed {
		slices.SortFunc(out, func(a, b queue.Job) int {
			return cmp.Or(b.FinishedAt.Compare(a.FinishedAt), cmp.Compare(b.ID, a.ID))
		})
	}
	return out[:min(len(out), limit(f))], nil
}

// Running lists the jobs of a key that run.
func (q *Queue) Running(key string) (ids []int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, j := range q.keys[key] {
		if j.Status == queue.Running {
			ids = append(ids, j.ID)
		}
	}
	return ids
}

// LastJob is the id of the newest job.
func (q *Queue) LastJob() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.lastID
}

// Job reads one job.
func (q *Queue) Job(id int64) (queue.Job, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	j, ok := q.jobs[id]
	if !ok {
		return queue.Job{}, false
	}
	return *j, true
}

func matches(j *queue.Job, f queue.Filter) bool {
	return (f.ID == 0 || j.ID == f.ID) && (f.Pool == "" || j.Pool == f.Pool) && (f.TaskID == 0 || j.TaskID == f.TaskID) &&
		(f.Key == "" || j.Key == f.Key) && (!f.Failed || j.Status == queue.Failed)
}

func limit(f queue.Filter) int {
	if f.Limit <= 0 {
		return 1000
	}
	return f.Limit
}

// Depth implements queue.Inspector.
func (q *Queue) Depth(context.Context) ([]queue.Depth, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	counts := map[queue.Depth]int64{}
	for _, j := range q.open {
		counts[queue.Depth{Pool: j.Pool, Status: j.Status}]++
	}
	var out []queue.Depth
	for d, n := range counts {
		d.Count = n
		out = append(out, d)
	}
	sort.Slice(out, func(i, k int) bool {
		if out[i].Pool != out[k].Pool {
			return out[i].Pool < out[k].Pool
		}
		return out[i].Status < out[k].Status
	})
	return out, nil
}

// Holds implements queue.Inspector.
func (q *Queue) Holds(context.Context) ([]queue.Hold, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return append([]queue.Hold(nil), q.holds...), nil
}

// Wake implements queue.Inspector.
func (q *Queue) Wake(pool string) <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waker(pool)
}
