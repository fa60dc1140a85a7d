package postgres

import (
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/signalbox-dev/signalbox/queue"
)

// put adds jobs and returns their ids; for one whose dedupe key an unfinished
// job has, that job's id. Ids rise in the order of the turns.
func (t *tx) put(jobs []queue.Job) ([]int64, error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	if slices.ContainsFunc(jobs, func(j queue.Job) bool { return t.unnamed[text(j.DedupeKey)] }) {
		t.step(&group{}, false)
	}
	named, err := t.named(jobs)
	if err != nil {
		return nil, err
	}
	ids := make([]int64, len(jobs))
	added := make([]queue.Job, 0, len(jobs))
	for i, j := range jobs {
		j = stored(j, t.now)
		if id, ok := named[j.DedupeKey]; ok && j.DedupeKey != "" {
			ids[i] = id
			continue
		}
		t.memory.ids++
		j.ID = t.memory.ids
		ids[i], named[j.DedupeKey] = j.ID, j.ID
		added = append(added, j)
	}
	t.enter(added)
	return ids, nil
}

// stored is a new job as it will be read back.
func stored(j queue.Job, now time.Time) queue.Job {
	j.Pool, j.Kind, j.Key, j.Lane, j.Role, j.DedupeKey = text(j.Pool), text(j.Kind), text(j.Key), text(j.Lane), text(j.Role), text(j.DedupeKey)
	if len(j.Holds) > 0 {
		j.Holds = texts(j.Holds)
	} else {
		j.Holds = nil
	}
	j.AvailableAt = stamp(j.AvailableAt)
	return queue.Job{
		Pool: j.Pool, Kind: j.Kind, Key: j.Key, TaskID: j.TaskID, Lane: j.Lane, Role: j.Role, Holds: j.Holds, Payload: append([]byte(nil), j.Payload...),
		Priority: j.Priority, AvailableAt: j.AvailableAt, MaxAttempts: j.MaxAttempts, DedupeKey: j.DedupeKey, Status: queue.Queued, CreatedAt: now,
	}
}

type named struct {
	key string
	id  int64
}

func scanNamed(row pgx.CollectableRow) (k named, err error) { return k, row.Scan(&k.key, &k.id) }

// named tells which dedupe keys are taken. One that no job has which this store
// knows is taken to be free, unless that was wrong lately: an index proves it.
func (t *tx) named(jobs []queue.Job) (map[string]int64, error) {
	taken := map[string]int64{}
	var keys []string
	for _, j := range jobs {
		if j.DedupeKey == "" {
			continue
		}
		name := text(j.DedupeKey)
		if id, ok := t.memory.named[name]; ok {
			taken[name] = id
		} else {
			keys = append(keys, name)
		}
	}
	if len(keys) == 0 {
		return taken, nil
	}
	if t.sole && t.db.writer.careful == 0 {
		t.guessed = true
		return taken, nil
	}
	found, err := rows(t, scanNamed, "select dedupe_key, job_id from ~open_jobs where dedupe_key = any($1::text[]) and dedupe_key <> ''", keys)
	for _, k := range found {
		taken[k.key] = k.id
	}
	return taken, err
}

// enterQuery takes new jobs into the tables. f marks the first of a key among
// them, unless one before it is known to be unfinished: it has a place if none is.
const enterQuery = `with u as materialized (select i, p, k, e, t, l, r, h::text[] as holds, b, o, a, m, d, f
		from unnest($3::bigint[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::text[], $9::text[], $10::text[], $11::bytea[], $12::bigint[],
			$13::timestamptz[], $14::bigint[], $15::text[], $16::boolean[]) u(i, p, k, e, t, l, r, h, b, o, a, m, d, f)
	), job as (
		insert into ~jobs (id, pool, kind, key, task_id, lane, role, holds, payload, priority, available_at, max_attempts, dedupe_key, status, created_at)
		select i, p, k, e, t, l, r, holds, b, o, a, m, d, 'queued', $1 from u
	), open as (
		insert into ~open_jobs (key, job_id, pool, priority, available_at, attempt, holds, dedupe_key) select e, i, p, o, a, 0, holds, d from u
	), n as materialized (select e as key, i as job_id, p as pool, o as priority, a as available_at, holds from u
		where e = '' or f and (select o.job_id from ~open_jobs o where o.key = u.e order by o.job_id desc limit 1) is null -- from the end: those that are gone lie before
	), next as materialized (select n.*, ` + heldSubject + ` as held from n
	), parked as (
		insert into ~parked (subject, job_id, key) select held, job_id, key from next where held is not null and (available_at is null or available_at <= $1)
	), later as (
		insert into ~delayed (available_at, job_id, key) select available_at, job_id, key from next where available_at > $1 returning available_at
	), token as (
		insert into ~ready (pool, priority, job_id, attempt, checked)
		select pool, priority, job_id, 0, ` + upToNow + ` from next where held is null and (available_at is null or available_at <= $1) returning pool, priority, job_id
	)` + placedRows

// enter takes new jobs into the tables and gives them their places.
func (t *tx) enter(jobs []queue.Job) {
	n := len(jobs)
	if n == 0 {
		return
	}
	ids, tasks, priorities, attempts, first := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n), make([]bool, n)
	pools, kinds, keys, lanes, roles, holds, dedupe := make([]string, n), make([]string, n), make([]string, n), make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	payloads, available := make([][]byte, n), make([]*time.Time, n)
	seen := map[string]bool{}
	for i, j := range jobs {
		ids[i], tasks[i], priorities[i], attempts[i] = j.ID, j.TaskID, int64(j.Priority), int64(j.MaxAttempts)
		pools[i], kinds[i], keys[i], lanes[i], roles[i], dedupe[i] = j.Pool, j.Kind, j.Key, j.Lane, j.Role, j.DedupeKey
		holds[i], payloads[i], available[i] = literal(j.Holds), j.Payload, when(j.AvailableAt)
		first[i], seen[j.Key] = !seen[j.Key] && !t.memory.behind(j.Key), true
		t.count(j.Pool, 1)
		t.enters(j.Pool, token{priorities[i], j.ID})
	}
	t.memory.put(jobs)
	t.askHeld()
	t.open()
	t.batch.Queue(t.db.q(enterQuery), t.now, t.memory.hold, ids, pools, kinds, keys, tasks, lanes, roles, holds, payloads, priorities, available, attempts, dedupe, first).Query(t.allPlaced)
}

// enters notes that a token may be made here.
func (t *tx) enters(pool string, at token) {
	if low, ok := t.low[pool]; !ok || at.before(low) {
		t.low[pool] = at
	}
	t.memory.placed(pool, at)
}

// lower notes it once more: what the answers to the transaction before have raised
// was not raised beyond it.
func (t *tx) lower() {
	for pool, at := range t.low {
		t.memory.placed(pool, at)
	}
}

var escape = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// literal is a list of texts as PostgreSQL writes an array: unnest would take
// an array of arrays apart.
func literal(list []string) string {
	if len(list) == 0 {
		return "{}"
	}
	var b strings.Builder
	sep := byte('{')
	for _, s := range list {
		b.WriteByte(sep)
		b.WriteByte('"')
		_, _ = escape.WriteString(&b, s) // a Builder takes everything
		b.WriteByte('"')
		sep = ','
	}
	b.WriteByte('}')
	return b.String()
}
