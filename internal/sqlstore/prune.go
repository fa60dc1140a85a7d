package sqlstore

import (
	"context"
	"time"
)

const (
	// pruneWindow reads which jobs are looked at.
	pruneWindow = "select id, created_at from ~jobs where id > $1 order by id limit $2"

	// pruneJobs removes those that ended before a moment. The newest stays, so that ids go on behind it.
	pruneJobs = `delete from ~jobs where id > $1 and id <= $2 and id < (select max(id) from ~jobs)
		and status in ('done', 'failed', 'cancelled') and finished_at < $3
		and not exists (select 1 from ~tasks t where t.id = task_id and t.ended_at is null)
		and not exists (select 1 from ~reservations r where r.job_id = ~jobs.id) returning id`

	pruneDeliveries = `delete from ~deliveries where id in (select id from (select id, received_at from ~deliveries order by id limit $1) d
		where received_at < $2) returning id`
)

func (s *Store) PruneJobs(ctx context.Context, before time.Time, after int64, limit int) (removed int, next int64, err error) {
	type job struct {
		id  int64
		put time.Time
	}
	err = s.Alone(ctx, func(t *Tx) error {
		removed, next = 0, 0
		scan := func(rows Rows) (j job, err error) { return j, rows.Scan(&j.id, &j.put) }
		window, err := ask(t, scan, pruneWindow, after, int64(limit))
		if err != nil || len(window) == 0 {
			return err
		}
		last := window[len(window)-1]
		gone, err := ask(t, scanOne[int64], pruneJobs, after, last.id, before)
		if removed = len(gone); len(window) == limit && last.put.Before(before) {
			next = last.id
		}
		return err
	})
	return removed, next, err
}

func (s *Store) PruneDeliveries(ctx context.Context, before time.Time, limit int) (removed int, err error) {
	err = s.Alone(ctx, func(t *Tx) error {
		gone, err := ask(t, scanOne[int64], pruneDeliveries, int64(limit), before)
		removed = len(gone)
		return err
	})
	return removed, err
}
