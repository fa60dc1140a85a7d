package sqlstore

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

const (
	taskColumns = `id, work_item_id, tracker_project_id, tracker_issue_id, repo, branch, slug, title, description,
		state, tracker_message_id, brd_review_started_at, brd_review_ended_at, approved_at, approved_by,
		cancel_requested_at, cancelled_at, created_at, updated_at, stage_entered_at, version`

	taskByID = "select " + taskColumns + " from ~tasks where id = $1"

	// taskVersions reads what decisions about tasks are compared with.
	taskVersions = "select id, version from ~tasks where id = any($1)"

	// taskLine is the place of a task among the unfinished ones of its repository; see Tasks.
	taskLine = `select
		coalesce((select id from ~tasks where repo = $1 and (id + 0) < $2 and ended_at is null order by (id + 0) desc limit 1), 0::bigint),
		coalesce((select id from ~tasks where repo = $1 and (id + 0) > $2 and ended_at is null order by (id + 0) limit 1), 0::bigint)`

	savedColumns = `id, work_item_id, tracker_project_id, tracker_issue_id, repo, branch, slug, title, description,
		stage, state, deploy_phase, head_sha, tracker_message_id, approved_by, developer_retries, version,
		brd_review_started_at, brd_review_ended_at, approved_at, cancel_requested_at,
		cancelled_at, created_at, updated_at, stage_entered_at, ended_at`

	savedRows = `unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
		$10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::bigint[], $17::bigint[],
		$18::timestamptz[], $19::timestamptz[], $20::timestamptz[], $21::timestamptz[], $22::timestamptz[],
		$23::timestamptz[], $24::timestamptz[], $25::timestamptz[], $26::timestamptz[]) u(` + savedColumns + `)`

	// createTasks inserts tasks whose version was 0; a unique index refuses a name that is taken.
	createTasks = "insert into ~tasks (" + savedColumns + ") select * from " + savedRows

	// changeTasks replaces the rows of tasks whose versions were compared. PostgreSQL writes a
	// row in place when no name has changed.
	changeTasks = "update ~tasks as t set (" + savedColumns + `) = (
		u.id, u.work_item_id, u.tracker_project_id, u.tracker_issue_id, u.repo, u.branch, u.slug, u.title, u.description,
		u.stage, u.state, u.deploy_phase, u.head_sha, u.tracker_message_id, u.approved_by, u.developer_retries, u.version,
		u.brd_review_started_at, u.brd_review_ended_at, u.approved_at, u.cancel_requested_at,
		u.cancelled_at, u.created_at, u.updated_at, u.stage_entered_at, u.ended_at)
		from ` + savedRows + " where t.id = u.id"
)

func scanTask(rows Rows) (t task.Task, err error) {
	var state []byte
	err = rows.Scan(
		&t.ID, &t.WorkItemID, &t.TrackerProjectID, &t.TrackerIssueID, &t.Repo, &t.Branch, &t.Slug, &t.Title, &t.Description,
		&state, &t.TrackerMessageID, &t.BRDReviewStartedAt, &t.BRDReviewEndedAt, &t.ApprovedAt, &t.ApprovedBy,
		&t.CancelRequestedAt, &t.CancelledAt, &t.CreatedAt, &t.UpdatedAt, &t.StageEnteredAt, &t.Version,
	)
	if err != nil {
		return t, err
	}
	return t, json.Unmarshal(state, &t.State)
}

func (s *Store) NewTaskID(ctx context.Context) (int64, error) {
	var ids []int64
	err := s.Alone(ctx, func(t *Tx) (err error) {
		ids, err = ask(t, scanOne[int64], s.Options.NewTaskID)
		return err
	})
	if err != nil {
		return 0, err
	}
	return ids[0], nil
}

func (s *Store) Task(ctx context.Context, id int64) (task.Task, error) {
	tasks, err := list(ctx, s, scanTask, taskByID, id)
	if err == nil && len(tasks) == 0 {
		err = task.ErrNotFound
	}
	if err != nil {
		return task.Task{}, err
	}
	return tasks[0], nil
}

func (s *Store) Tasks(ctx context.Context, f task.Filter) ([]task.Task, error) {
	id := "id" // as the index has it that is to serve the filter: one that walks all ids reads all for a few tasks
	if f.TrackerIssueID+f.WorkItemID+f.Branch != "" {
		id = "+id"
	} else if f.Repo != "" && f.Live {
		id = "(id + 0)" // see migration 0016 of PostgreSQL
	}
	conds, args, order := []string{id + " > $1"}, []any{f.AfterID}, id
	if f.BeforeID != 0 {
		conds, args, order = append(conds, id+" < $2"), append(args, f.BeforeID), id+" desc"
	}
	for _, by := range [][2]string{ // in this order always: each text is prepared once
		{"tracker_issue_id", f.TrackerIssueID},
		{"repo", f.Repo},
		{"branch", f.Branch},
		{"work_item_id", f.WorkItemID},
		{"stage", string(f.Stage)},
	} {
		column, value := by[0], by[1]
		switch from, before := task.TombstoneRange(value); {
		case value == "":
		case f.Cancelled && strings.HasSuffix(column, "_id"):
			args = append(args, value, from, before) // one range of an index, which hardly has others' names
			const among = `%[1]s collate "C" >= $%[2]d and %[1]s collate "C" < $%[4]d and (%[1]s = $%[2]d or %[1]s collate "C" >= $%[3]d)`
			conds = append(conds, fmt.Sprintf(among, column, len(args)-2, len(args)-1, len(args)))
		default:
			args = append(args, value)
			conds = append(conds, fmt.Sprintf("%s = $%d", column, len(args)))
		}
	}
	if f.Live {
		conds = append(conds, "ended_at is null")
	}
	args = append(args, int64(cmp.Or(f.Limit, 100)))
	query := "select " + taskColumns + " from ~tasks where " + strings.Join(conds, " and ")
	return list(ctx, s, scanTask, query+fmt.Sprintf(" order by %s limit $%d", order, len(args)), args...)
}

// loadLine reads the line that a decision was made in.
func (t *Tx) loadLine(l *loaded, r *request) {
	if r.commit.Line == nil {
		return
	}
	t.Queue(func(rows Rows) error {
		var line task.Line
		if rows.Next() {
			if err := rows.Scan(&line.Ahead, &line.Behind); err != nil {
				return err
			}
		}
		l.lines[r] = line
		return nil
	}, taskLine, r.commit.Task.Repo, r.commit.Task.ID)
}

func (t *Tx) saveTasks(created, changed []*task.Task) {
	if len(created) > 0 {
		t.Queue(nil, createTasks, savedArgs(created)...)
	}
	if len(changed) > 0 {
		t.Queue(nil, changeTasks, savedArgs(changed)...)
	}
}

// savedArgs are tasks, column by column.
func savedArgs(tasks []*task.Task) []any {
	return columns(len(tasks), func(i int) []any {
		k := tasks[i]
		return []any{
			k.ID, k.WorkItemID, k.TrackerProjectID, k.TrackerIssueID, k.Repo, k.Branch, k.Slug, k.Title, k.Description,
			string(k.State.Stage), encode(k.State), string(k.State.Phase), k.State.Head, k.TrackerMessageID, k.ApprovedBy,
			int64(k.State.Retries), k.Version + 1, k.BRDReviewStartedAt, k.BRDReviewEndedAt, k.ApprovedAt,
			k.CancelRequestedAt, k.CancelledAt, k.CreatedAt, k.UpdatedAt, k.StageEnteredAt, endedAt(k),
		}
	})
}

// endedAt is set for a task that is over.
func endedAt(k *task.Task) time.Time {
	switch {
	case !k.State.Stage.Terminal():
		return time.Time{}
	case k.UpdatedAt.IsZero():
		return time.UnixMicro(1)
	}
	return k.UpdatedAt
}

func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil { // our own types always encode
		return "null"
	}
	return string(b)
}
