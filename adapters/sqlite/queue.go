package sqlite

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/signalbox-dev/signalbox/queue"
)

// Put implements queue.Queue.
func (d *DB) Put(ctx context.Context, jobs ...queue.Job) (ids []int64, err error) {
	err = d.write(ctx, func(t *tx) error { ids, err = t.putAll(jobs); return err })
	return ids, err
}

func (t *tx) putAll(jobs []queue.Job) ([]int64, error) {
	ids := make([]int64, 0, len(jobs))
	for _, j := range jobs {
		id, err := t.put(j)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// dueMax bounds how many delayed jobs one Take looks at.
const dueMax = 1000

// Take implements queue.Queue.
func (d *DB) Take(ctx context.Context, pool, worker string, n int, ttl time.Duration) (claims []queue.Claim, err error) {
	err = d.write(ctx, func(t *tx) error { claims, err = t.take(pool, worker, n, ttl); return err })
	return claims, err
}

func (t *tx) take(pool, worker string, n int, ttl time.Duration) (claims []queue.Claim, err error) {
	if err := t.promote(); err != nil {
		return nil, err
	}
	ids, err := t.ids("select job_id from ready where pool = ? order by priority, job_id limit ?", pool, max(n, 0))
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		j, err := t.claim(id, worker, ttl)
		if err != nil {
			return nil, err
		}
		claims = append(claims, queue.Claim{Job: j})
	}
	return claims, nil
}

// FinishTake implements queue.Relay.
func (d *DB) FinishTake(ctx context.Context, c queue.Claim, o queue.Outcome, pool, worker string, n int, ttl time.Duration) (claims []queue.Claim, err error) {
	var lost error
	err = d.write(ctx, func(t *tx) error {
		if lost = t.finish(c, o); lost != nil && !errors.Is(lost, queue.ErrLost) {
			return lost
		}
		claims, err = t.take(pool, worker, n, ttl)
		return err
	})
	return claims, cmp.Or(err, lost)
}

// promote gives jobs whose time has come their place.
func (t *tx) promote() error {
	due, err := t.ids("select job_id from delayed where available_at <= ? order by available_at, job_id limit ?", micros(t.now), dueMax)
	if err != nil {
		return err
	}
	for _, id := range due {
		j, ok, err := t.job(id)
		if err != nil || !ok {
			return err
		}
		if err := t.displace(j); err != nil {
			return err
		}
		if err := t.place(j); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) claim(id int64, worker string, ttl time.Duration) (queue.Job, error) {
	j, _, err := t.job(id)
	if err != nil {
		return j, err
	}
	if err := t.displace(j); err != nil {
		return j, err
	}
	j.Status, j.Worker, j.StartedAt, j.HeartbeatAt, j.LeaseUntil = queue.Running, worker, t.now, t.now, t.now.Add(ttl)
	j.Attempt++
	err = t.exec("update jobs set status = 'running', attempt = ?, worker = ?, started_at = ?, heartbeat_at = ?, lease_until = ? where id = ?",
		j.Attempt, worker, micros(t.now), micros(t.now), micros(j.LeaseUntil), id)
	if err != nil {
		return j, err
	}
	if err := t.exec("insert into running (job_id, lease_until) values (?, ?)", id, micros(j.LeaseUntil)); err != nil {
		return j, err
	}
	if err := t.count(j.Pool, queue.Queued, -1); err != nil {
		return j, err
	}
	return j, t.count(j.Pool, queue.Running, 1)
}

// Extend implements queue.Queue.
func (d *DB) Extend(ctx context.Context, c queue.Claim, ttl time.Duration) error {
	return d.write(ctx, func(t *tx) error {
		if _, err := t.held(c); err != nil {
			return err
		}
		until := micros(t.now.Add(ttl))
		if err := t.exec("update jobs set heartbeat_at = ?, lease_until = ? where id = ?", micros(t.now), until, c.Job.ID); err != nil {
			return err
		}
		return t.exec("update running set lease_until = ? where job_id = ?", until, c.Job.ID)
	})
}

// held loads the job of a claim, or returns ErrLost.
func (t *tx) held(c queue.Claim) (queue.Job, error) {
	j, ok, err := t.job(c.Job.ID)
	if err == nil && (!ok || j.Status != queue.Running || j.Attempt != c.Job.Attempt) {
		err = queue.ErrLost
	}
	return j, err
}

// Finish implements queue.Queue.
func (d *DB) Finish(ctx context.Context, c queue.Claim, o queue.Outcome) error {
	return d.write(ctx, func(t *tx) error { return t.finish(c, o) })
}

func (t *tx) finish(c queue.Claim, o queue.Outcome) error {
	j, err := t.held(c)
	if err != nil {
		return err
	}
	if err := t.change(j, queue.After(j, o, t.now)); err != nil {
		return err
	}
	_, err = t.putAll(o.Then)
	return err
}

// Cancel implements queue.Keeper.
func (d *DB) Cancel(ctx context.Context, taskID int64, pools ...string) (jobs []queue.Job, err error) {
	err = d.write(ctx, func(t *tx) error { jobs, err = t.cancel(taskID, 0, pools, true); return err })
	return jobs, err
}

func (t *tx) cancel(taskID, except int64, pools []string, running bool) ([]queue.Job, error) {
	if pools == nil {
		pools = []string{}
	}
	ids, err := t.ids(`select job_id from open_jobs where task_id = ?1 and job_id <> ?2
		and (json_array_length(?3) = 0 or pool in (select value from json_each(?3))) order by job_id`, taskID, except, encode(pools))
	if err != nil {
		return nil, err
	}
	var out []queue.Job
	for _, id := range ids {
		before, _, err := t.job(id)
		if err != nil {
			return nil, err
		}
		if before.Status == queue.Running && !running {
			continue
		}
		j := before
		j.Status, j.FinishedAt, j.Worker = queue.Cancelled, t.now, ""
		j.HeartbeatAt, j.LeaseUntil = timeOf(0), timeOf(0)
		if err := t.change(before, j); err != nil {
			return nil, err
		}
		out = append(out, j)
	}
	return out, nil
}

// Reap implements queue.Keeper.
func (d *DB) Reap(ctx context.Context) (jobs []queue.Job, err error) {
	err = d.write(ctx, func(t *tx) error {
		jobs = nil
		ids, err := t.ids("select job_id from running where lease_until <= ? order by job_id", micros(t.now))
		if err != nil {
			return err
		}
		for _, id := range ids {
			before, _, err := t.job(id)
			if err != nil {
				return err
			}
			after := queue.After(before, queue.Outcome{Kind: queue.OutcomeRetry, At: t.now, Error: queue.LostHeartbeat}, t.now)
			if err := t.change(before, after); err != nil {
				return err
			}
			jobs = append(jobs, after)
		}
		return nil
	})
	return jobs, err
}
