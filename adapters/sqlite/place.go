package sqlite

import (
	"database/sql"
	"encoding/json"

	"github.com/signalbox-dev/signalbox/queue"
)

// jobColumns is the order in which scanJob reads.
const jobColumns = `id, pool, kind, key, task_id, lane, role, holds, payload, priority, available_at, max_attempts, dedupe_key,
	status, attempt, worker, heartbeat_at, lease_until, created_at, started_at, finished_at, error`

type scanner interface{ Scan(dest ...any) error }

func scanJob(row scanner) (j queue.Job, err error) {
	var holds string
	us := make([]int64, 6)
	err = row.Scan(&j.ID, &j.Pool, &j.Kind, &j.Key, &j.TaskID, &j.Lane, &j.Role, &holds, &j.Payload, &j.Priority, &us[0], &j.MaxAttempts,
		&j.DedupeKey, &j.Status, &j.Attempt, &j.Worker, &us[1], &us[2], &us[3], &us[4], &us[5], &j.Error)
	if err != nil {
		return j, err
	}
	times(us, &j.AvailableAt, &j.HeartbeatAt, &j.LeaseUntil, &j.CreatedAt, &j.StartedAt, &j.FinishedAt)
	if holds != "[]" {
		err = json.Unmarshal([]byte(holds), &j.Holds)
	}
	return j, err
}

func scanJobs(rows *sql.Rows, err error) ([]queue.Job, error) {
	return collect(rows, err, func(r *sql.Rows) (queue.Job, error) { return scanJob(r) })
}

// job reads one job inside the transaction; ok is false when there is none.
func (t *tx) job(id int64) (j queue.Job, ok bool, err error) {
	s, err := t.stmt("select " + jobColumns + " from jobs where id = ?")
	if err != nil {
		return j, false, err
	}
	rows, err := s.QueryContext(t.ctx, id)
	jobs, err := scanJobs(rows, err)
	if err != nil || len(jobs) == 0 {
		return j, false, err
	}
	return jobs[0], true, nil
}

// put adds a job, or finds the unfinished one with its dedupe key.
func (t *tx) put(j queue.Job) (int64, error) {
	if j.DedupeKey != "" {
		var id int64
		known, err := t.one([]any{&id}, "select id from jobs where dedupe_key = ? and dedupe_key <> '' and status in ('queued', 'running')", j.DedupeKey)
		if err != nil || known {
			return id, err
		}
	}
	if j.Holds == nil {
		j.Holds = []string{}
	}
	s, err := t.stmt(`insert into jobs (pool, kind, key, task_id, lane, role, holds, payload, priority, available_at, max_attempts, dedupe_key, status, created_at)
		values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'queued', ?)`)
	if err != nil {
		return 0, err
	}
	res, err := s.ExecContext(t.ctx, j.Pool, j.Kind, j.Key, j.TaskID, j.Lane, j.Role, encode(j.Holds), j.Payload, j.Priority,
		micros(j.AvailableAt), j.MaxAttempts, j.DedupeKey, micros(t.now))
	if err != nil {
		return 0, err
	}
	if j.ID, err = res.LastInsertId(); err != nil {
		return 0, err
	}
	j.Status = queue.Queued
	return j.ID, t.enter(j)
}

// enter takes a new job into the small tables and gives it its place.
func (t *tx) enter(j queue.Job) error {
	if err := t.exec("insert into open_jobs (job_id, pool, task_id) values (?, ?, ?)", j.ID, j.Pool, j.TaskID); err != nil {
		return err
	}
	if j.Key != "" {
		if err := t.exec("insert into keyed (key, job_id) values (?, ?)", j.Key, j.ID); err != nil {
			return err
		}
	}
	for _, subject := range j.Holds {
		if err := t.exec("insert or ignore into job_subjects (subject, job_id) values (?, ?)", subject, j.ID); err != nil {
			return err
		}
	}
	if err := t.count(j.Pool, queue.Queued, 1); err != nil {
		return err
	}
	return t.place(j)
}

// place gives a queued job that is nowhere its place: its token when it is
// first of its key, due and not held; a timer when it is first and not due.
func (t *tx) place(j queue.Job) error {
	if j.Key != "" {
		first, ok, err := t.first(j.Key)
		if err != nil || ok && first != j.ID {
			return err
		}
	}
	if j.AvailableAt.After(t.now) {
		return t.exec("insert or ignore into delayed (available_at, job_id) values (?, ?)", micros(j.AvailableAt), j.ID)
	}
	if len(j.Holds) > 0 {
		var one int
		held, err := t.one([]any{&one}, "select 1 from job_subjects s join holds h on h.subject = s.subject where s.job_id = ? and s.subject in (select value from json_each(?)) limit 1", j.ID, encode(j.Holds))
		if err != nil || held {
			return err
		}
	}
	t.wake[j.Pool] = true
	return t.exec("insert or ignore into ready (pool, priority, job_id) values (?, ?, ?)", j.Pool, j.Priority, j.ID)
}

// displace takes a job out of its place.
func (t *tx) displace(j queue.Job) error {
	if err := t.exec("delete from ready where pool = ? and priority = ? and job_id = ?", j.Pool, j.Priority, j.ID); err != nil {
		return err
	}
	return t.exec("delete from delayed where available_at = ? and job_id = ?", micros(j.AvailableAt), j.ID)
}

// first is the first unfinished job of a key.
func (t *tx) first(key string) (id int64, ok bool, err error) {
	ok, err = t.one([]any{&id}, "select job_id from keyed where key = ? order by job_id limit 1", key)
	return id, ok, err
}

// placeFirst gives the first job of a key its place, when it has come first.
func (t *tx) placeFirst(key string) error {
	id, ok, err := t.first(key)
	if err != nil || !ok {
		return err
	}
	j, ok, err := t.job(id)
	if err != nil || !ok || j.Status != queue.Queued {
		return err
	}
	return t.place(j)
}

// change stores what became of a job that was running or queued.
func (t *tx) change(before, after queue.Job) error {
	err := t.exec(`update jobs set status = ?, available_at = ?, max_attempts = ?, worker = ?, heartbeat_at = ?, lease_until = ?, finished_at = ?, error = ? where id = ?`,
		after.Status, micros(after.AvailableAt), after.MaxAttempts, after.Worker, micros(after.HeartbeatAt), micros(after.LeaseUntil), micros(after.FinishedAt), after.Error, after.ID)
	if err != nil {
		return err
	}
	if before.Status == queue.Running {
		err = t.exec("delete from running where job_id = ?", before.ID)
	} else {
		err = t.displace(before)
	}
	if err != nil {
		return err
	}
	if err := t.count(before.Pool, before.Status, -1); err != nil {
		return err
	}
	if after.Status.Terminal() {
		return t.leave(after)
	}
	if err := t.count(after.Pool, after.Status, 1); err != nil {
		return err
	}
	return t.place(after)
}

// leave takes a finished job out of the small tables; the next of its key comes.
func (t *tx) leave(j queue.Job) error {
	if err := t.exec("delete from open_jobs where job_id = ?", j.ID); err != nil {
		return err
	}
	for _, subject := range j.Holds {
		if err := t.exec("delete from job_subjects where subject = ? and job_id = ?", subject, j.ID); err != nil {
			return err
		}
	}
	if j.Key == "" {
		return nil
	}
	if err := t.exec("delete from keyed where key = ? and job_id = ?", j.Key, j.ID); err != nil {
		return err
	}
	return t.placeFirst(j.Key)
}

func (t *tx) count(pool string, s queue.Status, n int) error {
	return t.exec("insert into depth (pool, status, n) values (?, ?, ?) on conflict (pool, status) do update set n = n + excluded.n", pool, s, n)
}
