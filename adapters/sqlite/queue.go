package sqlite

import (
	"context"
	"errors"
	"time"

	"github.com/signalbox-dev/signalbox/queue"
)

// Put implements queue.Queue.
func (d *DB) Put(ctx context.Context, jobs ...queue.Job) ([]int64, error) {
	if len(jobs) == 0 {
		return []int64{}, nil
	}
	r := &request{ctx: ctx, put: jobs}
	err := d.hand(r)
	return r.ids, err
}

// takeMax bounds how many claims one call asks for: more than there ever are.
const takeMax = 1 << 30

// Take implements queue.Queue.
func (d *DB) Take(ctx context.Context, pool, worker string, n int, ttl time.Duration) ([]queue.Claim, error) {
	r := &request{ctx: ctx, take: &taking{pool, worker, min(n, takeMax), ttl}}
	if err := d.hand(r); err != nil {
		return nil, err
	}
	return r.claims, nil
}

// Extend implements queue.Queue.
func (d *DB) Extend(ctx context.Context, c queue.Claim, ttl time.Duration) error {
	return d.hand(&request{ctx: ctx, extend: &extending{c, ttl}})
}

// Finish implements queue.Queue.
func (d *DB) Finish(ctx context.Context, c queue.Claim, o queue.Outcome) error {
	return d.hand(&request{ctx: ctx, finish: &finishing{c, o}})
}

// FinishTake implements queue.Relay.
func (d *DB) FinishTake(ctx context.Context, c queue.Claim, o queue.Outcome, pool, worker string, n int, ttl time.Duration) ([]queue.Claim, error) {
	r := &request{ctx: ctx, finish: &finishing{c, o}, take: &taking{pool, worker, min(n, takeMax), ttl}}
	if err := d.hand(r); err != nil && !errors.Is(err, queue.ErrLost) {
		return nil, err
	}
	return r.claims, r.err
}

// extendAll prolongs claims that are still held.
func (t *tx) extendAll(batch []*request) error {
	all := wanting(batch, func(r *request) bool { return r.extend != nil })
	if len(all) == 0 {
		return nil
	}
	ids := make([]int64, len(all))
	for i, r := range all {
		ids[i] = r.extend.claim.Job.ID
	}
	running, err := t.running(ids)
	if err != nil {
		return err
	}
	byTTL := map[time.Duration][]int64{}
	for _, r := range all {
		j := running[r.extend.claim.Job.ID]
		if j == nil || j.Attempt != r.extend.claim.Job.Attempt {
			r.err = queue.ErrLost
			continue
		}
		byTTL[r.extend.ttl] = append(byTTL[r.extend.ttl], j.ID)
		j.HeartbeatAt, j.LeaseUntil = t.now, t.now.Add(r.extend.ttl)
	}
	for ttl, ids := range byTTL {
		err := t.exec("update running set heartbeat_at = ?, lease_until = ? where job_id in (select value from json_each(?))", micros(t.now), micros(t.now.Add(ttl)), list(ids))
		if err != nil {
			return err
		}
	}
	return nil
}

// Cancel implements queue.Keeper.
func (d *DB) Cancel(ctx context.Context, taskID int64, pools ...string) (jobs []queue.Job, err error) {
	err = d.write(ctx, func(t *tx) error { jobs, err = t.cancel(taskID, 0, pools, true); return err })
	return jobs, err
}

// cancel cancels unfinished jobs of a task; those at work only when it is told to.
func (t *tx) cancel(taskID, except int64, pools []string, running bool) ([]queue.Job, error) {
	cleaned := make([]string, len(pools))
	for i, p := range pools {
		cleaned[i] = text(p)
	}
	jobs, err := t.read(`where j.task_id = ?1 and exists (select 1 from open_jobs o where o.job_id = j.id) and j.id <> ?2
		and (json_array_length(?3) = 0 or j.pool in (select value from json_each(?3))) order by j.id`, taskID, except, encode(cleaned))
	if err != nil {
		return nil, err
	}
	var all []change
	var out []queue.Job
	for _, before := range jobs {
		if before.Status == queue.Running && !running {
			continue
		}
		j := before
		j.Status, j.FinishedAt, j.Worker = queue.Cancelled, t.now, ""
		j.HeartbeatAt, j.LeaseUntil = time.Time{}, time.Time{}
		all, out = append(all, change{before, j}), append(out, j)
	}
	return out, t.change(all)
}

// Hasten implements queue.Restarter.
func (d *DB) Hasten(ctx context.Context, pool string, taskID int64) (n int, err error) {
	err = d.write(ctx, func(t *tx) error { n, err = t.hasten(pool, taskID); return err })
	return n, err
}

// hasten makes delayed jobs due: those are the first of their keys.
func (t *tx) hasten(pool string, taskID int64) (int, error) {
	jobs, err := t.read(`where j.id in (select job_id from delayed where available_at > ?1) and j.error <> ''
		and (?2 = '' or j.pool = ?2) and (?3 = 0 or j.task_id = ?3) order by j.id`, micros(t.now), text(pool), taskID)
	if err != nil {
		return 0, err
	}
	all := make([]change, 0, len(jobs))
	for _, before := range jobs {
		after := before
		after.AvailableAt = t.now
		all = append(all, change{before, after})
	}
	return len(all), t.change(all)
}

// Repeat implements queue.Restarter.
func (d *DB) Repeat(ctx context.Context, id int64) (next int64, err error) {
	err = d.write(ctx, func(t *tx) error { next, err = t.repeat(id); return err })
	return next, err
}

func (t *tx) repeat(id int64) (next int64, err error) {
	jobs, err := t.read("where j.id = ?1 and e.status = 'failed'", id)
	if err != nil {
		return 0, err
	}
	if len(jobs) == 0 {
		return 0, queue.ErrNotFailed
	}
	ids, err := t.put([]queue.Job{queue.Anew(jobs[0])})
	if err != nil {
		return 0, err
	}
	return ids[0], t.exec("update ended set status = ?2, error = ?3 where job_id = ?1", id, string(queue.Cancelled), queue.Repeated(jobs[0], ids[0]))
}

// Reap implements queue.Keeper.
func (d *DB) Reap(ctx context.Context) (jobs []queue.Job, err error) {
	err = d.write(ctx, func(t *tx) error { jobs, err = t.reap(); return err })
	return jobs, err
}

func (t *tx) reap() ([]queue.Job, error) {
	jobs, err := t.read("where j.id in (select job_id from running where lease_until <= ?) order by j.id", micros(t.now))
	if err != nil {
		return nil, err
	}
	var all []change
	var out []queue.Job
	for _, before := range jobs {
		after := queue.After(before, queue.Outcome{Kind: queue.OutcomeRetry, At: t.now, Error: queue.LostHeartbeat}, t.now)
		all, out = append(all, change{before, after}), append(out, after)
	}
	return out, t.change(all)
}
