package retention_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features/retention"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
	"github.com/signalbox-dev/signalbox/queue"
)

// retaining runs f beside an engine that keeps ended jobs and deliveries for ten
// minutes, and sweeps this machine's disk and another's each minute.
func retaining(t *testing.T, f func(r *Rig, other *memwork.Place)) {
	t.Helper()
	var other *memwork.Place
	Run(t, func(r *Rig) {
		other = r.Place.Machine(GoodAgent)
		r.Features = func() []orchestrator.Feature {
			feature, err := retention.Feature(retention.Options{Parts: r.Parts(), Disks: []retention.Disk{{Disk: r.Place, Name: "here"}, {Disk: other, Name: "there"}}, KeepJobs: retention.Span(10 * time.Minute), KeepDeliveries: retention.Span(10 * time.Minute), Every: time.Minute, Unknown: 5 * time.Minute})
			require.NoError(r, err)
			return []orchestrator.Feature{feature}
		}
	}, func(r *Rig) { f(r, other) })
}

// end puts jobs that nobody else takes, and ends them.
func end(r *Rig, n int) {
	r.Helper()
	jobs := make([]queue.Job, n)
	for i := range jobs {
		jobs[i].Pool = "over"
	}
	_, err := r.Store.Put(context.Background(), jobs...)
	require.NoError(r, err)
	claims, err := r.Store.Take(context.Background(), "over", "w", n, time.Minute)
	require.NoError(r, err)
	for _, c := range claims {
		require.NoError(r, r.Store.Finish(context.Background(), c, queue.Outcome{Kind: queue.OutcomeDone}))
	}
}

// pool counts jobs.
func pool(r *Rig, f queue.Filter) int {
	r.Helper()
	f.Limit = 1 << 20
	jobs, err := r.Store.Jobs(context.Background(), f)
	require.NoError(r, err)
	return len(jobs)
}

func TestRetentionOfJobs(t *testing.T) {
	retaining(t, func(r *Rig, _ *memwork.Place) {
		item := r.Begin("x")
		r.Settle(time.Minute)
		live := queue.Filter{TaskID: r.Task(item).ID}
		before := pool(r, live)
		require.NotZero(r, before)
		_, err := r.Store.Receive(context.Background(), task.Delivery{Source: "plane", ID: "1", BodyHash: "h", ReceivedAt: time.Now()}, queue.Job{Pool: "nobody"})
		require.NoError(r, err)
		end(r, 1000)
		r.Settle(8 * time.Minute)
		end(r, 10)
		require.Equal(r, 1010, pool(r, queue.Filter{Pool: "over"}))
		last, err := r.Store.LastDelivery(context.Background(), "plane")
		require.NoError(r, err)
		require.NotZero(r, last)
		r.Settle(4 * time.Minute)
		require.Equal(r, 10, pool(r, queue.Filter{Pool: "over"}))
		require.GreaterOrEqual(r, pool(r, live), before, "of a task that lives")
		last, err = r.Store.LastDelivery(context.Background(), "plane")
		require.NoError(r, err)
		require.True(r, last.IsZero())
		entries, err := r.Store.Journal(context.Background(), live.TaskID)
		require.NoError(r, err)
		require.NotEmpty(r, entries)
	})
}

// Each machine clears what lies there for tasks that have ended, and nothing else.
func TestRetentionOnMachines(t *testing.T) {
	retaining(t, func(r *Rig, other *memwork.Place) {
		item := r.Begin("x")
		r.Settle(time.Minute)
		live := r.Task(item)
		open := func(p *memwork.Place, id int64, name string) {
			_, err := p.Open(context.Background(), work.Workspace{Repo: AppRepo, Main: "main", Branch: name, WorkItem: name, Task: id}, nil)
			require.NoError(r, err)
		}
		ended := func(s stage.Stage, name string) int64 {
			over := live
			over.ID, _ = r.Store.NewTaskID(context.Background())
			over.Version, over.State.Stage = 0, s
			over.WorkItemID, over.Branch, over.TrackerIssueID = name, name, name
			require.NoError(r, r.Store.Commit(context.Background(), task.Commit{Task: &over}))
			return over.ID
		}
		done, stopped, busy := ended(stage.Done, "DONE-1"), ended(stage.Cancelled, "STOP-1"), ended(stage.Done, "BUSY-1")
		_, err := r.Store.Put(context.Background(), queue.Job{Pool: "nobody", TaskID: busy})
		require.NoError(r, err)
		open(other, live.ID, "LIVE-1")
		open(other, done, "DONE-1")
		open(other, stopped, "STOP-1")
		open(other, busy, "BUSY-1")
		open(other, 999, "FOREIGN-1")
		at := func(names ...string) (out []string) {
			for _, n := range names {
				out = append(out, fmt.Sprintf("/mem/%s/%s", AppRepo, n))
			}
			return out
		}
		r.Settle(2 * time.Minute)
		require.Equal(r, at("BUSY-1", "FOREIGN-1", "LIVE-1"), other.Checkouts())
		here := r.Place.Checkouts()
		require.Len(r, here, 1)
		_, err = r.Store.Cancel(context.Background(), busy)
		require.NoError(r, err)
		r.Settle(5 * time.Minute)
		require.Equal(r, at("LIVE-1"), other.Checkouts())
		require.Equal(r, here, r.Place.Checkouts())
	})
}
