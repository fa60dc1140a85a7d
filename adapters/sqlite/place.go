package sqlite

import (
	"database/sql"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/signalbox-dev/signalbox/queue"
)

// jobQuery reads jobs as they are: what a claim or an end says lies over the row.
const (
	jobQuery   = jobColumns + "jobs j" + jobOverlay
	jobColumns = `select j.id, j.pool, j.kind, j.key, j.task_id, j.lane, j.role, j.holds, j.payload, j.priority, j.available_at, j.max_attempts, j.dedupe_key,
		coalesce(e.status, iif(r.job_id is null, 'queued', 'running')), coalesce(e.attempt, r.attempt, j.attempt), coalesce(r.worker, ''),
		coalesce(r.heartbeat_at, 0), coalesce(r.lease_until, 0), j.created_at, coalesce(e.started_at, r.started_at, j.started_at),
		coalesce(e.finished_at, 0), coalesce(e.error, j.error) from `
	jobOverlay = " left join running r on r.job_id = j.id left join ended e on e.job_id = j.id "
)

type scanner interface{ Scan(dest ...any) error }

func scanJob(row scanner) (j queue.Job, err error) {
	var holds string
	var us [6]int64
	err = row.Scan(&j.ID, &j.Pool, &j.Kind, &j.Key, &j.TaskID, &j.Lane, &j.Role, &holds, &j.Payload, &j.Priority, &us[0], &j.MaxAttempts,
		&j.DedupeKey, &j.Status, &j.Attempt, &j.Worker, &us[1], &us[2], &us[3], &us[4], &us[5], &j.Error)
	if err != nil {
		return j, err
	}
	times(us[:], &j.AvailableAt, &j.HeartbeatAt, &j.LeaseUntil, &j.CreatedAt, &j.StartedAt, &j.FinishedAt)
	if holds != "[]" {
		err = json.Unmarshal([]byte(holds), &j.Holds)
	}
	return j, err
}

func scanJobs(rows *sql.Rows, err error) ([]queue.Job, error) {
	return collect(rows, err, func(r *sql.Rows) (queue.Job, error) { return scanJob(r) })
}

// read reads jobs inside the transaction.
func (t *tx) read(where string, args ...any) ([]queue.Job, error) {
	s, err := t.stmt(jobQuery + where)
	if err != nil {
		return nil, err
	}
	rows, err := s.QueryContext(t.ctx, args...)
	return scanJobs(rows, err)
}

// jobs are queued jobs in the order of the ids: those that are remembered, and the
// others from the file.
func (t *tx) jobs(ids []int64) ([]*queue.Job, error) {
	out := make([]*queue.Job, 0, len(ids))
	var missing []int64
	for _, id := range ids {
		if j := t.mem.queued.get(id); j != nil {
			out = append(out, j)
		} else {
			missing = append(missing, id)
		}
	}
	if len(missing) == 0 {
		return out, nil
	}
	read, err := t.read("where j.id in (select value from json_each(?))", list(missing))
	if err != nil {
		return nil, err
	}
	found := make(map[int64]*queue.Job, len(ids))
	for _, j := range out {
		found[j.ID] = j
	}
	for i := range read {
		found[read[i].ID] = &read[i]
		t.mem.queued.add(&read[i])
	}
	out = out[:0]
	for _, id := range ids {
		if j := found[id]; j != nil {
			out = append(out, j)
		}
	}
	return out, nil
}

// list is ids as a JSON array.
func list(ids []int64) string {
	b := append(make([]byte, 0, 2+8*len(ids)), '[')
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, id, 10)
	}
	return string(append(b, ']'))
}

// text is what can be compared as JSON too: UTF-8 without NUL.
func text(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// rank is what tokens are ordered by within their pool, before the id.
type rank struct {
	pool     string
	priority int
}

// place gives queued jobs that are first of their key, and nowhere, their place: a
// timer when they are not due, else a place under a subject that is held, else
// their token.
func (t *tx) place(jobs []*queue.Job) error {
	if err := t.learnHolds(jobs); err != nil {
		return err
	}
	tokens, parked := map[rank][]int64{}, map[string][]int64{}
	for _, j := range jobs {
		if j.AvailableAt.After(t.now) {
			if err := t.delay(j); err != nil {
				return err
			}
		} else if subject, held := t.heldBy(j); held {
			parked[subject] = append(parked[subject], j.ID)
		} else {
			r := rank{j.Pool, j.Priority}
			tokens[r] = append(tokens[r], j.ID)
		}
	}
	for r, ids := range tokens {
		t.wake[r.pool] = true
		if err := t.exec("insert or ignore into ready (pool, priority, job_id) select ?, ?, value from json_each(?)", r.pool, r.priority, list(ids)); err != nil {
			return err
		}
	}
	return t.park(parked)
}

func (t *tx) delay(j *queue.Job) error {
	at := micros(j.AvailableAt)
	t.mem.due = min(t.mem.due, at) // not known stays not known
	return t.exec("insert or ignore into delayed (available_at, job_id) values (?, ?)", at, j.ID)
}

// park puts jobs under the subjects that hold them.
func (t *tx) park(bySubject map[string][]int64) error {
	for subject, ids := range bySubject {
		if err := t.exec("insert or ignore into parked (subject, job_id) select ?, value from json_each(?)", subject, list(ids)); err != nil {
			return err
		}
	}
	return nil
}

// dueMax bounds how many delayed jobs one transaction looks at.
const dueMax = 1000

// promote gives jobs whose time has come their place.
func (t *tx) promote() error {
	now := micros(t.now)
	if t.mem.due > now {
		return nil
	}
	due, err := t.ids("select job_id from delayed where available_at <= ? order by available_at, job_id limit +?", now, dueMax)
	if err != nil {
		return err
	}
	jobs, err := t.jobs(due)
	if err != nil {
		return err
	}
	for _, j := range jobs {
		if err := t.exec("delete from delayed where available_at = ? and job_id = ?", micros(j.AvailableAt), j.ID); err != nil {
			return err
		}
	}
	if err := t.place(jobs); err != nil {
		return err
	}
	next := int64(math.MaxInt64)
	_, err = t.one([]any{&next}, "select available_at from delayed order by available_at limit 1")
	t.mem.due = next
	return err
}
