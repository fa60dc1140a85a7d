package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator"
)

const taskColumns = `id, work_item_id, tracker_project_id, tracker_issue_id, repo, branch, slug, title, description, state, tracker_message_id,
	brd_review_started_at, brd_review_ended_at, approved_at, approved_by, cancel_requested_at, cancelled_at, created_at, updated_at, stage_entered_at, version`

func scanTask(row scanner) (t orchestrator.Task, err error) {
	var state []byte
	us := make([]int64, 8)
	err = row.Scan(&t.ID, &t.WorkItemID, &t.TrackerProjectID, &t.TrackerIssueID, &t.Repo, &t.Branch, &t.Slug, &t.Title, &t.Description, &state, &t.TrackerMessageID,
		&us[0], &us[1], &us[2], &t.ApprovedBy, &us[3], &us[4], &us[5], &us[6], &us[7], &t.Version)
	if err != nil {
		return t, err
	}
	times(us, &t.BRDReviewStartedAt, &t.BRDReviewEndedAt, &t.ApprovedAt, &t.CancelRequestedAt, &t.CancelledAt, &t.CreatedAt, &t.UpdatedAt, &t.StageEnteredAt)
	return t, json.Unmarshal(state, &t.State)
}

// NewTaskID implements orchestrator.Store.
func (d *DB) NewTaskID(ctx context.Context) (id int64, err error) {
	err = d.write(ctx, func(t *tx) error {
		_, err := t.one([]any{&id}, "insert into counters (name, value) values ('task', 1) on conflict (name) do update set value = value + 1 returning value")
		return err
	})
	return id, err
}

// Task implements orchestrator.Store.
func (d *DB) Task(ctx context.Context, id int64) (orchestrator.Task, error) {
	rows, err := d.query(ctx, "select "+taskColumns+" from tasks where id = ?", id)
	tasks, err := scanTasks(rows, err)
	if err == nil && len(tasks) == 0 {
		err = orchestrator.ErrNotFound
	}
	if err != nil {
		return orchestrator.Task{}, err
	}
	return tasks[0], nil
}

func scanTasks(rows *sql.Rows, err error) ([]orchestrator.Task, error) {
	return collect(rows, err, func(r *sql.Rows) (orchestrator.Task, error) { return scanTask(r) })
}

// Tasks implements orchestrator.Store.
func (d *DB) Tasks(ctx context.Context, f orchestrator.TaskFilter) ([]orchestrator.Task, error) {
	conds, args, order := []string{"id > ?"}, []any{f.AfterID}, "id"
	if f.BeforeID != 0 {
		conds, args, order = append(conds, "id < ?"), append(args, f.BeforeID), "id desc"
	}
	for _, by := range [][2]string{ // in this order always: each text is prepared once
		{"tracker_issue_id", f.TrackerIssueID}, {"repo", f.Repo}, {"branch", f.Branch}, {"work_item_id", f.WorkItemID}, {"stage", string(f.Stage)},
	} {
		column, value := by[0], by[1]
		switch from, before := orchestrator.Tombs(value); {
		case value == "":
		case f.Cancelled && strings.HasSuffix(column, "_id"):
			conds, args = append(conds, fmt.Sprintf("(%[1]s = ? or %[1]s >= ? and %[1]s < ?)", column)), append(args, value, from, before)
		default:
			conds, args = append(conds, column+" = ?"), append(args, value)
		}
	}
	if f.Live {
		conds = append(conds, "stage not in ('done', 'cancelled')")
	}
	if f.Limit <= 0 {
		f.Limit = 100
	}
	rows, err := d.query(ctx, "select "+taskColumns+" from tasks where "+strings.Join(conds, " and ")+" order by "+order+" limit +?", append(args, f.Limit)...)
	return scanTasks(rows, err)
}

// saveTask inserts a task of version 0, else replaces the row at its version.
func (t *tx) saveTask(k orchestrator.Task) error {
	values := []any{
		k.WorkItemID, k.TrackerProjectID, k.TrackerIssueID, k.Repo, k.Branch, k.Slug, k.Title, k.Description,
		string(k.State.Stage), encode(k.State), k.State.Retries, string(k.State.Phase), k.State.Head, k.TrackerMessageID,
		micros(k.BRDReviewStartedAt), micros(k.BRDReviewEndedAt), micros(k.ApprovedAt), k.ApprovedBy, micros(k.CancelRequestedAt),
		micros(k.CancelledAt), micros(k.CreatedAt), micros(k.UpdatedAt), micros(k.StageEnteredAt), k.Version + 1, k.ID,
	}
	query := `insert or ignore into tasks (work_item_id, tracker_project_id, tracker_issue_id, repo, branch, slug, title, description,
		stage, state, developer_retries, deploy_phase, head_sha, tracker_message_id, brd_review_started_at, brd_review_ended_at, approved_at,
		approved_by, cancel_requested_at, cancelled_at, created_at, updated_at, stage_entered_at, version, id)
		values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	if k.Version > 0 {
		query = `update or ignore tasks set work_item_id = ?, tracker_project_id = ?, tracker_issue_id = ?, repo = ?, branch = ?, slug = ?, title = ?,
			description = ?, stage = ?, state = ?, developer_retries = ?, deploy_phase = ?, head_sha = ?, tracker_message_id = ?, brd_review_started_at = ?,
			brd_review_ended_at = ?, approved_at = ?, approved_by = ?, cancel_requested_at = ?, cancelled_at = ?, created_at = ?, updated_at = ?,
			stage_entered_at = ?, version = ? where id = ? and version = ?`
		values = append(values, k.Version)
	}
	n, err := t.changes(query, values...)
	if err == nil && n != 1 {
		err = orchestrator.ErrConflict
	}
	return err
}

// atVersion refuses what was decided on another version of a task.
func (t *tx) atVersion(k orchestrator.Task) error {
	n, err := t.ids("select id from tasks where id = ? and version = ?", k.ID, k.Version)
	if err == nil && len(n) != 1 {
		err = orchestrator.ErrConflict
	}
	return err
}
