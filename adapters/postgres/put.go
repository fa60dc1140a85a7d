package postgres

import (
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/signalbox-dev/signalbox/queue"
)

// put adds jobs and returns their ids; for one whose dedupe key an unfinished
// job has, that job's id.
func (t *tx) put(jobs []queue.Job) ([]int64, error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	known, free, err := t.reserve(jobs)
	if err != nil {
		return nil, err
	}
	ids := make([]int64, len(jobs))
	added := jobs[:0:0]
	for i, j := range jobs {
		j.DedupeKey = text(j.DedupeKey)
		if id, ok := known[j.DedupeKey]; ok && j.DedupeKey != "" {
			ids[i] = id
			continue
		}
		j.ID, free = free[0], free[1:]
		ids[i], known[j.DedupeKey] = j.ID, j.ID
		added = append(added, j)
	}
	t.enter(added)
	return ids, nil
}

type known struct {
	key string
	id  int64
}

func scanKnown(row pgx.CollectableRow) (k known, err error) { return k, row.Scan(&k.key, &k.id) }

// reserve reads which dedupe keys are taken, and draws an id for every job. Ids
// rise in the order of the turns.
func (t *tx) reserve(jobs []queue.Job) (taken map[string]int64, ids []int64, err error) {
	var keys []string
	for _, j := range jobs {
		if j.DedupeKey != "" {
			keys = append(keys, j.DedupeKey)
		}
	}
	var found []known
	if len(keys) > 0 {
		later(t, &found, scanKnown, "select key, job_id from ~dedupe where key = any($1::text[])", keys)
	}
	ids, err = rows(t, pgx.RowTo[int64], "select nextval($1::regclass) from generate_series(1, $2::bigint)", t.db.prefix+"job_ids", int64(len(jobs)))
	taken = map[string]int64{}
	for _, k := range found {
		taken[k.key] = k.id
	}
	return taken, ids, err
}

// enter takes new jobs into the tables and gives them their places.
func (t *tx) enter(jobs []queue.Job) {
	n := len(jobs)
	if n == 0 {
		return
	}
	ids, tasks, priorities, attempts := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	pools, kinds, keys, lanes, roles, holds, dedupe := make([]string, n), make([]string, n), make([]string, n), make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	payloads, available := make([][]byte, n), make([]*time.Time, n)
	for i, j := range jobs {
		ids[i], tasks[i], priorities[i], attempts[i] = j.ID, j.TaskID, int64(j.Priority), int64(j.MaxAttempts)
		pools[i], kinds[i], keys[i], lanes[i], roles[i], dedupe[i] = j.Pool, j.Kind, j.Key, j.Lane, j.Role, j.DedupeKey
		holds[i], payloads[i], available[i] = encode(texts(j.Holds)), j.Payload, when(j.AvailableAt)
		t.count(text(j.Pool), queue.Queued, 1)
	}
	t.exec(`insert into ~jobs (id, pool, kind, key, task_id, lane, role, holds, payload, priority, available_at, max_attempts, dedupe_key, status, created_at)
		select i, p, k, e, t, l, r, array(select jsonb_array_elements_text(h::jsonb)), b, o, a, m, d, 'queued', $1
		from unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::text[], $8::text[], $9::text[], $10::bytea[], $11::bigint[],
			$12::timestamptz[], $13::bigint[], $14::text[]) u(i, p, k, e, t, l, r, h, b, o, a, m, d)`,
		t.now, ids, pools, kinds, keys, tasks, lanes, roles, holds, payloads, priorities, available, attempts, dedupe)
	t.exec("insert into ~open_jobs (job_id, pool, task_id) select * from unnest($1::bigint[], $2::text[], $3::bigint[])", ids, pools, tasks)
	t.relate(jobs)
	t.place(ids, nil)
}

// relate enters what only some jobs have: a key, a dedupe key, subjects.
func (t *tx) relate(jobs []queue.Job) {
	var keys, subjects, dedupe []string
	var keyed, subjected, deduped []int64
	for _, j := range jobs {
		if j.Key != "" {
			keys, keyed = append(keys, j.Key), append(keyed, j.ID)
		}
		if j.DedupeKey != "" {
			dedupe, deduped = append(dedupe, j.DedupeKey), append(deduped, j.ID)
		}
		for _, s := range j.Holds {
			subjects, subjected = append(subjects, s), append(subjected, j.ID)
		}
	}
	if len(keys) > 0 {
		t.exec("insert into ~keyed (key, job_id) select * from unnest($1::text[], $2::bigint[])", keys, keyed)
	}
	if len(subjects) > 0 {
		t.exec("insert into ~job_subjects (subject, job_id) select * from unnest($1::text[], $2::bigint[]) on conflict do nothing", subjects, subjected)
	}
	if len(dedupe) > 0 {
		t.exec("insert into ~dedupe (key, job_id) select * from unnest($1::text[], $2::bigint[])", dedupe, deduped)
	}
}
