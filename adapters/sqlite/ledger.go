package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator"
)

const runColumns = `select r.id, task_id, job_id, attempt, run, r.stage, role, model, input_tokens, output_tokens, cache_read_input_tokens,
	cache_creation_input_tokens, cost_micro_usd, status, exit_code, started_at, finished_at, log_path, result_summary from agent_runs r `

func scanRuns(rows *sql.Rows, err error) ([]orchestrator.AgentRun, error) {
	return collect(rows, err, func(r *sql.Rows) (a orchestrator.AgentRun, err error) {
		us := make([]int64, 2)
		u := &a.Usage
		err = r.Scan(&a.ID, &a.TaskID, &a.JobID, &a.Attempt, &a.Run, &a.Stage, &a.Role, &u.Model, &u.Input, &u.Output, &u.CacheRead,
			&u.CacheCreate, &u.MicroUSD, &a.Status, &a.ExitCode, &us[0], &us[1], &a.LogPath, &a.Summary)
		times(us, &a.Started, &a.Finished)
		return a, err
	})
}

// AgentRuns implements orchestrator.Story.
func (d *DB) AgentRuns(ctx context.Context, taskID int64) ([]orchestrator.AgentRun, error) {
	if taskID == 0 {
		rows, err := d.query(ctx, runColumns+"order by r.id")
		return scanRuns(rows, err)
	}
	rows, err := d.query(ctx, runColumns+"where task_id = ? order by r.id", taskID)
	return scanRuns(rows, err)
}

// RunsSince implements orchestrator.Ledger.
func (d *DB) RunsSince(ctx context.Context, repo string, since time.Time) ([]orchestrator.AgentRun, error) {
	rows, err := d.query(ctx, runColumns+"join tasks t on t.id = task_id where finished_at >= ? and t.repo = ? order by r.id", micros(since), repo)
	return scanRuns(rows, err)
}

// Reserve implements orchestrator.Ledger.
func (d *DB) Reserve(ctx context.Context, r orchestrator.Reservation) error {
	return d.write(ctx, func(t *tx) error {
		return t.exec("insert or replace into reservations (job_id, attempt, task_id, repo, micro_usd, at) values (?, ?, ?, ?, ?, ?)",
			r.JobID, r.Attempt, r.TaskID, r.Repo, r.MicroUSD, micros(r.At))
	})
}

// Reservations implements orchestrator.Ledger.
func (d *DB) Reservations(ctx context.Context, repo string) ([]orchestrator.Reservation, error) {
	rows, err := d.query(ctx, "select job_id, attempt, task_id, repo, micro_usd, at from reservations where ?1 = '' or repo = ?1 order by job_id, attempt", repo)
	return collect(rows, err, func(r *sql.Rows) (v orchestrator.Reservation, err error) {
		var at int64
		err = r.Scan(&v.JobID, &v.Attempt, &v.TaskID, &v.Repo, &v.MicroUSD, &at)
		v.At = timeOf(at)
		return v, err
	})
}

// Forget implements orchestrator.Ledger.
func (d *DB) Forget(ctx context.Context, rs ...orchestrator.Reservation) error {
	return d.write(ctx, func(t *tx) error {
		for _, r := range rs {
			if err := t.forget(r); err != nil {
				return err
			}
		}
		return nil
	})
}

// forget removes the reservation of an attempt, if there is one.
func (t *tx) forget(r orchestrator.Reservation) error {
	return t.exec("delete from reservations where job_id = ? and attempt = ?", r.JobID, r.Attempt)
}
