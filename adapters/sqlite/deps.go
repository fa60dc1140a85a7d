package sqlite

import (
	"context"
	"database/sql"

	"github.com/signalbox-dev/signalbox/orchestrator"
)

// Dependencies implements orchestrator.Dependencies.
func (d *DB) Dependencies(ctx context.Context) ([]orchestrator.Dependency, error) {
	rows, err := d.query(ctx, "select task_id, depends_on_task_id, source, created_at from job_deps order by task_id, depends_on_task_id")
	return collect(rows, err, func(r *sql.Rows) (v orchestrator.Dependency, err error) {
		var at int64
		err = r.Scan(&v.TaskID, &v.On, &v.Source, &at)
		v.CreatedAt = timeOf(at)
		return v, err
	})
}

// SetDependencies implements orchestrator.Dependencies.
func (d *DB) SetDependencies(ctx context.Context, taskID int64, source string, on []int64) error {
	if on == nil {
		on = []int64{}
	}
	return d.write(ctx, func(t *tx) error {
		err := t.exec("delete from job_deps where task_id = ? and source = ? and depends_on_task_id not in (select value from json_each(?))", taskID, source, encode(on))
		if err != nil {
			return err
		}
		for _, id := range on {
			if err := t.exec("insert or ignore into job_deps (task_id, depends_on_task_id, source, created_at) values (?, ?, ?, ?)", taskID, id, source, micros(t.now)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Depend implements orchestrator.Dependencies.
func (d *DB) Depend(ctx context.Context, v orchestrator.Dependency) error {
	return d.write(ctx, func(t *tx) error {
		return t.exec("insert or ignore into job_deps (task_id, depends_on_task_id, source, created_at) values (?, ?, ?, ?)", v.TaskID, v.On, v.Source, micros(t.now))
	})
}

// Undepend implements orchestrator.Dependencies.
func (d *DB) Undepend(ctx context.Context, v orchestrator.Dependency) error {
	return d.write(ctx, func(t *tx) error {
		return t.exec("delete from job_deps where task_id = ? and depends_on_task_id = ? and source = ?", v.TaskID, v.On, v.Source)
	})
}
