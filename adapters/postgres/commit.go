package postgres

import (
	"cmp"
	"context"

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
		if taken, err := t.taken(c); err != nil || taken {
			return cmp.Or(err, orchestrator.ErrConflict)
		}
		t.saveTask(*c.Task)
	}
	t.change(ended) // first, so that its dedupe key is free for the jobs that follow
	t.saveStory(c)
	if err := t.cancelAll(c, own); err != nil {
		return err
	}
	t.hold(c.Hold)
	t.free(c.Free)
	_, err := t.put(c.Jobs)
	return err
}

// cancelAll cancels what the decision ends, except the claim's own job.
func (t *tx) cancelAll(c orchestrator.Commit, own int64) error {
	if len(c.CancelPools) > 0 && c.Task != nil {
		if _, err := t.cancel(c.Task.ID, own, c.CancelPools, true); err != nil {
			return err
		}
	}
	if len(c.CancelQueued) > 0 && c.Task != nil {
		if _, err := t.cancel(c.Task.ID, own, c.CancelQueued, false); err != nil {
			return err
		}
	}
	return nil
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

// saveRun replaces the record of the same attempt, and ends its reservation.
func (t *tx) saveRun(r orchestrator.AgentRun) {
	u := r.Usage
	t.forget(r.JobID, r.Attempt)
	t.exec("delete from ~agent_runs where job_id = $1 and attempt = $2", r.JobID, r.Attempt)
	t.exec(`insert into ~agent_runs (task_id, job_id, attempt, run, stage, role, model, input_tokens, output_tokens, cache_read_input_tokens,
		cache_creation_input_tokens, cost_micro_usd, status, exit_code, started_at, finished_at, log_path, result_summary)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)`,
		r.TaskID, r.JobID, r.Attempt, r.Run, string(r.Stage), string(r.Role), u.Model, u.Input, u.Output, u.CacheRead,
		u.CacheCreate, u.MicroUSD, r.Status, r.ExitCode, when(r.Started), when(r.Finished), r.LogPath, r.Summary)
}
