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
// and not due. It returns the pools of the tokens. $1 is the time.
const placeQuery = `with %s candidate as materialized (
	select j.id, j.pool, j.priority, j.available_at, j.holds from (%s) s join ~jobs j on j.id = s.id
	where j.status = 'queued' and (j.key = '' or not exists (select 1 from ~keyed k where k.key = j.key and k.job_id < j.id))
), later as (
	insert into ~delayed (available_at, job_id) select available_at, id from candidate where available_at > $1 on conflict do nothing
)
insert into ~ready (pool, priority, job_id) select pool, priority, id from candidate c
	where (available_at is null or available_at <= $1) and not exists (select 1 from ~holds h where h.subject = any(c.holds))
	on conflict do nothing returning pool`

// place places jobs, and the first ones of keys.
func (t *tx) place(ids []int64, keys []string) {
	if len(ids)+len(keys) == 0 {
		return
	}
	if ids == nil {
		ids = []int64{}
	}
	t.placeFrom("", `select unnest($2::bigint[]) as id union select f.id from unnest($3::text[]) u(key)
		cross join lateral (select k.job_id as id from ~keyed k where k.key = u.key order by k.job_id limit 1) f`, t.now, ids, texts(keys))
}

func (t *tx) placeFrom(with, source string, args ...any) {
	t.exec(fmt.Sprintf(placeQuery, with, source), args...).Query(func(rows pgx.Rows) error {
		pools, err := pgx.CollectRows(rows, pgx.RowTo[string])
		for _, pool := range pools {
			t.wake[pool] = true
		}
		return err
	})
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
	var left, again []int64
	var keys []string
	for _, c := range all {
		t.count(c.before.Pool, c.before.Status, -1)
		if !c.after.Status.Terminal() {
			t.count(c.after.Pool, c.after.Status, 1)
			again = append(again, c.after.ID)
			continue
		}
		left = append(left, c.after.ID)
		if c.after.Key != "" {
			keys = append(keys, c.after.Key)
		}
	}
	t.leave(all, left)
	t.place(again, keys)
}

func (t *tx) update(all []change) {
	n := len(all)
	ids, attempts := make([]int64, n), make([]int64, n)
	statuses, workers, texts := make([]string, n), make([]string, n), make([]string, n)
	available, heartbeat, lease, finished := make([]*time.Time, n), make([]*time.Time, n), make([]*time.Time, n), make([]*time.Time, n)
	for i, c := range all {
		j := c.after
		ids[i], attempts[i], statuses[i], workers[i], texts[i] = j.ID, int64(j.MaxAttempts), string(j.Status), j.Worker, j.Error
		available[i], heartbeat[i], lease[i], finished[i] = when(j.AvailableAt), when(j.HeartbeatAt), when(j.LeaseUntil), when(j.FinishedAt)
	}
	t.exec(`update ~jobs j set status = u.s, available_at = u.a, max_attempts = u.m, worker = u.w, heartbeat_at = u.h, lease_until = u.l, finished_at = u.f, error = u.e
		from unnest($1::bigint[], $2::text[], $3::timestamptz[], $4::bigint[], $5::text[], $6::timestamptz[], $7::timestamptz[], $8::timestamptz[], $9::text[])
			u(i, s, a, m, w, h, l, f, e) where j.id = u.i`,
		ids, statuses, available, attempts, workers, heartbeat, lease, finished, texts)
}

// displace takes jobs out of their places.
func (t *tx) displace(all []change) {
	var ran, ids, priorities []int64
	var pools []string
	var due []*time.Time
	for _, c := range all {
		j := c.before
		if j.Status == queue.Running {
			ran = append(ran, j.ID)
			continue
		}
		ids, pools, priorities, due = append(ids, j.ID), append(pools, j.Pool), append(priorities, int64(j.Priority)), append(due, when(j.AvailableAt))
	}
	if len(ran) > 0 {
		t.exec("delete from ~running where job_id = any($1::bigint[])", ran)
	}
	if len(ids) == 0 {
		return
	}
	t.exec(`delete from ~ready r using unnest($1::text[], $2::bigint[], $3::bigint[]) u(pool, priority, id)
		where r.pool = u.pool and r.priority = u.priority and r.job_id = u.id`, pools, priorities, ids)
	t.exec("delete from ~delayed d using unnest($1::timestamptz[], $2::bigint[]) u(at, id) where d.available_at = u.at and d.job_id = u.id", due, ids)
}

// leave takes finished jobs out of the small tables.
func (t *tx) leave(all []change, left []int64) {
	if len(left) == 0 {
		return
	}
	t.exec("delete from ~open_jobs where job_id = any($1::bigint[])", left)
	var keys, subjects, dedupe []string
	var keyed, subjected []int64
	for _, c := range all {
		j := c.after
		if !j.Status.Terminal() {
			continue
		}
		if j.Key != "" {
			keys, keyed = append(keys, j.Key), append(keyed, j.ID)
		}
		if j.DedupeKey != "" {
			dedupe = append(dedupe, j.DedupeKey)
		}
		for _, s := range j.Holds {
			subjects, subjected = append(subjects, s), append(subjected, j.ID)
		}
	}
	if len(keys) > 0 {
		t.exec("delete from ~keyed k using unnest($1::text[], $2::bigint[]) u(key, id) where k.key = u.key and k.job_id = u.id", keys, keyed)
	}
	if len(subjects) > 0 {
		t.exec("delete from ~job_subjects s using unnest($1::text[], $2::bigint[]) u(subject, id) where s.subject = u.subject and s.job_id = u.id", subjects, subjected)
	}
	if len(dedupe) > 0 {
		t.exec("delete from ~dedupe where key = any($1::text[])", dedupe)
	}
}
