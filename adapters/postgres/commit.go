package postgres

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/queue"
)

// Commit implements orchestrator.Store.
func (d *DB) Commit(ctx context.Context, c orchestrator.Commit) error {
	return d.decide(&request{ctx: ctx}, c)
}

// CommitTake implements orchestrator.Relay.
func (d *DB) CommitTake(ctx context.Context, c orchestrator.Commit, pool, worker string, n int, ttl time.Duration) ([]queue.Claim, error) {
	r := &request{ctx: ctx, take: &taking{pool, worker, max(n, 0), ttl}}
	if err := d.decide(r, c); err != nil && !errors.Is(err, queue.ErrLost) {
		return nil, err
	}
	return r.claims, r.err
}

func (d *DB) decide(r *request, c orchestrator.Commit) error {
	if plain(c) {
		r.commit = &c
	} else {
		r.alone = func(t *tx) error { return t.commit(c) }
	}
	err := d.write(r)
	if duplicate(err) { // somebody wrote to the tables without taking a turn
		err = orchestrator.ErrConflict
	}
	return err
}

// plain reports a commit that can be done together with others.
func plain(c orchestrator.Commit) bool {
	return c.Line == nil && len(c.CancelPools)+len(c.CancelQueued)+len(c.Hold)+len(c.Free) == 0
}

// commitAll does plain commits as one, asking everything before it changes
// anything. It returns their jobs. Commits of one task, or for one claim, are done
// one after the other.
func (t *tx) commitAll(batch []*request) (jobs []queue.Job, err error) {
	var together []*request
	tasks, claims := map[int64]bool{}, map[int64]bool{}
	for _, r := range batch {
		if r.commit == nil {
			continue
		}
		c := r.commit
		if c.Task != nil && (c.Task.Version == 0 || tasks[c.Task.ID]) || c.Claim != nil && claims[c.Claim.Job.ID] {
			t.step(&group{}, false)
			if r.err = t.commit(*c); t.broken(r.err) {
				return nil, r.err
			}
			continue
		}
		if c.Task != nil {
			tasks[c.Task.ID] = true
		}
		if c.Claim != nil {
			claims[c.Claim.Job.ID] = true
		}
		together = append(together, r)
	}
	if together, err = t.allowed(together); err != nil {
		return nil, err
	}
	saved, n := make([]*orchestrator.Task, 0, len(together)), 0
	var story orchestrator.Commit
	for _, r := range together {
		n += len(r.commit.Jobs)
	}
	jobs = make([]queue.Job, 0, n)
	for _, r := range together {
		c := r.commit
		if c.Task != nil && !c.Unchanged {
			saved = append(saved, c.Task)
		}
		story.Journal, story.Gates, story.Runs = append(story.Journal, c.Journal...), append(story.Gates, c.Gates...), append(story.Runs, c.Runs...)
		jobs = append(jobs, c.Jobs...)
	}
	t.saveTasks(saved)
	t.saveStory(story)
	return jobs, nil
}

// allowed ends the claims of the commits that may be done, and returns those.
func (t *tx) allowed(batch []*request) (out []*request, err error) {
	var claims []*queue.Claim
	var ask []*orchestrator.Task
	for _, r := range batch {
		if r.commit.Claim != nil {
			claims = append(claims, r.commit.Claim)
		}
		if k := r.commit.Task; k != nil && !(t.sole && t.memory.sure(k)) {
			ask = append(ask, k)
		}
	}
	taken, err := t.takenOf(ask)
	if err != nil {
		return nil, err
	}
	held, err := t.held(claims)
	if err != nil {
		return nil, err
	}
	for _, r := range batch {
		c := r.commit
		if c.Task != nil && taken[c.Task.ID] {
			r.err = orchestrator.ErrConflict
			continue
		}
		if c.Claim != nil {
			j := held[c.Claim.Job.ID]
			if j == nil || j.Attempt != c.Claim.Job.Attempt {
				r.err = queue.ErrLost
				continue
			}
			t.finish(queue.After(*j, queue.Outcome{Kind: queue.OutcomeDone}, t.now))
		}
		out = append(out, r)
	}
	return out, nil
}

// commit does one that stands alone. It asks everything before it changes anything.
func (t *tx) commit(c orchestrator.Commit) error {
	own := int64(0)
	var after queue.Job
	if c.Claim != nil {
		own = c.Claim.Job.ID
		held, err := t.held([]*queue.Claim{c.Claim})
		if err != nil {
			return err
		}
		before := held[own]
		if before == nil || before.Attempt != c.Claim.Job.Attempt {
			return queue.ErrLost
		}
		after = queue.After(*before, queue.Outcome{Kind: queue.OutcomeDone}, t.now)
	}
	if c.Task != nil {
		if taken, err := t.taken(c); err != nil || taken {
			return cmp.Or(err, orchestrator.ErrConflict)
		}
		if !c.Unchanged {
			t.saveTasks([]*orchestrator.Task{c.Task})
		}
	}
	if own != 0 { // first, so that its dedupe key is free for the jobs that follow
		t.finish(after)
		t.step(&group{}, false)
	}
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

// saveStory appends what happened.
func (t *tx) saveStory(c orchestrator.Commit) {
	if n := len(c.Journal); n > 0 {
		tasks, seqs, kinds, payloads, at := make([]int64, n), make([]int64, n), make([]string, n), make([][]byte, n), make([]*time.Time, n)
		for i, e := range c.Journal {
			tasks[i], seqs[i], kinds[i], payloads[i], at[i] = e.TaskID, e.Seq, e.Kind, append([]byte{}, e.Payload...), when(e.At)
		}
		t.exec("insert into ~journal (task_id, seq, at, kind, payload) select * from unnest($1::bigint[], $2::bigint[], $3::timestamptz[], $4::text[], $5::bytea[])",
			tasks, seqs, at, kinds, payloads)
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
