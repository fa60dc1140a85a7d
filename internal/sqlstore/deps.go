package sqlstore

import (
	"context"

	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

const (
	depsOf = "select task_id, depends_on_task_id, source, created_at from ~job_deps where " +
		"task_id between $1 and case when $1 = 0::bigint then 9223372036854775807 else $1 end order by task_id, depends_on_task_id"
	// addDeps leaves those alone that another source has named.
	addDeps = `insert into ~job_deps (task_id, depends_on_task_id, source, created_at)
		select $1::bigint, u.task, $2::text, $3::timestamptz from unnest($4::bigint[]) u(task) where true
		on conflict (task_id, depends_on_task_id) do nothing`
	keepDeps = "delete from ~job_deps where task_id = $1 and source = $2 and not (depends_on_task_id = any($3))"
	dropDep  = "delete from ~job_deps where task_id = $1 and depends_on_task_id = $2 and source = $3"
)

func (s *Store) Dependencies(ctx context.Context, taskID int64) ([]task.Dependency, error) {
	return list(ctx, s, func(rows Rows) (d task.Dependency, err error) {
		return d, rows.Scan(&d.TaskID, &d.On, &d.Source, &d.CreatedAt)
	}, depsOf, taskID)
}

func (s *Store) SetDependencies(ctx context.Context, taskID int64, source string, on []int64) error {
	return s.Alone(ctx, func(t *Tx) error {
		t.Queue(nil, keepDeps, taskID, source, append([]int64{}, on...))
		if len(on) > 0 {
			t.Queue(nil, addDeps, taskID, source, t.Now, on)
		}
		return nil
	})
}

func (s *Store) Depend(ctx context.Context, d task.Dependency) error {
	return s.Alone(ctx, func(t *Tx) error {
		t.Queue(nil, addDeps, d.TaskID, d.Source, t.Now, []int64{d.On})
		return nil
	})
}

func (s *Store) Undepend(ctx context.Context, d task.Dependency) error {
	return s.exec(ctx, dropDep, d.TaskID, d.On, d.Source)
}
