package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// prunedQuery removes what has ended of the jobs that are looked at. A job that ends
// is written in its own row, and no row that has ended is written again.
const prunedQuery = `with looked as materialized (select id, created_at from ~jobs where id > $2 order by id limit $3
	), gone as (
		delete from ~jobs j using looked l where j.id = l.id and j.status in ('done', 'failed', 'cancelled') and j.finished_at < $1
			and not exists (select from ~tasks t where t.id = j.task_id and t.ended_at is null)
			and not exists (select from ~reservations r where r.job_id = j.id)
		returning j.id
	)
	select (select count(*) from gone), (select max(id) from looked having count(*) = $3 and max(created_at) < $1)`

// PruneJobs implements orchestrator.Pruner.
func (d *DB) PruneJobs(ctx context.Context, before time.Time, after int64, limit int) (removed int, next int64, err error) {
	err = d.alone(ctx, func(t *tx) error {
		_, err := rows(t, func(row pgx.CollectableRow) (struct{}, error) {
			var last *int64
			err := row.Scan(&removed, &last)
			if next = 0; last != nil {
				next = *last
			}
			return struct{}{}, err
		}, prunedQuery, stamp(before), after, int64(limit))
		return err
	})
	return removed, next, err
}

// PruneDeliveries implements orchestrator.Pruner.
func (d *DB) PruneDeliveries(ctx context.Context, before time.Time, limit int) (removed int, err error) {
	err = d.alone(ctx, func(t *tx) error {
		gone, err := rows(t, pgx.RowTo[int64], `delete from ~deliveries where id in (
			select id from (select id, received_at from ~deliveries order by id limit $2) d where received_at < $1) returning id`, stamp(before), int64(limit))
		removed = len(gone)
		return err
	})
	return removed, err
}
