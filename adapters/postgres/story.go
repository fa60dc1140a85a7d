package postgres

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/signalbox-dev/signalbox/orchestrator"
)

const journalColumns = "select id, task_id, seq, at, kind, payload from ~journal "

func scanEntry(row pgx.CollectableRow) (e orchestrator.JournalEntry, err error) {
	at := make([]*time.Time, 1)
	err = row.Scan(&e.ID, &e.TaskID, &e.Seq, &at[0], &e.Kind, &e.Payload)
	times(at, &e.At)
	return e, err
}

// Journal implements orchestrator.Story.
func (d *DB) Journal(ctx context.Context, taskID int64) ([]orchestrator.JournalEntry, error) {
	return list(ctx, d, scanEntry, journalColumns+"where task_id = $1 order by id", taskID)
}

// JournalSince implements orchestrator.Story. Ids are drawn in the order of the
// turns: what is not there yet has a larger one than all that is.
func (d *DB) JournalSince(ctx context.Context, after int64, limit int) ([]orchestrator.JournalEntry, error) {
	if after < 0 {
		return list(ctx, d, scanEntry, journalColumns+"order by id desc limit 1")
	}
	return list(ctx, d, scanEntry, journalColumns+"where id > $1 order by id limit $2", after, limit)
}

// GateResults implements orchestrator.Story.
func (d *DB) GateResults(ctx context.Context, taskID int64) ([]orchestrator.GateResult, error) {
	return list(ctx, d, func(row pgx.CollectableRow) (g orchestrator.GateResult, err error) {
		at := make([]*time.Time, 1)
		var tree []byte
		if err = row.Scan(&g.ID, &g.TaskID, &g.Stage, &tree, &at[0]); err != nil {
			return g, err
		}
		times(at, &g.At)
		return g, json.Unmarshal(tree, &g.Verdict)
	}, "select id, task_id, stage, tree, at from ~gate_results where task_id = $1 order by id", taskID)
}
