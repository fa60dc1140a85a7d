package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/signalbox-dev/signalbox/orchestrator"
)

const runColumns = `select r.id, r.task_id, r.job_id, r.attempt, r.run, r.stage, r.role, r.model, r.input_tokens, r.output_tokens, r.cache_read_input_tokens,
	r.cache_creation_input_tokens, r.cost_micro_usd, r.status, r.exit_code, r.started_at, r.finished_at, r.log_path, r.result_summary from ~agent_runs r `

func scanRun(row pgx.CollectableRow) (a orchestrator.AgentRun, err error) {
	at := make([]*time.Time, 2)
	u := &a.Usage
	err = row.Scan(&a.ID, &a.TaskID, &a.JobID, &a.Attempt, &a.Run, &a.Stage, &a.Role, &u.Model, &u.Input, &u.Output, &u.CacheRead,
		&u.CacheCreate, &u.MicroUSD, &a.Status, &a.ExitCode, &at[0], &at[1], &a.LogPath, &a.Summary)
	times(at, &a.Started, &a.Finished)
	return a, err
}

// AgentRuns implements orchestrator.Story.
func (d *DB) AgentRuns(ctx context.Context, taskID int64) ([]orchestrator.AgentRun, error) {
	if taskID == 0 {
		return list(ctx, d, scanRun, runColumns+"order by r.id")
	}
	return list(ctx, d, scanRun, runColumns+"where r.task_id = $1 order by r.id", taskID)
}

// RunsSince implements orchestrator.Ledger.
func (d *DB) RunsSince(ctx context.Context, repo string, since time.Time) ([]orchestrator.AgentRun, error) {
	const of = runColumns + "join ~tasks t on t.id = r.task_id where t.repo = $1 "
	if since.IsZero() {
		return list(ctx, d, scanRun, of+"order by r.id", repo)
	}
	return list(ctx, d, scanRun, of+"and r.finished_at >= $2 order by r.id", repo, when(since))
}

// Reserve implements orchestrator.Ledger.
func (d *DB) Reserve(ctx context.Context, r orchestrator.Reservation) error {
	return d.alone(ctx, func(t *tx) error {
		t.exec(`insert into ~reservations (job_id, attempt, task_id, repo, micro_usd, at) values ($1, $2, $3, $4, $5, $6)
			on conflict (job_id, attempt) do update set task_id = excluded.task_id, repo = excluded.repo, micro_usd = excluded.micro_usd, at = excluded.at`,
			r.JobID, r.Attempt, r.TaskID, r.Repo, r.MicroUSD, when(r.At))
		return nil
	})
}

// Reservations implements orchestrator.Ledger.
func (d *DB) Reservations(ctx context.Context, repo string) ([]orchestrator.Reservation, error) {
	return list(ctx, d, func(row pgx.CollectableRow) (r orchestrator.Reservation, err error) {
		at := make([]*time.Time, 1)
		err = row.Scan(&r.JobID, &r.Attempt, &r.TaskID, &r.Repo, &r.MicroUSD, &at[0])
		times(at, &r.At)
		return r, err
	}, "select job_id, attempt, task_id, repo, micro_usd, at from ~reservations where $1 = '' or repo = $1 order by job_id, attempt", repo)
}

// Forget implements orchestrator.Ledger.
func (d *DB) Forget(ctx context.Context, rs ...orchestrator.Reservation) error {
	return d.alone(ctx, func(t *tx) error {
		for _, r := range rs {
			t.forget(r.JobID, r.Attempt)
		}
		return nil
	})
}

// forget removes the reservation of an attempt, if there is one.
func (t *tx) forget(jobID int64, attempt int) {
	t.exec("delete from ~reservations where job_id = $1 and attempt = $2", jobID, attempt)
}
