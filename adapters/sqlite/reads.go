package sqlite

import (
	"context"
	"database/sql"
	"strings"

	"github.com/signalbox-dev/signalbox/queue"
)

// Waiting implements queue.Keeper. It reads one snapshot.
func (d *DB) Waiting(ctx context.Context, f queue.Filter) ([]queue.Wait, error) {
	f.Open = true
	query, args := selection(f, "j.pool, j.priority, j.id")
	var stmts [3]*sql.Stmt // before the snapshot, which keeps a connection of its own
	for i, text := range []string{query, heldQuery, firstQuery} {
		var err error
		if stmts[i], err = d.prepared(ctx, text); err != nil {
			return nil, err
		}
	}
	snap, err := d.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { _ = snap.Rollback() }() // nothing to undo
	rows, err := snap.StmtContext(ctx, stmts[0]).QueryContext(ctx, args...)
	jobs, err := scanJobs(rows, err)
	if err != nil {
		return nil, err
	}
	held, err := heldSubjects(ctx, snap.StmtContext(ctx, stmts[1]), jobs)
	if err != nil {
		return nil, err
	}
	first, err := firstOfKeys(ctx, snap.StmtContext(ctx, stmts[2]), jobs)
	if err != nil {
		return nil, err
	}
	out := make([]queue.Wait, 0, len(jobs))
	for _, j := range jobs {
		out = append(out, queue.Wait{Job: j, Reasons: d.reasons(j, first[j.Key], held)})
	}
	return out, nil
}

// firstOfKeys is which job comes first of each ordering key of some jobs: one
// question for all of them.
func firstOfKeys(ctx context.Context, ask *sql.Stmt, jobs []queue.Job) (map[string]int64, error) {
	keys := make([]string, 0, len(jobs))
	for _, j := range jobs {
		if j.Key != "" && j.Status == queue.Queued {
			keys = append(keys, j.Key)
		}
	}
	first := make(map[string]int64, len(keys))
	if len(keys) == 0 {
		return first, nil
	}
	rows, err := ask.QueryContext(ctx, encode(keys))
	_, err = collect(rows, err, func(r *sql.Rows) (key string, err error) {
		var id sql.NullInt64
		err = r.Scan(&key, &id)
		first[key] = id.Int64
		return key, err
	})
	return first, err
}

func (d *DB) reasons(j queue.Job, first int64, held map[string][]queue.Hold) []queue.Reason {
	if j.Status == queue.Running {
		return []queue.Reason{queue.AtWork(j)}
	}
	var out []queue.Reason
	if j.Key != "" && first != j.ID {
		out = append(out, queue.Behind(first))
	}
	if j.AvailableAt.After(d.now()) {
		out = append(out, queue.Delayed(j.AvailableAt))
	}
	for _, subject := range j.Holds {
		for _, h := range held[subject] {
			out = append(out, queue.Held(h))
		}
	}
	return out
}

const (
	holdQuery = "select subject, name, reason, since from holds order by since, subject, name"
	heldQuery = "select subject, name, reason, since from holds where subject in (select value from json_each(?)) order by since, subject, name"
)

func scanHolds(rows *sql.Rows, err error) ([]queue.Hold, error) {
	return collect(rows, err, func(r *sql.Rows) (h queue.Hold, err error) {
		var since int64
		err = r.Scan(&h.Subject, &h.Name, &h.Reason, &since)
		h.Since = timeOf(since)
		return h, err
	})
}

// Holds implements queue.Lister.
func (d *DB) Holds(ctx context.Context) ([]queue.Hold, error) {
	rows, err := d.query(ctx, holdQuery)
	return scanHolds(rows, err)
}

// HoldsIn implements queue.HoldFinder.
func (d *DB) HoldsIn(ctx context.Context, from, before string, limit int) ([]queue.Hold, error) {
	rows, err := d.query(ctx, holdsInQuery, text(from), text(before), limit)
	return scanHolds(rows, err)
}

const holdsInQuery = "select subject, name, reason, since from holds where subject >= ? and subject < ? order by subject, name limit +?"

// heldSubjects is what holds the subjects of some jobs: of all that is held, they
// name little.
func heldSubjects(ctx context.Context, ask *sql.Stmt, jobs []queue.Job) (map[string][]queue.Hold, error) {
	out := map[string][]queue.Hold{}
	subjects := queue.Subjects(jobs)
	if len(subjects) == 0 {
		return out, nil
	}
	rows, err := ask.QueryContext(ctx, encode(subjects))
	list, err := scanHolds(rows, err)
	for _, h := range list {
		out[h.Subject] = append(out[h.Subject], h)
	}
	return out, err
}

// Jobs implements queue.Lister.
func (d *DB) Jobs(ctx context.Context, f queue.Filter) ([]queue.Job, error) {
	query, args := selection(f, "j.id")
	rows, err := d.query(ctx, query, args...)
	return scanJobs(rows, err)
}

// selection is the question for the first jobs of a filter in an order. What lies
// over them is asked for those alone.
func selection(f queue.Filter, order string) (query string, args []any) {
	conds := []string{"1"}
	if f.ID != 0 {
		conds, args = append(conds, "j.id = ?"), append(args, f.ID)
	}
	if f.Pool != "" {
		conds, args = append(conds, "j.pool = ?"), append(args, text(f.Pool))
	}
	if f.Key != "" {
		conds, args = append(conds, "j.key = ?"), append(args, text(f.Key))
	}
	switch {
	case f.Key != "" && f.Open:
		conds, args = append(conds, "j.id in (select job_id from open_jobs where key <> '' and key = ?)"), append(args, text(f.Key))
		if f.TaskID != 0 {
			conds, args = append(conds, "j.task_id = ?"), append(args, f.TaskID)
		}
	case f.TaskID != 0 && f.Open: // there are few jobs of a task
		conds, args = append(conds, "j.task_id = ? and exists (select 1 from open_jobs o where o.job_id = j.id)"), append(args, f.TaskID)
	case f.TaskID != 0:
		conds, args = append(conds, "j.task_id = ?"), append(args, f.TaskID)
	case f.Open:
		conds = append(conds, "j.id in (select job_id from open_jobs)")
	}
	from := "jobs j"
	if f.Failed {
		from, order = failed(f), newestEnd
	}
	first := "(select j.* from " + from + " where " + strings.Join(conds, " and ") + " order by " + order + " limit +?) j"
	return jobColumns + first + jobOverlay + "order by " + order, append(args, limit(f))
}

const newestEnd = "e.finished_at desc, e.job_id desc"

// failed are the rows of failed jobs. There are few of them and few of a task, and
// "cross" keeps to the order in which they are named here.
func failed(f queue.Filter) string {
	if f.TaskID != 0 || f.ID != 0 {
		return "jobs j cross join ended e on e.job_id = j.id and e.status = 'failed'"
	}
	return "(select job_id, finished_at from ended where status = 'failed') e cross join jobs j on j.id = e.job_id"
}

func limit(f queue.Filter) int {
	if f.Limit <= 0 {
		return 1000
	}
	return f.Limit
}

// Depth implements queue.Lister.
func (d *DB) Depth(ctx context.Context) ([]queue.Depth, error) {
	rows, err := d.query(ctx, `with r as materialized (select pool, count(*) as n from running group by pool)
		select d.pool, 'queued', d.n - coalesce(r.n, 0) as m from depth d left join r on r.pool = d.pool where m > 0
		union all select pool, 'running', n from r order by 1, 2`)
	return collect(rows, err, func(r *sql.Rows) (v queue.Depth, err error) { return v, r.Scan(&v.Pool, &v.Status, &v.Count) })
}

// Wake implements queue.Lister.
func (d *DB) Wake(pool string) <-chan struct{} { return d.wakers.channel(pool) }
