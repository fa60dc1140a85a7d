package sqlstore

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

const (
	// deleteRun and insertRun replace the record of an attempt.
	deleteRun = "delete from ~agent_runs where job_id = $1 and attempt = $2"
	insertRun = `insert into ~agent_runs (task_id, job_id, attempt, run, stage, role, model,
		input_tokens, output_tokens, cache_read_input_tokens, cache_creation_input_tokens, cost_micro_usd,
		status, exit_code, started_at, finished_at, log_path, result_summary,
		agent, vendor, session_id, trouble, prompt_hash, text_hash, measured, refused)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24,
			$25, $26)`

	runColumns = `select r.id, r.task_id, r.job_id, r.attempt, r.run, r.stage, r.role, r.model,
		r.input_tokens, r.output_tokens, r.cache_read_input_tokens, r.cache_creation_input_tokens, r.cost_micro_usd,
		r.status, r.exit_code, r.started_at, r.finished_at, r.log_path, r.result_summary,
		r.agent, r.vendor, r.session_id, r.trouble, r.prompt_hash, r.text_hash, r.measured, r.refused`
	allRuns     = runColumns + " from ~agent_runs r order by r.id"
	runsOfTasks = runColumns + " from ~agent_runs r where r.task_id = any($1) order by r.id"
	runsOfRepo  = runColumns + ` from ~agent_runs r join ~tasks t on t.id = r.task_id
		where coalesce(t.repo, '') = $1 and r.finished_at is not null and r.finished_at >= coalesce($2::timestamptz, '-infinity')
		order by +r.id`
	costsSince = `select coalesce(t.repo, ''), r.stage, r.role, r.agent, r.model, r.started_at, r.finished_at,
		r.input_tokens, r.output_tokens, r.cache_read_input_tokens, r.cache_creation_input_tokens, r.cost_micro_usd
		from ~agent_runs r left join ~tasks t on t.id = r.task_id
		where r.finished_at is not null and r.finished_at >= coalesce($1::timestamptz, '-infinity')`

	reserve = `insert into ~reservations (job_id, attempt, task_id, repo, micro_usd, at) values ($1, $2, $3, $4, $5, $6)
		on conflict (job_id, attempt) do update set
		task_id = excluded.task_id, repo = excluded.repo, micro_usd = excluded.micro_usd, at = excluded.at`
	reservations = `select job_id, attempt, task_id, repo, micro_usd, at from ~reservations
		where $1 = ''::text or repo = $1 order by job_id, attempt`
	forget = "delete from ~reservations where job_id = $1 and attempt = $2"
)

// saveRun replaces the record of the same attempt, and ends its reservation.
func (t *Tx) saveRun(r *task.AgentRun) {
	u, job, attempt := r.Usage, r.JobID, int64(r.Attempt)
	t.Queue(nil, forget, job, attempt)
	t.Queue(nil, deleteRun, job, attempt)
	t.Queue(nil, insertRun, r.TaskID, job, attempt, r.Run, string(r.Stage), string(r.Role), u.Model, u.Input, u.Output, u.CacheRead,
		u.CacheCreate, u.MicroUSD, r.Status, int64(r.ExitCode), r.Started, r.Finished, r.LogPath, r.Summary,
		r.Agent, r.Vendor, r.Session, string(r.Trouble), r.Prompt, r.Text, encode(r.Measured), encode(r.Refused))
}

func scanRun(rows Rows) (a task.AgentRun, err error) {
	u := &a.Usage
	var measured, refused []byte
	err = rows.Scan(&a.ID, &a.TaskID, &a.JobID, &a.Attempt, &a.Run, (*string)(&a.Stage), (*string)(&a.Role), &u.Model,
		&u.Input, &u.Output, &u.CacheRead, &u.CacheCreate, &u.MicroUSD,
		&a.Status, &a.ExitCode, &a.Started, &a.Finished, &a.LogPath, &a.Summary,
		&a.Agent, &a.Vendor, &a.Session, (*string)(&a.Trouble), &a.Prompt, &a.Text, &measured, &refused)
	if err != nil {
		return a, err
	}
	return a, errors.Join(json.Unmarshal(measured, &a.Measured), json.Unmarshal(refused, &a.Refused))
}

func (s *Store) AgentRuns(ctx context.Context, taskIDs ...int64) ([]task.AgentRun, error) {
	if len(taskIDs) == 0 {
		return list(ctx, s, scanRun, allRuns)
	}
	return list(ctx, s, scanRun, runsOfTasks, taskIDs)
}

func (s *Store) RunsSince(ctx context.Context, repo string, since time.Time) ([]task.AgentRun, error) {
	return list(ctx, s, scanRun, runsOfRepo, repo, since)
}

func (s *Store) DayCosts(ctx context.Context, since time.Time) ([]task.DayCost, error) {
	sums := task.DayCosts{}
	_, err := list(ctx, s, func(rows Rows) (none struct{}, err error) {
		var repo string
		var a task.AgentRun
		u := &a.Usage
		err = rows.Scan(&repo, (*string)(&a.Stage), (*string)(&a.Role), &a.Agent, &u.Model, &a.Started, &a.Finished,
			&u.Input, &u.Output, &u.CacheRead, &u.CacheCreate, &u.MicroUSD)
		sums.Add(repo, a)
		return none, err
	}, costsSince, since)
	return sums.List(), err
}

func (s *Store) Reserve(ctx context.Context, r task.Reservation) error {
	return s.exec(ctx, reserve, r.JobID, int64(r.Attempt), r.TaskID, r.Repo, r.MicroUSD, r.At)
}

func (s *Store) Reservations(ctx context.Context, repo string) ([]task.Reservation, error) {
	return list(ctx, s, func(rows Rows) (r task.Reservation, err error) {
		return r, rows.Scan(&r.JobID, &r.Attempt, &r.TaskID, &r.Repo, &r.MicroUSD, &r.At)
	}, reservations, repo)
}

func (s *Store) Forget(ctx context.Context, rs ...task.Reservation) error {
	return s.Alone(ctx, func(t *Tx) error {
		for _, r := range rs {
			t.Queue(nil, forget, r.JobID, int64(r.Attempt))
		}
		return nil
	})
}
