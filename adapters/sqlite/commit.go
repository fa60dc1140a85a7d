package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/queue"
)

// Commit implements orchestrator.Store.
func (d *DB) Commit(ctx context.Context, c orchestrator.Commit) error {
	return d.write(ctx, func(t *tx) error { return t.commit(c) })
}

func (t *tx) commit(c orchestrator.Commit) error {
	// The claim ends first, so that its dedupe key is free for the jobs that follow.
	own := int64(0)
	if c.Claim != nil {
		own = c.Claim.Job.ID
		if err := t.finish(*c.Claim, queue.Outcome{Kind: queue.OutcomeDone}); err != nil {
			return err
		}
	}
	taskID := int64(0)
	if c.Task != nil {
		taskID = c.Task.ID
		if err := t.among(c); err != nil {
			return err
		}
		if err := t.saveTask(*c.Task); err != nil {
			return err
		}
	}
	if err := t.saveStory(c); err != nil {
		return err
	}
	if len(c.CancelPools) > 0 && taskID != 0 {
		if _, err := t.cancel(taskID, own, c.CancelPools, true); err != nil {
			return err
		}
	}
	if len(c.CancelQueued) > 0 && taskID != 0 {
		if _, err := t.cancel(taskID, own, c.CancelQueued, false); err != nil {
			return err
		}
	}
	if err := t.hold(c.Hold); err != nil {
		return err
	}
	if err := t.free(c.Free); err != nil {
		return err
	}
	_, err := t.putAll(c.Jobs)
	return err
}

// among refuses a decision that was made among other unfinished tasks than there
// are.
func (t *tx) among(c orchestrator.Commit) error {
	if c.Live == nil {
		return nil
	}
	live, err := t.ids("select id from tasks where stage not in ('done', 'cancelled') and id <> ? order by id", c.Task.ID)
	if err == nil && !slices.Equal(live, c.Live) {
		err = orchestrator.ErrConflict
	}
	return err
}

// saveStory appends what happened.
func (t *tx) saveStory(c orchestrator.Commit) error {
	for _, e := range c.Journal {
		if err := t.exec("insert into journal (task_id, seq, at, kind, payload) values (?, ?, ?, ?, ?)", e.TaskID, e.Seq, micros(e.At), e.Kind, e.Payload); err != nil {
			return err
		}
	}
	for _, g := range c.Gates {
		v := g.Verdict
		err := t.exec(`insert into gate_results (task_id, stage, "check", verdict, reason, sha, tree, at) values (?, ?, ?, ?, ?, ?, ?, ?)`,
			g.TaskID, string(g.Stage), v.Check, v.Outcome.String(), v.Reason, v.SHA, encode(v), micros(g.At))
		if err != nil {
			return err
		}
	}
	for _, r := range c.Runs {
		if err := t.saveRun(r); err != nil {
			return err
		}
	}
	return nil
}

// saveRun records what an attempt did cost, which ends its reservation.
func (t *tx) saveRun(r orchestrator.AgentRun) error {
	u := r.Usage
	err := t.exec(`insert or replace into agent_runs (task_id, job_id, attempt, run, stage, role, model, input_tokens, output_tokens, cache_read_input_tokens,
		cache_creation_input_tokens, cost_micro_usd, status, exit_code, started_at, finished_at, log_path, result_summary)
		values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		r.TaskID, r.JobID, r.Attempt, r.Run, string(r.Stage), string(r.Role), u.Model, u.Input, u.Output, u.CacheRead,
		u.CacheCreate, u.MicroUSD, r.Status, r.ExitCode, micros(r.Started), micros(r.Finished), r.LogPath, r.Summary)
	if err != nil {
		return err
	}
	return t.forget(orchestrator.Reservation{JobID: r.JobID, Attempt: r.Attempt})
}

// deliveryAge is how long deliveries are remembered.
const deliveryAge = 90 * 24 * time.Hour

// Receive implements orchestrator.Store.
func (d *DB) Receive(ctx context.Context, v orchestrator.Delivery, job queue.Job) (duplicate bool, err error) {
	err = d.write(ctx, func(t *tx) error {
		oldest := micros(t.now.Add(-deliveryAge))
		if err := t.exec("delete from deliveries where source = ? and received_at < ?", v.Source, oldest); err != nil {
			return err
		}
		if duplicate, err = t.known(v); err != nil || duplicate {
			return err
		}
		err := t.exec("insert into deliveries (source, delivery_id, body_hash, event, received_at, outcome) values (?, ?, ?, ?, ?, ?)",
			v.Source, v.ID, v.BodyHash, v.Event, micros(v.ReceivedAt), v.Outcome)
		if err != nil {
			return err
		}
		_, err = t.put(job)
		return err
	})
	return duplicate, err
}

// known reports whether a delivery has come before. Two questions, each with an
// index of its own: asked as one, SQLite would read all of the sender's.
func (t *tx) known(v orchestrator.Delivery) (bool, error) {
	var id int64
	if v.ID != "" {
		known, err := t.one([]any{&id}, "select id from deliveries where source = ? and delivery_id = ? and delivery_id <> ''", v.Source, v.ID)
		if err != nil || known {
			return known, err
		}
	}
	return t.one([]any{&id}, "select id from deliveries where source = ? and body_hash = ? limit 1", v.Source, v.BodyHash)
}

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
	rows, err := d.read.QueryContext(ctx, journalColumns+"where task_id = ? order by id", taskID)
	return scanEntries(rows, err)
}

// JournalSince implements orchestrator.Story.
func (d *DB) JournalSince(ctx context.Context, after int64, limit int) ([]orchestrator.JournalEntry, error) {
	if after < 0 {
		rows, err := d.read.QueryContext(ctx, journalColumns+"order by id desc limit 1")
		return scanEntries(rows, err)
	}
	rows, err := d.read.QueryContext(ctx, journalColumns+"where id > ? order by id limit ?", after, limit)
	return scanEntries(rows, err)
}

// GateResults implements orchestrator.Story.
func (d *DB) GateResults(ctx context.Context, taskID int64) ([]orchestrator.GateResult, error) {
	rows, err := d.read.QueryContext(ctx, "select id, task_id, stage, tree, at from gate_results where task_id = ? order by id", taskID)
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
