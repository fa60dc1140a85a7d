package postgres

import (
	"context"
	"errors"
	"time"

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

// held tells which claims are held, and their jobs: from memory, or else by
// asking.
func (t *tx) held(claims []*queue.Claim) (map[int64]*queue.Job, error) {
	out, known := make(map[int64]*queue.Job, len(claims)), make([]queue.Job, 0, len(claims))
	asked := map[int64]queue.Job{}
	var ask []int64
	ended := map[int64]bool{} // in this transaction, by another request
	for _, e := range t.ends {
		ended[e.id] = true
	}
	for _, c := range claims {
		if ended[c.Job.ID] {
			continue
		}
		if j, ok := t.memory.claimed(*c); ok && t.sole {
			known = append(known, j)
			out[j.ID] = &known[len(known)-1]
		} else if was, twice := asked[c.Job.ID]; !twice || was.Attempt < c.Job.Attempt {
			ask, asked[c.Job.ID] = append(ask, c.Job.ID), c.Job
		}
	}
	if len(ask) == 0 {
		return out, nil
	}
	jobs, err := rows(t, scanJob, "select "+storedColumns+" from ~jobs where id = any($1::bigint[]) and status = 'queued'", ask)
	for i := range jobs {
		j := &jobs[i]
		c := asked[j.ID]
		if j.Attempt++; j.Attempt == c.Attempt {
			j.Status, j.Worker, j.StartedAt, j.HeartbeatAt, j.LeaseUntil = queue.Running, c.Worker, c.StartedAt, c.HeartbeatAt, c.LeaseUntil
			out[j.ID] = j
		}
	}
	return out, err
}

// endAll prolongs and ends claims that are held, and returns the jobs that follow.
func (t *tx) endAll(batch []*request) (then []queue.Job, err error) {
	var claims []*queue.Claim
	for _, r := range batch {
		if c := r.claim(); c != nil {
			claims = append(claims, c)
		}
	}
	if len(claims) == 0 {
		return nil, nil
	}
	held, err := t.held(claims)
	if err != nil {
		return nil, err
	}
	longer := map[int64]queue.Job{}
	var again []change
	for _, r := range batch {
		c := r.claim()
		if c == nil {
			continue
		}
		j := held[c.Job.ID]
		switch {
		case j == nil || j.Attempt != c.Job.Attempt:
			r.err = queue.ErrLost
		case r.extend != nil:
			if _, asked := longer[j.ID]; asked { // once for each transaction, by whoever came first
				continue
			}
			j.HeartbeatAt, j.LeaseUntil = t.now, t.now.Add(r.extend.ttl)
			longer[j.ID] = *j
		default:
			delete(held, j.ID) // a second end of one claim is too late
			after := queue.After(*j, r.finish.outcome, t.now)
			then = append(then, r.finish.outcome.Then...)
			if !after.Status.Terminal() {
				again = append(again, change{*j, after})
				continue
			}
			t.finish(after)
		}
	}
	t.extend(longer)
	t.change(again)
	return then, nil
}

// claim is what a request prolongs or ends.
func (r *request) claim() *queue.Claim {
	switch {
	case r.extend != nil:
		return &r.extend.claim
	case r.finish != nil:
		return &r.finish.claim
	default:
		return nil
	}
}

// finish ends the claim of a job with the next step, as the job will be; its dedupe
// key is free for what is put: see put.
func (t *tx) finish(j queue.Job) {
	t.ends = append(t.ends, ending{j.ID, int64(j.Attempt), j.Pool, j.Key, string(j.Status), text(j.Error), j.StartedAt})
	if j.DedupeKey != "" {
		t.unnamed[j.DedupeKey] = true
		delete(t.memory.named, j.DedupeKey)
	}
	t.freed(j.Pool)
}

// extend stores new leases: as claims of their own, by whom and until when.
func (t *tx) extend(jobs map[int64]queue.Job) {
	type of struct {
		pool, worker string
		until        time.Time
	}
	groups := map[of][]queue.Job{}
	for _, j := range jobs {
		k := of{j.Pool, j.Worker, stamp(j.LeaseUntil)}
		groups[k] = append(groups[k], j)
	}
	slot := int64(0) // below those of the claims that are made here
	for k, jobs := range groups {
		slot--
		ids, attempts, started := make([]int64, len(jobs)), make([]int64, len(jobs)), make([]*time.Time, len(jobs))
		for i, j := range jobs {
			ids[i], attempts[i], started[i] = j.ID, int64(j.Attempt), when(j.StartedAt)
			t.memory.claim(j)
			t.memory.claimedBy(j.ID, batch{t.seq, slot})
		}
		t.exec("insert into ~claims (writer, seq, slot, pool, worker, heartbeat_at, lease_until, ids, attempts, started) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
			t.db.me, t.seq, slot, k.pool, k.worker, t.now, k.until, ids, attempts, started)
	}
}

// spentMax is how many rows of claims that mean nothing any more are left lying.
const spentMax = 64

// tidy removes rows of claims of which none is held.
func (t *tx) tidy() {
	if len(t.memory.spent) < spentMax {
		return
	}
	var seqs, slots []int64
	for _, b := range t.memory.spent {
		seqs, slots = append(seqs, b.seq), append(slots, b.slot)
	}
	t.memory.spent = nil
	t.exec("delete from ~claims c using unnest($2::bigint[], $3::bigint[]) u(seq, slot) where c.writer = $1 and c.seq = u.seq and c.slot = u.slot", t.db.me, seqs, slots)
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
	jobs, err := rows(t, scanJob, "select "+jobColumns+` from ~job_states
		where task_id = $1 and id <> $2 and status in ('queued', 'running') and (cardinality($3::text[]) = 0 or pool = any($3::text[])) order by id`, taskID, except, texts(pools))
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

// Hasten implements queue.Restarter.
func (d *DB) Hasten(ctx context.Context, pool string, taskID int64) (n int, err error) {
	err = d.alone(ctx, func(t *tx) error { n, err = t.hasten(pool, taskID); return err })
	return n, err
}

// hasten makes delayed jobs due: those are the first of their keys.
func (t *tx) hasten(pool string, taskID int64) (int, error) {
	jobs, err := rows(t, scanJob, "select "+jobColumns+` from ~job_states
		where id in (select job_id from ~delayed where available_at > $1) and error <> '' and ($2::text = '' or pool = $2) and ($3::bigint = 0 or task_id = $3) order by id`,
		t.now, text(pool), taskID)
	if err != nil {
		return 0, err
	}
	all := make([]change, 0, len(jobs))
	for _, before := range jobs {
		after := before
		after.AvailableAt = t.now
		all = append(all, change{before, after})
	}
	t.change(all)
	return len(all), nil
}

// Repeat implements queue.Restarter.
func (d *DB) Repeat(ctx context.Context, id int64) (next int64, err error) {
	err = d.alone(ctx, func(t *tx) error { next, err = t.repeat(id); return err })
	return next, err
}

func (t *tx) repeat(id int64) (next int64, err error) {
	jobs, err := rows(t, scanJob, "select "+storedColumns+" from ~jobs where id = $1 and status = 'failed'", id)
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
	t.exec("update ~jobs set status = $2, error = $3 where id = $1", id, string(queue.Cancelled), queue.Repeated(jobs[0], ids[0]))
	return ids[0], nil
}

func (t *tx) reap() (out []queue.Job, err error) {
	jobs, err := rows(t, scanJob, "select "+jobColumns+" from ~job_states where id in (select job_id from ~running where lease_until <= $1) order by id", t.now)
	if err != nil {
		return nil, err
	}
	t.exec("delete from ~claims where lease_until <= $1", t.now)
	var all []change
	for _, before := range jobs {
		after := queue.After(before, queue.Outcome{Kind: queue.OutcomeRetry, At: t.now, Error: queue.LostHeartbeat}, t.now)
		all, out = append(all, change{before, after}), append(out, after)
	}
	t.change(all)
	return out, nil
}
