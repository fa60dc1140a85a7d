package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/signalbox-dev/signalbox/orchestrator"
)

// Dependencies implements orchestrator.Dependencies.
func (d *DB) Dependencies(ctx context.Context) ([]orchestrator.Dependency, error) {
	return list(ctx, d, func(row pgx.CollectableRow) (v orchestrator.Dependency, err error) {
		err = row.Scan(&v.TaskID, &v.On, &v.Source, &v.CreatedAt)
		v.CreatedAt = v.CreatedAt.UTC()
		return v, err
	}, "select task_id, depends_on_task_id, source, created_at from ~job_deps order by task_id, depends_on_task_id")
}

// SetDependencies implements orchestrator.Dependencies.
func (d *DB) SetDependencies(ctx context.Context, taskID int64, source string, on []int64) error {
	on = append([]int64{}, on...) // never nil: that would be null
	return d.alone(ctx, func(t *tx) error {
		t.exec("delete from ~job_deps where task_id = $1 and source = $2 and depends_on_task_id <> all($3::bigint[])", taskID, source, on)
		t.exec(`insert into ~job_deps (task_id, depends_on_task_id, source, created_at)
			select $1, u.id, $2, $4 from unnest($3::bigint[]) u(id) on conflict do nothing`, taskID, source, on, t.now)
		return nil
	})
}

// Depend implements orchestrator.Dependencies.
func (d *DB) Depend(ctx context.Context, v orchestrator.Dependency) error {
	return d.alone(ctx, func(t *tx) error {
		t.exec("insert into ~job_deps (task_id, depends_on_task_id, source, created_at) values ($1, $2, $3, $4) on conflict do nothing", v.TaskID, v.On, v.Source, t.now)
		return nil
	})
}

// Undepend implements orchestrator.Dependencies.
func (d *DB) Undepend(ctx context.Context, v orchestrator.Dependency) error {
	return d.alone(ctx, func(t *tx) error {
		t.exec("delete from ~job_deps where task_id = $1 and depends_on_task_id = $2 and source = $3", v.TaskID, v.On, v.Source)
		return nil
	})
}
