package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"time"
)

// emptyPages is how many empty pages one call of Pruner gives back to the file system.
const emptyPages = 250

// PruneJobs implements orchestrator.Pruner. The newest job stays, so that ids are
// drawn behind it after a restart too.
func (d *DB) PruneJobs(ctx context.Context, before time.Time, after int64, limit int) (removed int, next int64, err error) {
	err = d.write(ctx, func(t *tx) error {
		removed, next, err = t.pruneJobs(micros(before), after, limit)
		return errors.Join(err, t.shrink())
	})
	return removed, next, err
}

func (t *tx) pruneJobs(before, after int64, limit int) (removed int, next int64, err error) {
	var n int
	var last, put sql.NullInt64 // the last of those that are looked at, and when it was put
	if _, err := t.one([]any{&n, &last, &put}, "select count(*), max(id), max(created_at) from (select id, created_at from jobs where id > ? order by id limit +?)", after, limit); err != nil || n == 0 {
		return 0, 0, err
	}
	over, err := t.changes(`delete from jobs where id > ?1 and id <= ?2 and id < (select max(id) from jobs)
		and exists (select 1 from ended e where e.job_id = jobs.id and e.finished_at < ?3)
		and not exists (select 1 from tasks t where t.id = jobs.task_id and t.stage not in ('done', 'cancelled'))
		and not exists (select 1 from reservations r where r.job_id = jobs.id)`, after, last.Int64, before)
	if err != nil {
		return 0, 0, err
	}
	if over > 0 {
		err = t.exec("delete from ended where job_id > ?1 and job_id <= ?2 and not exists (select 1 from jobs j where j.id = ended.job_id)", after, last.Int64)
	}
	if n == limit && put.Int64 < before {
		next = last.Int64
	}
	return int(over), next, err
}

// PruneDeliveries implements orchestrator.Pruner.
func (d *DB) PruneDeliveries(ctx context.Context, before time.Time, limit int) (removed int, err error) {
	err = d.write(ctx, func(t *tx) error {
		n, err := t.changes("delete from deliveries where id in (select id from (select id, received_at from deliveries order by id limit +?) where received_at < ?)", limit, micros(before))
		removed = int(n)
		return errors.Join(err, t.shrink())
	})
	return removed, err
}

// shrink gives empty pages back, in a file that was made for it.
func (t *tx) shrink() error {
	rows, err := t.db.conn.QueryContext(t.ctx, "pragma incremental_vacuum("+strconv.Itoa(emptyPages)+")")
	if err != nil {
		return err
	}
	for rows.Next() { // each step gives one page back
	}
	return errors.Join(rows.Err(), rows.Close())
}
