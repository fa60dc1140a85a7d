package sqlite

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// No statement of the writer, and no query for few rows, reads a whole table: its cost does
// not grow with what else is stored.
func TestPlans(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d, err := Open(ctx, Options{Path: t.TempDir() + "/q.db"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	_, err = d.Put(ctx, queue.Job{Pool: "p", Key: "a", DedupeKey: "d", Holds: []string{"s"}}, queue.Job{Pool: "p"}, queue.Job{Pool: "p", Holds: []string{"s"}}, queue.Job{Pool: "p"})
	require.NoError(t, err)
	claims, err := d.Take(ctx, "p", "w", 9, time.Minute)
	require.NoError(t, err)
	hold := queue.Hold{Subject: "s", Name: "n"}
	row := task.Task{ID: 1}
	require.NoError(t, d.Extend(ctx, claims[0], time.Minute))
	require.NoError(t, d.Finish(ctx, claims[0], queue.Outcome{Kind: queue.OutcomeDead}))
	require.NoError(t, d.Finish(ctx, claims[2], queue.Outcome{Kind: queue.OutcomeRetry}))
	require.NoError(t, d.Commit(ctx, task.Commit{Claim: &claims[1], Task: &row, Line: &task.Line{}, Hold: []queue.Hold{hold}, CancelPools: []string{"p"}}))
	row.Version = 1
	require.NoError(t, d.Commit(ctx, task.Commit{Task: &row}))
	_, err = d.Take(ctx, "p", "w", 9, time.Minute) // sets one aside
	require.NoError(t, err)
	require.NoError(t, d.Free(ctx, hold))
	_, err = d.Repeat(ctx, claims[0].Job.ID)
	require.NoError(t, err)
	_, err = d.Hasten(ctx, "p", 0)
	require.NoError(t, err)
	_, err = d.Reap(ctx)
	require.NoError(t, err)
	_, err = d.Receive(ctx, task.Delivery{Source: "s", ID: "1"}, queue.Job{Pool: "p"})
	require.NoError(t, err)
	for _, f := range []queue.Filter{{ID: 1}, {Key: "k", Open: true}, {TaskID: 1}, {TaskID: 1, Open: true}, {Open: true}, {Open: true, Pool: "p"}, {Failed: true}, {Failed: true, Pool: "p"}, {Failed: true, TaskID: 1}} {
		_, err = d.Jobs(ctx, f)
		require.NoError(t, err)
	}
	for _, f := range []task.Filter{
		{TrackerIssueID: "i"}, {WorkItemID: "w"}, {Repo: "r", Branch: "b"}, {Live: true}, {Repo: "r", Live: true},
		{TrackerIssueID: "i", Cancelled: true, BeforeID: math.MaxInt64}, {WorkItemID: "w", Cancelled: true, BeforeID: math.MaxInt64},
	} {
		_, err = d.Tasks(ctx, f)
		require.NoError(t, err)
	}
	_, err = d.HoldsIn(ctx, "a", "b", 9)
	require.NoError(t, err)
	_, err = d.LastDelivery(ctx, "s")
	require.NoError(t, err)
	_, err = d.Ended(ctx, time.Now(), 9)
	require.NoError(t, err)
	_, err = d.DayCosts(ctx, time.Now())
	require.NoError(t, err)
	_, err = d.RunsSince(ctx, "r", time.Now())
	require.NoError(t, err)
	var texts []string
	for text := range d.stmts {
		texts = append(texts, text)
	}
	d.kept.Range(func(text, _ any) bool { texts = append(texts, text.(string)); return true })
	require.Greater(t, len(texts), 35)
	for _, text := range texts {
		if !strings.Contains(text, " from ") || strings.Contains(text, " from depth") { // a row for each pool
			continue
		}
		args := make([]any, strings.Count(text, "?"))
		rows, err := d.read.QueryContext(ctx, "explain query plan "+text, args[:highest(text)]...)
		require.NoError(t, err, text)
		var plan []string
		for rows.Next() {
			var a, b, c int
			var step string
			require.NoError(t, rows.Scan(&a, &b, &c, &step))
			plan = append(plan, step)
		}
		require.NoError(t, errors.Join(rows.Err(), rows.Close()))
		if strings.Contains(text, "r.finished_at >=") {
			require.Contains(t, plan[0], "agent_runs_finished", text)
		}
		for _, step := range plan {
			require.NotContains(t, step, "USING INTEGER PRIMARY KEY (rowid>?", text)
			words := strings.Fields(step)
			whole := words[0] == "SCAN" && !strings.Contains(step, "USING") && !strings.Contains(step, "CONSTANT") && !strings.Contains(step, "VIRTUAL")
			if whole && len(words) == 2 && len(words[1]) == 1 && words[1] != "j" && words[1] != "k" {
				continue // a subquery of this statement
			}
			require.False(t, whole, "%s\n%s", text, strings.Join(plan, "\n"))
		}
	}
}

// highest is the highest number of a parameter.
func highest(text string) (n int) {
	for strings.Contains(text, fmt.Sprint("?", n+1)) {
		n++
	}
	return n
}
