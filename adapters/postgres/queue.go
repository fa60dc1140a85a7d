package postgres

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/signalbox-dev/signalbox/queue"
)

// Put implements queue.Queue.
func (d *DB) Put(ctx context.Context, jobs ...queue.Job) ([]int64, error) {
	r := &request{ctx: ctx, put: jobs}
	if len(jobs) == 0 {
		return []int64{}, nil
	}
	err := d.write(r)
	return r.ids, err
}

// Take implements queue.Queue. It gives at most 5000 claims, whatever n is.
func (d *DB) Take(ctx context.Context, pool, worker string, n int, ttl time.Duration) ([]queue.Claim, error) {
	r := &request{ctx: ctx, take: &taking{pool, worker, max(n, 0), ttl}}
	err := d.write(r)
	if err != nil {
		return nil, err
	}
	return r.claims, nil
}

// Extend implements queue.Queue.
func (d *DB) Extend(ctx context.Context, c queue.Claim, ttl time.Duration) error {
	return d.write(&request{ctx: ctx, extend: &extending{c, ttl}})
}

// Finish implements queue.Queue.
func (d *DB) Finish(ctx context.Context, c queue.Claim, o queue.Outcome) error {
	return d.write(&request{ctx: ctx, finish: &finishing{c, o}})
}

// FinishTake implements queue.Relay.
func (d *DB) FinishTake(ctx context.Context, c queue.Claim, o queue.Outcome, pool, worker string, n int, ttl time.Duration) ([]queue.Claim, error) {
	r := &request{ctx: ctx, finish: &finishing{c, o}, take: &taking{pool, worker, max(n, 0), ttl}}
	if err := d.write(r); err != nil && !errors.Is(err, queue.ErrLost) {
		return nil, err
	}
	return r.claims, r.err
}

// Cancel implements queue.Keeper.
func (d *DB) Cancel(ctx context.Context, taskID int64, pools ...string) (jobs []queue.Job, err error) {
	err = d.alone(ctx, func(t *tx) error { jobs, err = t.cancel(taskID, 0, pools, true); return err })
	return jobs, err
}

// Reap implements queue.Keeper.
func (d *DB) Reap(ctx context.Context) (jobs []queue.Job, err error) {
	err = d.alone(ctx, func(t *tx) error { jobs, err = t.reap(); return err })
	return jobs, err
}

// extendAll prolongs claims that are still held.
func (t *tx) extendAll(batch []*request) error {
	asked := map[fence]bool{}
	var ids, attempts []int64
	var leases []*time.Time
	for _, r := range batch {
		if r.extend == nil {
			continue
		}
		f := fence{r.extend.claim.Job.ID, r.extend.claim.Job.Attempt}
		if asked[f] { // a claim is prolonged once for each transaction, by whoever came first
			continue
		}
		asked[f] = true // of two attempts of a job one is held at most
		ids, attempts, leases = append(ids, f.id), append(attempts, int64(f.attempt)), append(leases, when(t.now.Add(r.extend.ttl)))
	}
	if len(ids) == 0 {
		return nil
	}
	held, err := rows(t, scanFence, `with held as (
			update ~jobs j set heartbeat_at = $1, lease_until = u.until from unnest($2::bigint[], $3::bigint[], $4::timestamptz[]) u(i, a, until)
			where j.id = u.i and j.attempt = u.a and j.status = 'running' returning j.id, j.attempt, j.lease_until)
		update ~running r set lease_until = held.lease_until from held where r.job_id = held.id returning held.id, held.attempt`,
		t.now, ids, attempts, leases)
	for _, r := range batch {
		if r.extend != nil && !slices.Contains(held, fence{r.extend.claim.Job.ID, r.extend.claim.Job.Attempt}) {
			r.err = queue.ErrLost
		}
	}
	return err
}

// fence is what makes a claim one's own.
type fence struct {
	id      int64
	attempt int
}

func scanFence(row pgx.CollectableRow) (f fence, err error) { return f, row.Scan(&f.id, &f.attempt) }

// finishAll ends claims and returns the jobs that follow them.
func (t *tx) finishAll(batch []*request) (then []queue.Job, err error) {
	var ids []int64
	for _, r := range batch {
		if r.finish != nil {
			ids = append(ids, r.finish.claim.Job.ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	running, err := t.running(ids)
	if err != nil {
		return nil, err
	}
	var all []change
	for _, r := range batch {
		if r.finish == nil {
			continue
		}
		j, ok := running[r.finish.claim.Job.ID]
		if !ok || j.Attempt != r.finish.claim.Job.Attempt {
			r.err = queue.ErrLost
			continue
		}
		delete(running, j.ID) // a second end of one claim is too late
		all = append(all, change{j, queue.After(j, r.finish.outcome, t.now)})
		then = append(then, r.finish.outcome.Then...)
	}
	t.change(all)
	return then, nil
}

// running reads running jobs.
func (t *tx) running(ids []int64) (map[int64]queue.Job, error) {
	jobs, err := rows(t, scanJob, "select "+jobColumns+" from ~jobs where id = any($1::bigint[]) and status = 'running'", ids)
	out := make(map[int64]queue.Job, len(jobs))
	for _, j := range jobs {
		out[j.ID] = j
	}
	return out, err
}

// putEach adds the jobs of every request, and those that follow a claim.
func (t *tx) putEach(then []queue.Job, batch []*request) error {
	jobs := then
	for _, r := range batch {
		jobs = append(jobs, r.put...)
	}
	ids, err := t.put(jobs)
	if err != nil {
		return err
	}
	ids = ids[len(then):]
	for _, r := range batch {
		if r.put != nil {
			r.ids, ids = ids[:len(r.put):len(r.put)], ids[len(r.put):]
		}
	}
	return nil
}

// cancel cancels unfinished jobs of a task; those at work only when it is told to.
func (t *tx) cancel(taskID, except int64, pools []string, running bool) (out []queue.Job, err error) {
	jobs, err := rows(t, scanJob, "select "+jobColumns+` from ~jobs where id in (select job_id from ~open_jobs
		where task_id = $1 and job_id <> $2 and (cardinality($3::text[]) = 0 or pool = any($3::text[]))) order by id`, taskID, except, texts(pools))
	if err != nil {
		return nil, err
	}
	var all []change
	for _, before := range jobs {
		if before.Status == queue.Running && !running {
			continue
		}
		j := before
		j.Status, j.FinishedAt, j.Worker = queue.Cancelled, t.now, ""
		j.HeartbeatAt, j.LeaseUntil = time.Time{}, time.Time{}
		all, out = append(all, change{before, j}), append(out, j)
	}
	t.change(all)
	return out, nil
}

func (t *tx) reap() (out []queue.Job, err error) {
	jobs, err := rows(t, scanJob, "select "+jobColumns+" from ~jobs where id in (select job_id from ~running where lease_until <= $1) order by id", t.now)
	if err != nil {
		return nil, err
	}
	var all []change
	for _, before := range jobs {
		after := queue.After(before, queue.Outcome{Kind: queue.OutcomeRetry, At: t.now, Error: queue.LostHeartbeat}, t.now)
		all, out = append(all, change{before, after}), append(out, after)
	}
	t.change(all)
	return out, nil
}
