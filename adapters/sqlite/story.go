package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator"
)

const journalColumns = "select id, task_id, seq, at, kind, payload from journal "

func scanEntries(rows *sql.Rows, err error) ([]orchestrator.JournalEntry, error) {
	return collect(rows, err, func(r *sql.Rows) (e orchestrator.JournalEntry, err error) {
		var at int64
		err = r.Scan(&e.ID, &e.TaskID, &e.Seq, &at, &e.Kind, &e.Payload)
		e.At = timeOf(at)
		return e, err
	})
}

// Journal implements orchestrator.Story.
func (d *DB) Journal(ctx context.Context, taskID int64) ([]orchestrator.JournalEntry, error) {
	rows, err := d.query(ctx, journalColumns+"where task_id = ? order by id", taskID)
	return scanEntries(rows, err)
}

// JournalSince implements orchestrator.Story.
func (d *DB) JournalSince(ctx context.Context, after int64, limit int) ([]orchestrator.JournalEntry, error) {
	if after < 0 {
		rows, err := d.query(ctx, journalColumns+"order by id desc limit 1")
		return scanEntries(rows, err)
	}
	rows, err := d.query(ctx, journalColumns+"where id > ? order by id limit +?", after, limit)
	return scanEntries(rows, err)
}

// GateResults implements orchestrator.Story.
func (d *DB) GateResults(ctx context.Context, taskID int64) ([]orchestrator.GateResult, error) {
	rows, err := d.query(ctx, "select id, task_id, stage, tree, at from gate_results where task_id = ? order by id", taskID)
	return collect(rows, err, func(r *sql.Rows) (g orchestrator.GateResult, err error) {
		var at int64
		var tree []byte
		if err = r.Scan(&g.ID, &g.TaskID, &g.Stage, &tree, &at); err != nil {
			return g, err
		}
		g.At = timeOf(at)
		return g, json.Unmarshal(tree, &g.Verdict)
	})
}

// LastDelivery implements orchestrator.Story.
func (d *DB) LastDelivery(ctx context.Context, source string) (time.Time, error) {
	var at sql.NullInt64
	err := d.read.QueryRowContext(ctx, "select max(received_at) from deliveries where source = ?", source).Scan(&at)
	return timeOf(at.Int64), err
}
