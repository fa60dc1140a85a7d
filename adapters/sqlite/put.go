package sqlite

import (
	"database/sql"

	"github.com/signalbox-dev/signalbox/queue"
)

// putEach adds the jobs of every request.
func (t *tx) putEach(batch []*request) error {
	var jobs []queue.Job
	for _, r := range batch {
		jobs = append(jobs, r.put...)
	}
	ids, err := t.put(jobs)
	if err != nil {
		return err
	}
	for _, r := range batch {
		if r.put != nil {
			r.ids, ids = ids[:len(r.put):len(r.put)], ids[len(r.put):]
		}
	}
	return nil
}

// put adds jobs and returns their ids; for one whose dedupe key an unfinished job
// has, that job's id.
func (t *tx) put(jobs []queue.Job) ([]int64, error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	t.wrote = true
	known, err := t.deduped(jobs)
	if err != nil {
		return nil, err
	}
	if t.mem.lastID < 0 {
		if _, err := t.one([]any{&t.mem.lastID}, "select coalesce(max(id), 0) from jobs"); err != nil {
			return nil, err
		}
	}
	ids := make([]int64, len(jobs))
	added := make([]*queue.Job, 0, len(jobs))
	for i, j := range jobs {
		j = t.fresh(j)
		if id, ok := known[j.DedupeKey]; ok && j.DedupeKey != "" {
			ids[i] = id
			continue
		}
		t.mem.lastID++
		j.ID, ids[i], known[j.DedupeKey] = t.mem.lastID, t.mem.lastID, t.mem.lastID
		added = append(added, t.mem.remember(j))
	}
	first, err := t.newFirsts(added)
	if err != nil {
		return nil, err
	}
	for _, j := range added {
		t.depth[j.Pool]++
		if err := t.insert(j); err != nil {
			return nil, err
		}
	}
	return ids, t.place(first)
}

// fresh is a job as it is when it is put: the fields that are the queue's are
// empty, and times are as the file has them.
func (t *tx) fresh(j queue.Job) queue.Job {
	out := queue.Job{
		Pool: text(j.Pool), Kind: text(j.Kind), Key: text(j.Key), TaskID: j.TaskID, Lane: text(j.Lane), Role: text(j.Role), Payload: j.Payload,
		Priority: j.Priority, AvailableAt: timeOf(micros(j.AvailableAt)), MaxAttempts: j.MaxAttempts, DedupeKey: text(j.DedupeKey),
		Status: queue.Queued, CreatedAt: t.now,
	}
	for _, subject := range j.Holds {
		out.Holds = append(out.Holds, text(subject))
	}
	return out
}

// deduped are the unfinished jobs that have a dedupe key of these.
func (t *tx) deduped(jobs []queue.Job) (map[string]int64, error) {
	var keys []string
	for _, j := range jobs {
		if j.DedupeKey != "" {
			keys = append(keys, text(j.DedupeKey))
		}
	}
	known := map[string]int64{}
	if len(keys) == 0 {
		return known, nil
	}
	s, err := t.stmt("select key, job_id from dedupe where key in (select value from json_each(?))")
	if err != nil {
		return nil, err
	}
	rows, err := s.QueryContext(t.ctx, encode(keys))
	_, err = collect(rows, err, func(r *sql.Rows) (id int64, err error) {
		var key string
		err = r.Scan(&key, &id)
		known[key] = id
		return id, err
	})
	return known, err
}

// newFirsts are those of new jobs that no unfinished job of their key is before.
func (t *tx) newFirsts(added []*queue.Job) ([]*queue.Job, error) {
	busy := map[string]bool{}
	var ask []string
	for _, j := range added {
		if _, known := t.mem.chain.last[j.Key]; j.Key != "" && !known && !busy[j.Key] {
			busy[j.Key], ask = true, append(ask, j.Key)
		}
	}
	taken, err := t.firsts(ask)
	if err != nil {
		return nil, err
	}
	out := make([]*queue.Job, 0, len(added))
	for _, j := range added {
		if j.Key == "" {
			out = append(out, j)
			continue
		}
		_, known := t.mem.chain.last[j.Key]
		if _, behind := taken[j.Key]; !known && !behind {
			out = append(out, j)
		}
		taken[j.Key] = j.ID
		t.mem.chain.append(j.Key, j.ID)
	}
	return out, nil
}

func (t *tx) insert(j *queue.Job) error {
	holds := "[]"
	if len(j.Holds) > 0 {
		holds = encode(j.Holds)
	}
	err := t.exec(`insert into jobs (id, pool, kind, key, task_id, lane, role, holds, payload, priority, available_at, max_attempts, dedupe_key, created_at)
		values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, j.ID, j.Pool, j.Kind, j.Key, j.TaskID, j.Lane, j.Role, holds, j.Payload, j.Priority,
		micros(j.AvailableAt), j.MaxAttempts, j.DedupeKey, micros(j.CreatedAt))
	if err != nil {
		return err
	}
	if j.DedupeKey != "" {
		if err := t.exec("insert into dedupe (key, job_id) values (?, ?)", j.DedupeKey, j.ID); err != nil {
			return err
		}
	}
	return t.exec("insert into open_jobs (job_id, key) values (?, ?)", j.ID, j.Key)
}
