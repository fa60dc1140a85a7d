package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/signalbox-dev/signalbox/orchestrator"
)

// costSums adds runs up: counts, tokens, money, and the time worked in
// microseconds.
const costSums = `count(*), sum(r.input_tokens)::bigint, sum(r.output_tokens)::bigint, sum(r.cache_read_input_tokens)::bigint,
	sum(r.cache_creation_input_tokens)::bigint, sum(r.cost_micro_usd)::bigint,
	coalesce(sum((extract(epoch from greatest(r.finished_at - r.started_at, interval '0')) * 1000000)::bigint), 0)::bigint`

// scanCost scans costSums behind other columns.
func scanCost(row pgx.CollectableRow, c *orchestrator.Cost, first ...any) error {
	u, worked := &c.Usage, int64(0)
	err := row.Scan(append(first, &c.Runs, &u.Input, &u.Output, &u.CacheRead, &u.CacheCreate, &u.MicroUSD, &worked)...)
	c.Worked = time.Duration(worked) * time.Microsecond
	return err
}

// TaskCosts implements orchestrator.History.
func (d *DB) TaskCosts(ctx context.Context, taskIDs []int64) (map[int64]orchestrator.Cost, error) {
	out := make(map[int64]orchestrator.Cost, len(taskIDs))
	_, err := list(ctx, d, func(row pgx.CollectableRow) (id int64, err error) {
		var c orchestrator.Cost
		err = scanCost(row, &c, &id)
		out[id] = c
		return id, err
	}, "select r.task_id, "+costSums+" from ~agent_runs r where r.task_id = any($1) group by r.task_id", taskIDs)
	return out, err
}

// DayCosts implements orchestrator.History.
func (d *DB) DayCosts(ctx context.Context, since time.Time) ([]orchestrator.DayCost, error) {
	return list(ctx, d, func(row pgx.CollectableRow) (c orchestrator.DayCost, err error) {
		var day int64
		err = scanCost(row, &c.Cost, &day, &c.Repo, &c.Stage, &c.Model)
		c.Day = time.Unix(day*86400, 0).UTC()
		return c, err
	}, `select floor(extract(epoch from r.finished_at) / 86400)::bigint, coalesce(t.repo, '') collate "C", r.stage collate "C", r.model collate "C", `+costSums+`
		from ~agent_runs r left join ~tasks t on t.id = r.task_id
		where r.finished_at is not null and ($1::timestamptz is null or r.finished_at >= $1) group by 1, 2, 3, 4 order by 1, 2, 3, 4`, when(since))
}

// Ended implements orchestrator.History.
func (d *DB) Ended(ctx context.Context, limit int) ([]orchestrator.Task, error) {
	return list(ctx, d, scanTask, "select "+taskColumns+" from ~tasks where ended_at is not null order by ended_at desc, id desc limit $1", limit)
}

// JournalBefore implements orchestrator.History.
func (d *DB) JournalBefore(ctx context.Context, taskID, before int64, limit int) ([]orchestrator.JournalEntry, error) {
	const newest = " order by id desc limit $2"
	switch {
	case taskID == 0 && before == 0:
		return list(ctx, d, scanEntry, journalColumns+"order by id desc limit $1", limit)
	case taskID == 0:
		return list(ctx, d, scanEntry, journalColumns+"where id < $1"+newest, before, limit)
	case before == 0:
		return list(ctx, d, scanEntry, journalColumns+"where task_id = $1"+newest, taskID, limit)
	default:
		return list(ctx, d, scanEntry, journalColumns+"where task_id = $1 and id < $3"+newest, taskID, limit, before)
	}
}

// DecisionsAt implements orchestrator.History. It asks once for each task, so
// that a long journal is not read.
func (d *DB) DecisionsAt(ctx context.Context, id int64) ([]orchestrator.JournalEntry, error) {
	return list(ctx, d, scanEntry, journalColumns+`where id in (
		select (select max(j.id) from ~journal j where j.task_id = t.id and j.id <= $1 and j.kind = 'decision') from ~tasks t) order by task_id`, id)
}
