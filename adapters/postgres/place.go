package postgres

import (
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/signalbox-dev/signalbox/queue"
)

// jobColumns is the order in which scanJob reads.
const jobColumns = `id, pool, kind, key, task_id, lane, role, holds, payload, priority, available_at, max_attempts, dedupe_key,
	status, attempt, worker, heartbeat_at, lease_until, created_at, started_at, finished_at, error`

// storedColumns are jobColumns of a row of jobs.
const storedColumns = `id, pool, kind, key, task_id, lane, role, holds, payload, priority, available_at, max_attempts, dedupe_key,
	status, attempt, '', null::timestamptz, null::timestamptz, created_at, started_at, finished_at, error`

func scanJob(row pgx.CollectableRow) (queue.Job, error) { return scanJobAnd(row) }

// scanJobAnd reads a job and the columns that follow it.
func scanJobAnd(row pgx.CollectableRow, more ...any) (j queue.Job, err error) {
	at := make([]*time.Time, 6)
	err = row.Scan(append([]any{&j.ID, &j.Pool, &j.Kind, &j.Key, &j.TaskID, &j.Lane, &j.Role, &j.Holds, &j.Payload, &j.Priority, &at[0], &j.MaxAttempts,
		&j.DedupeKey, &j.Status, &j.Attempt, &j.Worker, &at[1], &at[2], &at[3], &at[4], &at[5], &j.Error}, more...)...)
	times(at, &j.AvailableAt, &j.HeartbeatAt, &j.LeaseUntil, &j.CreatedAt, &j.StartedAt, &j.FinishedAt)
	if len(j.Holds) == 0 {
		j.Holds = nil
	}
	return j, err
}

// placeQuery gives queued jobs that are nowhere their place: a token to those
// that are first of their key, due and not held; a timer to those that are first
// and not due. $1 is the time, $2 the newest hold.
const placeQuery = `with %s n as materialized (
		select o.*, o.key <> '' and (select k.job_id from ~open_jobs k where k.key = o.key and k.job_id < o.job_id order by k.job_id desc limit 1) is not null as behind
		from (%s) s join ~open_jobs o on o.key = s.key and o.job_id = s.job_id
	), next as materialized (select n.*, ` + heldSubject + ` as held from n where not behind
	), parked as (
		insert into ~parked (subject, job_id, key) select held, job_id, key from next where held is not null and (available_at is null or available_at <= $1) on conflict do nothing
	), later as (
		insert into ~delayed (available_at, job_id, key) select available_at, job_id, key from next where available_at > $1 on conflict do nothing returning available_at
	), token as (
		insert into ~ready (pool, priority, job_id, attempt, checked)
		select pool, priority, job_id, attempt, ` + upToNow + ` from next where held is null and (available_at is null or available_at <= $1) on conflict do nothing returning pool, priority, job_id
	)` + placedRows

// placedRows tells of the tokens and times that a statement has made.
const placedRows = `
	select ` + tokenKind + ` as what, pool, priority, min(job_id) as job_id, null::timestamptz as at from token group by pool, priority
	union all select ` + laterKind + `, null, 0, 0, min(available_at) from later having count(*) > 0`

// placeFrom places the jobs of a source of keys and ids.
func (t *tx) placeFrom(with, source string, args ...any) {
	t.unsure = true
	t.askHeld()
	t.exec(fmt.Sprintf(placeQuery, with, source), append([]any{t.now, t.memory.hold}, args...)...).Query(t.allPlaced)
}

// allPlaced reads rows about places.
func (t *tx) allPlaced(rows pgx.Rows) error {
	for rows.Next() {
		var what int64
		var pool *string
		var at token
		var due *time.Time
		if err := rows.Scan(&what, &pool, &at.priority, &at.job, &due); err != nil {
			return err
		}
		t.tell(func() { t.placed(pool, at, due) })
	}
	return rows.Err()
}

// placed remembers a token of a pool, or when a job is due.
func (t *tx) placed(pool *string, at token, due *time.Time) {
	if pool != nil {
		t.wake[*pool] = true
		t.memory.placed(*pool, at)
	}
	if due != nil {
		t.memory.delayed(*due)
	}
}

// change is what becomes of a job that was running or queued.
type change struct{ before, after queue.Job }

// change stores what became of jobs.
func (t *tx) change(all []change) {
	if len(all) == 0 {
		return
	}
	t.update(all)
	t.displace(all)
	var keys, againKeys, left []string
	var again, gone []int64
	for _, c := range all {
		t.memory.change(c.after)
		if c.before.Status == queue.Running {
			t.freed(c.before.Pool)
		}
		if !c.after.Status.Terminal() {
			again, againKeys = append(again, c.after.ID), append(againKeys, c.after.Key)
			continue
		}
		t.count(c.before.Pool, -1)
		delete(t.memory.named, c.after.DedupeKey)
		gone, left = append(gone, c.after.ID), append(left, c.after.Key)
		if c.after.Key != "" {
			keys = append(keys, c.after.Key)
		}
	}
	if len(gone) > 0 {
		t.exec("delete from ~open_jobs o using unnest($1::text[], $2::bigint[]) u(key, id) where o.key = u.key and o.job_id = u.id", left, gone)
	}
	if len(again)+len(keys) > 0 {
		t.placeFrom("", `select * from unnest($3::text[], $4::bigint[]) s(key, job_id) union select u.key, f.job_id from unnest($5::text[]) u(key)
			cross join lateral (select o.* from ~open_jobs o where o.key = u.key order by o.job_id limit 1) f
			where not exists (select from ~ready r where r.pool = f.pool and r.priority = f.priority and r.job_id = f.job_id)
				and not exists (select from ~delayed d where d.available_at = f.available_at and d.job_id = f.job_id)
				and not exists (select from ~parked p where p.subject = any(f.holds) and p.job_id = f.job_id)
				and f.job_id <> all(array(select job_id from ~running))`, texts(againKeys), orNone(again), texts(keys))
	}
}

// orNone is never nil: that would be null.
func orNone(ids []int64) []int64 { return append([]int64{}, ids...) }

func (t *tx) update(all []change) {
	n := len(all)
	ids, attempts, maxAttempts := make([]int64, n), make([]int64, n), make([]int64, n)
	keys, statuses, errs := make([]string, n), make([]string, n), make([]string, n)
	available, started, finished := make([]*time.Time, n), make([]*time.Time, n), make([]*time.Time, n)
	for i, c := range all {
		j := c.after
		ids[i], attempts[i], maxAttempts[i], keys[i], statuses[i], errs[i] = j.ID, int64(j.Attempt), int64(j.MaxAttempts), j.Key, string(j.Status), j.Error
		available[i], started[i], finished[i] = when(j.AvailableAt), when(j.StartedAt), when(j.FinishedAt)
	}
	t.exec(`with u as materialized (select * from unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::text[], $6::timestamptz[], $7::timestamptz[], $8::timestamptz[], $9::text[])
			u(i, k, t, m, s, a, b, f, e)
		), again as (update ~open_jobs o set available_at = u.a, attempt = u.t from u where o.key = u.k and o.job_id = u.i and u.s = 'queued')
		update ~jobs j set status = u.s, attempt = u.t, available_at = u.a, max_attempts = u.m, started_at = u.b, finished_at = u.f, error = u.e from u where j.id = u.i`,
		ids, keys, attempts, maxAttempts, statuses, available, started, finished, errs)
}

// displace takes jobs out of their places.
func (t *tx) displace(all []change) {
	var ids, priorities, held []int64
	var pools, subjects []string
	var due []*time.Time
	for _, c := range all {
		j := c.before
		if j.Status == queue.Running {
			t.memory.released(j.ID)
			continue
		}
		ids, pools, priorities, due = append(ids, j.ID), append(pools, j.Pool), append(priorities, int64(j.Priority)), append(due, when(j.AvailableAt))
		for _, s := range j.Holds {
			subjects, held = append(subjects, s), append(held, j.ID)
		}
	}
	if len(held) > 0 {
		t.exec("delete from ~parked p using unnest($1::text[], $2::bigint[]) u(subject, id) where p.subject = u.subject and p.job_id = u.id", subjects, held)
	}
	if len(ids) == 0 {
		return
	}
	t.exec(`delete from ~ready r using unnest($1::text[], $2::bigint[], $3::bigint[]) u(pool, priority, id)
		where r.pool = u.pool and r.priority = u.priority and r.job_id = u.id`, pools, priorities, ids)
	t.exec("delete from ~delayed d using unnest($1::timestamptz[], $2::bigint[]) u(at, id) where d.available_at = u.at and d.job_id = u.id", due, ids)
}
