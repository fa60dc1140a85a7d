package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/queue"
)

// Commit implements orchestrator.Store.
func (d *DB) Commit(ctx context.Context, c orchestrator.Commit) error {
	err := d.alone(ctx, func(t *tx) error { return t.commit(c) })
	if duplicate(err) { // somebody wrote to the tables without taking a turn
		err = orchestrator.ErrConflict
	}
	return err
}

// commit asks everything before it changes anything.
func (t *tx) commit(c orchestrator.Commit) error {
	var ended []change
	own := int64(0)
	if c.Claim != nil {
		own = c.Claim.Job.ID
		j, err := t.held(*c.Claim)
		if err != nil {
			return err
		}
		ended = []change{{j, queue.After(j, queue.Outcome{Kind: queue.OutcomeDone}, t.now)}}
	}
	if c.Task != nil {
		if taken, err := t.taken(*c.Task); err != nil || taken {
			return cmp.Or(err, orchestrator.ErrConflict)
		}
		t.saveTask(*c.Task)
	}
	t.change(ended) // first, so that its dedupe key is free for the jobs that follow
	t.saveStory(c)
	if len(c.CancelPools) > 0 && c.Task != nil {
		if _, err := t.cancel(c.Task.ID, own, c.CancelPools); err != nil {
			return err
		}
	}
	t.hold(c.Hold)
	t.free(c.Free)
	_, err := t.put(c.Jobs)
	return err
}

// held reads the job of a claim, or returns ErrLost.
func (t *tx) held(c queue.Claim) (queue.Job, error) {
	running, err := t.running([]int64{c.Job.ID})
	if err != nil {
		return queue.Job{}, err
	}
	j, ok := running[c.Job.ID]
	if !ok || j.Attempt != c.Job.Attempt {
		return queue.Job{}, queue.ErrLost
	}
	return j, nil
}

// saveStory appends what happened.
func (t *tx) saveStory(c orchestrator.Commit) {
	for _, e := range c.Journal {
		if e.Payload == nil {
			e.Payload = []byte{}
		}
		t.exec("insert into ~journal (task_id, seq, at, kind, payload) values ($1, $2, $3, $4, $5)", e.TaskID, e.Seq, when(e.At), e.Kind, e.Payload)
	}
	for _, g := range c.Gates {
		v := g.Verdict
		t.exec(`insert into ~gate_results (task_id, stage, "check", verdict, reason, sha, tree, at) values ($1, $2, $3, $4, $5, $6, $7, $8)`,
			g.TaskID, string(g.Stage), v.Check, v.Outcome.String(), v.Reason, v.SHA, encode(v), when(g.At))
	}
	for _, r := range c.Runs {
		t.saveRun(r)
	}
}

// saveRun replaces the record of the same attempt.
func (t *tx) saveRun(r orchestrator.AgentRun) {
	u := r.Usage
	t.exec("delete from ~agent_runs where job_id = $1 and attempt = $2", r.JobID, r.Attempt)
	t.exec(`insert into ~agent_runs (task_id, job_id, attempt, run, stage, role, model, input_tokens, output_tokens, cache_read_input_tokens,
		cache_creation_input_tokens, cost_micro_usd, status, exit_code, started_at, finished_at, log_path, result_summary)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)`,
		r.TaskID, r.JobID, r.Attempt, r.Run, string(r.Stage), string(r.Role), u.Model, u.Input, u.Output, u.CacheRead,
		u.CacheCreate, u.MicroUSD, r.Status, r.ExitCode, when(r.Started), when(r.Finished), r.LogPath, r.Summary)
}

// deliveryAge is how long deliveries are remembered.
const deliveryAge = 90 * 24 * time.Hour

// Receive implements orchestrator.Store.
func (d *DB) Receive(ctx context.Context, v orchestrator.Delivery, job queue.Job) (duplicate bool, err error) {
	err = d.alone(ctx, func(t *tx) error {
		t.exec("delete from ~deliveries where source = $1 and received_at < $2", v.Source, t.now.Add(-deliveryAge))
		known, err := rows(t, pgx.RowTo[int64], `select id from ~deliveries where source = $1 and delivery_id = $2 and delivery_id <> ''
			union all select id from ~deliveries where source = $1 and body_hash = $3`, v.Source, v.ID, v.BodyHash)
		if duplicate = len(known) > 0; err != nil || duplicate {
			return err
		}
		t.exec("insert into ~deliveries (source, delivery_id, body_hash, event, received_at, outcome) values ($1, $2, $3, $4, $5, $6)",
			v.Source, v.ID, v.BodyHash, v.Event, v.ReceivedAt.UTC(), v.Outcome)
		_, err = t.put([]queue.Job{job})
		return err
	})
	return duplicate, err
}

// Journal implements orchestrator.Story.
func (d *DB) Journal(ctx context.Context, taskID int64) ([]orchestrator.JournalEntry, error) {
	return list(ctx, d, func(row pgx.CollectableRow) (e orchestrator.JournalEntry, err error) {
		at := make([]*time.Time, 1)
		err = row.Scan(&e.ID, &e.TaskID, &e.Seq, &at[0], &e.Kind, &e.Payload)
		times(at, &e.At)
		return e, err
	}, "select id, task_id, seq, at, kind, payload from ~journal where task_id = $1 order by id", taskID)
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

// AgentRuns implements orchestrator.Story.
func (d *DB) AgentRuns(ctx context.Context, taskID int64) ([]orchestrator.AgentRun, error) {
	where := "task_id = $1"
	if taskID == 0 {
		where = "task_id >= $1 or true"
	}
	return list(ctx, d, func(row pgx.CollectableRow) (a orchestrator.AgentRun, err error) {
		at := make([]*time.Time, 2)
		u := &a.Usage
		err = row.Scan(&a.ID, &a.TaskID, &a.JobID, &a.Attempt, &a.Run, &a.Stage, &a.Role, &u.Model, &u.Input, &u.Output, &u.CacheRead,
			&u.CacheCreate, &u.MicroUSD, &a.Status, &a.ExitCode, &at[0], &at[1], &a.LogPath, &a.Summary)
		times(at, &a.Started, &a.Finished)
		return a, err
	}, `select id, task_id, job_id, attempt, run, stage, role, model, input_tokens, output_tokens, cache_read_input_tokens,
		cache_creation_input_tokens, cost_micro_usd, status, exit_code, started_at, finished_at, log_path, result_summary
		from ~agent_runs where `+where+" order by id", taskID)
}

// LastDelivery implements orchestrator.Story.
func (d *DB) LastDelivery(ctx context.Context, source string) (time.Time, error) {
	last, err := list(ctx, d, pgx.RowTo[time.Time], "select received_at from ~deliveries where source = $1 order by received_at desc limit 1", source)
	if err != nil || len(last) == 0 {
		return time.Time{}, err
	}
	return last[0].UTC(), nil
}
