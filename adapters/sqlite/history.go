package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator"
)

const costSums = `count(*), sum(r.input_tokens), sum(r.output_tokens), sum(r.cache_read_input_tokens), sum(r.cache_creation_input_tokens),
	sum(r.cost_micro_usd), sum(max(r.finished_at - r.started_at, 0))`

// costInto scans costSums behind other columns.
func costInto(c *orchestrator.Cost, worked *int64, first ...any) []any {
	u := &c.Usage
	return append(first, &c.Runs, &u.Input, &u.Output, &u.CacheRead, &u.CacheCreate, &u.MicroUSD, worked)
}

// TaskCosts implements orchestrator.History.
func (d *DB) TaskCosts(ctx context.Context, taskIDs []int64) (map[int64]orchestrator.Cost, error) {
	out := make(map[int64]orchestrator.Cost, len(taskIDs))
	rows, err := d.query(ctx, "select r.task_id, "+costSums+" from agent_runs r where r.task_id in (select value from json_each(?)) group by r.task_id", encode(taskIDs))
	_, err = collect(rows, err, func(r *sql.Rows) (id int64, err error) {
		var c orchestrator.Cost
		var worked int64
		err = r.Scan(costInto(&c, &worked, &id)...)
		c.Worked = time.Duration(worked) * time.Microsecond
		out[id] = c
		return id, err
	})
	return out, err
}

const dayMicros = int64(24 * time.Hour / time.Microsecond)

// DayCosts implements orchestrator.History.
func (d *DB) DayCosts(ctx context.Context, since time.Time) ([]orchestrator.DayCost, error) {
	rows, err := d.query(ctx, `select r.finished_at / ?1 as day, coalesce(t.repo, '') as repo, r.stage, r.model, `+costSums+`
		from agent_runs r left join tasks t on t.id = r.task_id where r.finished_at >= ?2 group by 1, 2, 3, 4 order by 1, 2, 3, 4`, dayMicros, micros(since))
	return collect(rows, err, func(r *sql.Rows) (c orchestrator.DayCost, err error) {
		var day, worked int64
		err = r.Scan(costInto(&c.Cost, &worked, &day, &c.Repo, &c.Stage, &c.Model)...)
		c.Day, c.Cost.Worked = timeOf(day*dayMicros), time.Duration(worked)*time.Microsecond
		return c, err
	})
}

// Ended implements orchestrator.History.
func (d *DB) Ended(ctx context.Context, limit int) ([]orchestrator.Task, error) {
	rows, err := d.query(ctx, "select "+taskColumns+" from tasks where stage in ('done', 'cancelled') order by updated_at desc, id desc limit +?", limit)
	return scanTasks(rows, err)
}

// JournalBefore implements orchestrator.History.
func (d *DB) JournalBefore(ctx context.Context, taskID, before int64, limit int) ([]orchestrator.JournalEntry, error) {
	where, args := "where 1", []any{}
	if taskID != 0 {
		where, args = where+" and task_id = ?", append(args, taskID)
	}
	if before != 0 {
		where, args = where+" and id < ?", append(args, before)
	}
	rows, err := d.query(ctx, journalColumns+where+" order by id desc limit +?", append(args, limit)...)
	return scanEntries(rows, err)
}

// DecisionsAt implements orchestrator.History. It asks once for each task, so
// that a long journal is not read.
func (d *DB) DecisionsAt(ctx context.Context, id int64) ([]orchestrator.JournalEntry, error) {
	rows, err := d.query(ctx, journalColumns+`where id in (
		select (select max(j.id) from journal j where j.task_id = t.id and j.id <= ? and j.kind = 'decision') from tasks t) order by task_id`, id)
	return scanEntries(rows, err)
}
