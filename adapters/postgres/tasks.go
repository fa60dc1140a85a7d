package postgres

import (
	"context"
	"encoding/json"
	"fmt"
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
	conds, args, order := []string{"id > $1"}, []any{f.AfterID}, "id"
	if f.BeforeID != 0 {
		conds, args, order = append(conds, "id < $2"), append(args, f.BeforeID), "id desc"
	}
	for _, c := range []struct{ column, value string }{
		{"tracker_issue_id", f.TrackerIssueID}, {"repo", f.Repo}, {"branch", f.Branch}, {"work_item_id", f.WorkItemID}, {"stage", string(f.Stage)},
	} {
		switch from, before := orchestrator.Tombs(c.value); {
		case c.value == "":
		case f.Cancelled && strings.HasSuffix(c.column, "_id"):
			args = append(args, c.value, from, before)
			conds = append(conds, fmt.Sprintf(`(%[1]s = $%[2]d or %[1]s collate "C" >= $%[3]d and %[1]s collate "C" < $%[4]d)`, c.column, len(args)-2, len(args)-1, len(args)))
		default:
			args = append(args, c.value)
			conds = append(conds, fmt.Sprintf("%s = $%d", c.column, len(args)))
		}
	}
	if f.Live {
		conds = append(conds, "ended_at is null")
	}
	if f.Limit <= 0 {
		f.Limit = 100
	}
	query := "select " + taskColumns + " from ~tasks where " + strings.Join(conds, " and ") + fmt.Sprintf(" order by %s limit %d", order, f.Limit)
	return list(ctx, d, scanTask, query, args...)
}

// taken reports whether a task cannot be stored: it is not at the version that
// was loaded, another has one of its names, or it stands between others than the decision
// was made between.
func (t *tx) taken(c orchestrator.Commit) (bool, error) {
	k := c.Task
	var line []orchestrator.Line
	if c.Line != nil {
		later(t, &line, pgx.RowToStructByPos[orchestrator.Line], `select coalesce((select id from ~tasks where repo = $1 and id < $2 and ended_at is null order by id desc limit 1), 0),
			coalesce((select id from ~tasks where repo = $1 and id > $2 and ended_at is null order by id limit 1), 0)`, k.Repo, k.ID)
	}
	ids, err := rows(t, pgx.RowTo[int64], `select id from ~tasks where id = $1 and version <> $2
		union all select -1 where $2 > 0 and not exists (select 1 from ~tasks where id = $1)
		union all select id from ~tasks where tracker_project_id = $3 and tracker_issue_id = $4 and id <> $1
		union all select id from ~tasks where repo = $5 and work_item_id = $6 and id <> $1
		union all select id from ~tasks where repo = $5 and branch = $7 and id <> $1`,
		k.ID, k.Version, k.TrackerProjectID, k.TrackerIssueID, k.Repo, k.WorkItemID, k.Branch)
	return len(ids) > 0 || c.Line != nil && (len(line) != 1 || line[0] != *c.Line), err
}

// takenOf is taken for many tasks, at once. It returns the ids of those that are.
func (t *tx) takenOf(tasks []*orchestrator.Task) (map[int64]bool, error) {
	out := map[int64]bool{}
	n := len(tasks)
	if n == 0 {
		return out, nil
	}
	ids, versions := make([]int64, n), make([]int64, n)
	projects, issues, repos, items, branches := make([]string, n), make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	for i, k := range tasks {
		ids[i], versions[i], projects[i], issues[i], repos[i], items[i], branches[i] = k.ID, k.Version, k.TrackerProjectID, k.TrackerIssueID, k.Repo, k.WorkItemID, k.Branch
	}
	taken, err := rows(t, pgx.RowTo[int64], `select u.id from unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])
			u(id, version, project, issue, repo, item, branch)
		where (select version from ~tasks t where t.id = u.id) is distinct from u.version
			or exists (select from ~tasks t where t.tracker_project_id = u.project and t.tracker_issue_id = u.issue and t.id <> u.id)
			or exists (select from ~tasks t where t.repo = u.repo and t.work_item_id = u.item and t.id <> u.id)
			or exists (select from ~tasks t where t.repo = u.repo and t.branch = u.branch and t.id <> u.id)`,
		ids, versions, projects, issues, repos, items, branches)
	for _, id := range taken {
		out[id] = true
	}
	return out, err
}

// names are what no two tasks share, and the version of the one that has them.
type names struct {
	project, issue, repo, item, branch string
	version                            int64
}

func namesOf(k *orchestrator.Task) names {
	return names{k.TrackerProjectID, k.TrackerIssueID, k.Repo, k.WorkItemID, k.Branch, k.Version}
}

// sure reports whether the task is remembered at this version and with these
// names: then nothing need be asked.
func (m *memory) sure(k *orchestrator.Task) bool {
	known, ok := m.tasks[k.ID]
	return ok && known == namesOf(k)
}

// saved remembers a task that was stored.
func (m *memory) saved(k *orchestrator.Task) {
	if len(m.tasks) > rememberMax/10 {
		clear(m.tasks)
	}
	n := namesOf(k)
	n.version++
	m.tasks[k.ID] = n
}

// endedAt is set for a task that is over.
func endedAt(k *orchestrator.Task) time.Time {
	switch {
	case !k.State.Stage.Terminal():
		return time.Time{}
	case k.UpdatedAt.IsZero():
		return time.Unix(0, 0)
	default:
		return k.UpdatedAt
	}
}

const (
	taskNames   = "work_item_id, tracker_project_id, tracker_issue_id, repo, branch"
	taskTexts   = "slug, title, description, stage, state, deploy_phase, head_sha, tracker_message_id, approved_by"
	taskNumbers = "id, developer_retries, version"
	taskTimes   = "brd_review_started_at, brd_review_ended_at, approved_at, cancel_requested_at, cancelled_at, created_at, updated_at, stage_entered_at, ended_at"
)

// taskArrays are arrays of columns of tasks, as parameters, and the columns.
func taskArrays(names string) (arrays, columns string) {
	var all []string
	add := func(columns, kind string) {
		for range strings.Split(columns, ", ") {
			all = append(all, fmt.Sprintf("$%d::%s[]", len(all)+1, kind))
		}
	}
	add(taskTexts, "text")
	add(taskNumbers, "bigint")
	add(taskTimes, "timestamptz")
	columns = taskTexts + ", " + taskNumbers + ", " + taskTimes
	if names != "" {
		add(names, "text")
		columns += ", " + names
	}
	return strings.Join(all, ", "), columns
}

// saveQuery inserts or replaces the rows of tasks that are not taken.
func saveQuery() string {
	arrays, all := taskArrays(taskNames)
	return "insert into ~tasks (" + all + ") select * from unnest(" + arrays + ") on conflict (id) do update set (" +
		all + ") = (excluded." + strings.ReplaceAll(all, ", ", ", excluded.") + ")"
}

// moveQuery changes the rows of tasks that are known to be there under their names.
func moveQuery() string {
	arrays, all := taskArrays("")
	return "update ~tasks t set (" + all + ") = (u." + strings.ReplaceAll(all, ", ", ", u.") + ") from unnest(" + arrays + ") u(" + all + ") where t.id = u.id"
}

// saveTasks stores the rows of tasks that are not taken.
func (t *tx) saveTasks(tasks []*orchestrator.Task) {
	sure, rest := make([]*orchestrator.Task, 0, len(tasks)), tasks[:0:0]
	for _, k := range tasks {
		if t.sole && t.memory.sure(k) {
			sure = append(sure, k)
		} else {
			rest = append(rest, k)
		}
	}
	if len(sure) > 0 {
		t.exec(t.db.save[1], taskColumnsOf(sure).list...)
	}
	if len(rest) > 0 {
		c := taskColumnsOf(rest)
		c.words(func(k *orchestrator.Task) string { return k.WorkItemID })
		c.words(func(k *orchestrator.Task) string { return k.TrackerProjectID })
		c.words(func(k *orchestrator.Task) string { return k.TrackerIssueID })
		c.words(func(k *orchestrator.Task) string { return k.Repo })
		c.words(func(k *orchestrator.Task) string { return k.Branch })
		t.exec(t.db.save[0], c.list...)
	}
	for _, k := range tasks {
		t.memory.saved(k)
	}
}

// columns are tasks, column by column.
type columns struct {
	tasks []*orchestrator.Task
	list  []any
}

func (c *columns) words(of func(*orchestrator.Task) string) {
	column := make([]string, len(c.tasks))
	for i := range c.tasks {
		column[i] = of(c.tasks[i])
	}
	c.list = append(c.list, column)
}

func (c *columns) numbers(of func(*orchestrator.Task) int64) {
	column := make([]int64, len(c.tasks))
	for i := range c.tasks {
		column[i] = of(c.tasks[i])
	}
	c.list = append(c.list, column)
}

func (c *columns) moments(of func(*orchestrator.Task) time.Time) {
	column := make([]*time.Time, len(c.tasks))
	for i := range c.tasks {
		column[i] = when(of(c.tasks[i]))
	}
	c.list = append(c.list, column)
}

// taskColumnsOf is what taskArrays names without names.
func taskColumnsOf(tasks []*orchestrator.Task) *columns {
	c := &columns{tasks: tasks}
	c.words(func(k *orchestrator.Task) string { return k.Slug })
	c.words(func(k *orchestrator.Task) string { return k.Title })
	c.words(func(k *orchestrator.Task) string { return k.Description })
	c.words(func(k *orchestrator.Task) string { return string(k.State.Stage) })
	c.words(func(k *orchestrator.Task) string { return encode(k.State) })
	c.words(func(k *orchestrator.Task) string { return string(k.State.Phase) })
	c.words(func(k *orchestrator.Task) string { return k.State.Head })
	c.words(func(k *orchestrator.Task) string { return k.TrackerMessageID })
	c.words(func(k *orchestrator.Task) string { return k.ApprovedBy })
	c.numbers(func(k *orchestrator.Task) int64 { return k.ID })
	c.numbers(func(k *orchestrator.Task) int64 { return int64(k.State.Retries) })
	c.numbers(func(k *orchestrator.Task) int64 { return k.Version + 1 })
	c.moments(func(k *orchestrator.Task) time.Time { return k.BRDReviewStartedAt })
	c.moments(func(k *orchestrator.Task) time.Time { return k.BRDReviewEndedAt })
	c.moments(func(k *orchestrator.Task) time.Time { return k.ApprovedAt })
	c.moments(func(k *orchestrator.Task) time.Time { return k.CancelRequestedAt })
	c.moments(func(k *orchestrator.Task) time.Time { return k.CancelledAt })
	c.moments(func(k *orchestrator.Task) time.Time { return k.CreatedAt })
	c.moments(func(k *orchestrator.Task) time.Time { return k.UpdatedAt })
	c.moments(func(k *orchestrator.Task) time.Time { return k.StageEnteredAt })
	c.moments(endedAt)
	return c
}
