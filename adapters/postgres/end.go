package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/signalbox-dev/signalbox/queue"
)

// ending is a claim that ends for good, without a question first: the store has
// handed it out and knows the job.
type ending struct {
	r     *request
	after queue.Job
}

// endAll ends claims in one statement, if they are still held. It returns the
// requests that it leaves to finishAll: a claim that the store does not know, one
// that other jobs follow, one that is not the last attempt.
func (t *tx) endAll(batch []*request) (rest []*request) {
	seen := map[int64]bool{}
	for _, r := range batch {
		if r.finish == nil {
			continue
		}
		c := r.finish.claim.Job
		j, known := t.db.writer.claims[c.ID]
		after := queue.After(j, r.finish.outcome, t.now)
		if !known || j.Attempt != c.Attempt || seen[c.ID] || !after.Status.Terminal() || len(r.finish.outcome.Then) > 0 {
			rest = append(rest, r)
			continue
		}
		seen[c.ID] = true
		t.ends = append(t.ends, ending{r, after})
		t.freed(after.Pool)
	}
	if len(t.ends) > 0 {
		t.endHeld()
	}
	return rest
}

// endHeld takes the jobs whose claims are held out of all places. What it does
// for a claim that is not held any more is nothing.
func (t *tx) endHeld() {
	n := len(t.ends)
	ids, attempts, statuses, errs := make([]int64, n), make([]int64, n), make([]string, n), make([]string, n)
	var keys []string
	related := false
	for i, e := range t.ends {
		j := e.after
		ids[i], attempts[i], statuses[i], errs[i] = j.ID, int64(j.Attempt), string(j.Status), j.Error
		if j.Key != "" {
			keys = append(keys, j.Key)
		}
		related = related || j.Key != "" || j.DedupeKey != "" || len(j.Holds) > 0
	}
	query := endQuery
	if related {
		query += endRelated
	}
	t.exec(query+" select id from ended", t.now, ids, attempts, statuses, errs).Query(t.ended)
	t.place(nil, keys)
}

const endQuery = `with ended as (
		update ~jobs j set status = u.s, finished_at = $1, error = u.e, worker = '', heartbeat_at = null, lease_until = null
			from unnest($2::bigint[], $3::bigint[], $4::text[], $5::text[]) u(i, a, s, e)
			where j.id = u.i and j.attempt = u.a and j.status = 'running' returning j.id, j.pool, j.key, j.dedupe_key, j.holds
	), ran as (delete from ~running r using ended e where r.job_id = e.id
	), left_open as (delete from ~open_jobs o using ended e where o.job_id = e.id
	), counted as (insert into ~depth (pool, status, n) select pool, 'running', -count(*) from ended group by pool` + addDepth + `)`

const endRelated = `, left_key as (delete from ~keyed k using ended e where k.key = e.key and k.job_id = e.id
	), left_dedupe as (delete from ~dedupe d using ended e where d.key = e.dedupe_key and d.job_id = e.id
	), left_subjects as (delete from ~job_subjects s using (select id, unnest(holds) as subject from ended) e where s.subject = e.subject and s.job_id = e.id)`

// ended tells those whose claim was not held any more.
func (t *tx) ended(rows pgx.Rows) error {
	ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	held := make(map[int64]bool, len(ids))
	for _, id := range ids {
		held[id] = true
	}
	for _, e := range t.ends {
		if e.r.err = nil; !held[e.after.ID] {
			e.r.err = queue.ErrLost
		}
	}
	return err
}

// endings reads again which claims have ended here: their jobs are as they were
// written, for nothing changes what is over.
func (t *tx) endings(ctx context.Context, snap pgx.Tx) error {
	if len(t.ends) == 0 {
		return nil
	}
	var ids []int64
	var statuses []string
	for _, e := range t.ends {
		ids, statuses = append(ids, e.after.ID), append(statuses, string(e.after.Status))
	}
	rows, err := snap.Query(ctx, t.db.q(`select id from ~jobs join unnest($1::bigint[], $2::text[]) u(i, s) on id = i and status = s where finished_at = $3`), ids, statuses, t.now)
	if err != nil {
		return err
	}
	return t.ended(rows)
}

// claimsMax bounds what a store remembers of its claims: more have been lost
// than are at work.
const claimsMax = 100_000

// remember keeps what this transaction handed out and forgets what it ended.
func (t *tx) remember() {
	known := t.db.writer.claims
	if len(known) > claimsMax {
		clear(known)
	}
	for _, e := range t.ends {
		delete(known, e.after.ID)
	}
	for _, r := range t.slots {
		for _, c := range r.claims {
			known[c.Job.ID] = c.Job
		}
	}
}
