package sqlite

import (
	"context"
	"errors"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/queue"
)

// Commit implements orchestrator.Store.
func (d *DB) Commit(ctx context.Context, c orchestrator.Commit) error {
	return d.write(ctx, func(t *tx) error { return t.commit(c) })
}

// CommitTake implements orchestrator.Relay.
func (d *DB) CommitTake(ctx context.Context, c orchestrator.Commit, pool, worker string, n int, ttl time.Duration) ([]queue.Claim, error) {
	r := &request{ctx: ctx, alone: func(t *tx) error { return t.commit(c) }, take: &taking{pool, worker, min(n, takeMax), ttl}}
	if err := d.hand(r); err != nil && !errors.Is(err, queue.ErrLost) {
		return nil, err
	}
	return r.claims, r.err
}

func (t *tx) commit(c orchestrator.Commit) error {
	// What may be refused is asked first.
	var ended []change
	own, taskID := int64(0), int64(0)
	if c.Claim != nil {
		own = c.Claim.Job.ID
		j, err := t.heldClaim(*c.Claim)
		if err != nil {
			return err
		}
		ended = []change{{j, queue.After(j, queue.Outcome{Kind: queue.OutcomeDone}, t.now)}}
	}
	if c.Task != nil {
		taskID = c.Task.ID
		if err := t.among(c); err != nil {
			return err
		}
		save := t.saveTask
		if c.Unchanged {
			save = t.atVersion
		}
		if err := save(*c.Task); err != nil {
			return err
		}
	}
	// The claim ends before jobs follow, so that its dedupe key is free for them.
	if err := t.change(ended); err != nil {
		return err
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
	_, err := t.put(c.Jobs)
	return err
}

// lineQuery is the place of a task in the line of its repository.
const lineQuery = `select coalesce((select id from tasks where repo = ?1 and id < ?2 and stage not in ('done', 'cancelled') order by id desc limit 1), 0),
	coalesce((select id from tasks where repo = ?1 and id > ?2 and stage not in ('done', 'cancelled') order by id limit 1), 0)`

// among refuses a decision that was made between other unfinished tasks than there
// are.
func (t *tx) among(c orchestrator.Commit) error {
	if c.Line == nil {
		return nil
	}
	var l orchestrator.Line
	_, err := t.one([]any{&l.Ahead, &l.Behind}, lineQuery, c.Task.Repo, c.Task.ID)
	if err == nil && l != *c.Line {
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
