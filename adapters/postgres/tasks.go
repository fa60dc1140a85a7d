package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/signalbox-dev/signalbox/orchestrator"
)

const taskColumns = `id, work_item_id, tracker_project_id, tracker_issue_id, repo, branch, slug, title, description, state, tracker_message_id,
	brd_review_started_at, brd_review_ended_at, approved_at, approved_by, cancel_requested_at, cancelled_at, created_at, updated_at, stage_entered_at, version`

func scanTask(row pgx.CollectableRow) (t orchestrator.Task, err error) {
	var state []byte
	at := make([]*time.Time, 8)
	err = row.Scan(&t.ID, &t.WorkItemID, &t.TrackerProjectID, &t.TrackerIssueID, &t.Repo, &t.Branch, &t.Slug, &t.Title, &t.Description, &state, &t.TrackerMessageID,
		&at[0], &at[1], &at[2], &t.ApprovedBy, &at[3], &at[4], &at[5], &at[6], &at[7], &t.Version)
	if err != nil {
		return t, err
	}
	times(at, &t.BRDReviewStartedAt, &t.BRDReviewEndedAt, &t.ApprovedAt, &t.CancelRequestedAt, &t.CancelledAt, &t.CreatedAt, &t.UpdatedAt, &t.StageEnteredAt)
	return t, json.Unmarshal(state, &t.State)
}

// NewTaskID implements orchestrator.Store. An id that was drawn is on disk.
func (d *DB) NewTaskID(ctx context.Context) (id int64, err error) {
	err = d.retry(ctx, func(ctx context.Context) error {
		if d.closed.Load() {
			return ErrClosed
		}
		return d.pool.QueryRow(ctx, "select nextval($1::regclass)", d.prefix+"task_ids").Scan(&id)
	})
	return id, err
}

// Task implements orchestrator.Store.
func (d *DB) Task(ctx context.Context, id int64) (orchestrator.Task, error) {
	tasks, err := list(ctx, d, scanTask, "select "+taskColumns+" from ~tasks where id = $1", id)
	if err == nil && len(tasks) == 0 {
		err = orchestrator.ErrNotFound
	}
	if err != nil {
		return orchestrator.Task{}, err
	}
	return tasks[0], nil
}

// Tasks implements orchestrator.Store.
func (d *DB) Tasks(ctx context.Context, f orchestrator.TaskFilter) ([]orchestrator.Task, error) {
	conds, args := []string{"id > $1"}, []any{f.AfterID}
	for _, c := range []struct{ column, value string }{
		{"tracker_issue_id", f.TrackerIssueID}, {"repo", f.Repo}, {"branch", f.Branch}, {"work_item_id", f.WorkItemID}, {"stage", string(f.Stage)},
	} {
		if c.value != "" {
			args = append(args, c.value)
			conds = append(conds, fmt.Sprintf("%s = $%d", c.column, len(args)))
		}
	}
	if f.Live {
		conds = append(conds, "stage not in ('done', 'cancelled')")
	}
	if f.Limit <= 0 {
		f.Limit = 100
	}
	query := "select " + taskColumns + " from ~tasks where " + strings.Join(conds, " and ") + fmt.Sprintf(" order by id limit %d", f.Limit)
	return list(ctx, d, scanTask, query, args...)
}

// taken reports whether a task cannot be stored: it is not at the version that
// was loaded, another has one of its names, or others live than the decision was
// made among.
func (t *tx) taken(c orchestrator.Commit) (bool, error) {
	k := c.Task
	var live []int64
	if c.Live != nil {
		later(t, &live, pgx.RowTo[int64], "select id from ~tasks where stage not in ('done', 'cancelled') and id <> $1 order by id", k.ID)
	}
	ids, err := rows(t, pgx.RowTo[int64], `select id from ~tasks where id = $1 and version <> $2
		union all select -1 where $2 > 0 and not exists (select 1 from ~tasks where id = $1)
		union all select id from ~tasks where tracker_project_id = $3 and tracker_issue_id = $4 and id <> $1
		union all select id from ~tasks where repo = $5 and work_item_id = $6 and id <> $1
		union all select id from ~tasks where repo = $5 and branch = $7 and id <> $1`,
		k.ID, k.Version, k.TrackerProjectID, k.TrackerIssueID, k.Repo, k.WorkItemID, k.Branch)
	return len(ids) > 0 || c.Live != nil && !slices.Equal(live, c.Live), err
}

// saveTask inserts or replaces the row of a task that is not taken.
func (t *tx) saveTask(k orchestrator.Task) {
	t.exec(`insert into ~tasks (work_item_id, tracker_project_id, tracker_issue_id, repo, branch, slug, title, description,
		stage, state, developer_retries, deploy_phase, head_sha, tracker_message_id, brd_review_started_at, brd_review_ended_at, approved_at,
		approved_by, cancel_requested_at, cancelled_at, created_at, updated_at, stage_entered_at, version, id)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25)
		on conflict (id) do update set (work_item_id, tracker_project_id, tracker_issue_id, repo, branch, slug, title, description,
		stage, state, developer_retries, deploy_phase, head_sha, tracker_message_id, brd_review_started_at, brd_review_ended_at, approved_at,
		approved_by, cancel_requested_at, cancelled_at, created_at, updated_at, stage_entered_at, version)
		= (excluded.work_item_id, excluded.tracker_project_id, excluded.tracker_issue_id, excluded.repo, excluded.branch, excluded.slug, excluded.title,
		excluded.description, excluded.stage, excluded.state, excluded.developer_retries, excluded.deploy_phase, excluded.head_sha,
		excluded.tracker_message_id, excluded.brd_review_started_at, excluded.brd_review_ended_at, excluded.approved_at, excluded.approved_by,
		excluded.cancel_requested_at, excluded.cancelled_at, excluded.created_at, excluded.updated_at, excluded.stage_entered_at, excluded.version)`,
		k.WorkItemID, k.TrackerProjectID, k.TrackerIssueID, k.Repo, k.Branch, k.Slug, k.Title, k.Description,
		string(k.State.Stage), encode(k.State), int64(k.State.Retries), string(k.State.Phase), k.State.Head, k.TrackerMessageID,
		when(k.BRDReviewStartedAt), when(k.BRDReviewEndedAt), when(k.ApprovedAt), k.ApprovedBy, when(k.CancelRequestedAt),
		when(k.CancelledAt), when(k.CreatedAt), when(k.UpdatedAt), when(k.StageEnteredAt), k.Version+1, k.ID)
}
