package orchestrator_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features/retention"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
	"github.com/signalbox-dev/signalbox/queue"
)

// retaining runs f beside an engine that keeps ended jobs and deliveries for ten
// minutes, and sweeps this machine's disk and another's each minute.
func retaining(t *testing.T, f func(r *rig, other *memwork.Place)) {
	t.Helper()
	var other *memwork.Place
	runWith(t, func(r *rig) {
		other = r.place.Machine(goodAgent)
		r.features = func() []orchestrator.Feature {
			projects, err := orchestrator.NewProjects(r.project...)
			require.NoError(r, err)
			feature, err := retention.Feature(retention.Options{
				Store: r.store, Jobs: r.store, Projects: projects, Agents: r.place, Disks: []retention.Disk{{Disk: r.place, Name: "here"}, {Disk: other, Name: "there"}},
				KeepJobs: 10 * time.Minute, KeepDeliveries: 10 * time.Minute, Every: time.Minute, Unknown: 5 * time.Minute,
			})
			require.NoError(r, err)
			return []orchestrator.Feature{feature}
		}
	}, func(r *rig) { f(r, other) })
}

// end puts jobs that nobody else takes, and ends them.
func (r *rig) end(n int) {
	r.Helper()
	jobs := make([]queue.Job, n)
	for i := range jobs {
		jobs[i].Pool = "over"
	}
	_, err := r.store.Put(context.Background(), jobs...)
	require.NoError(r, err)
	claims, err := r.store.Take(context.Background(), "over", "w", n, time.Minute)
	require.NoError(r, err)
	for _, c := range claims {
		require.NoError(r, r.store.Finish(context.Background(), c, queue.Outcome{Kind: queue.OutcomeDone}))
	}
}

// pool counts jobs.
func (r *rig) pool(f queue.Filter) int {
	r.Helper()
	f.Limit = 1 << 20
	jobs, err := r.store.Jobs(context.Background(), f)
	require.NoError(r, err)
	return len(jobs)
}

func TestRetentionOfJobs(t *testing.T) {
	retaining(t, func(r *rig, _ *memwork.Place) {
		item := r.card(appProject, "x")
		r.move(appProject, item, stage.StatusToAnalyse)
		r.settle(time.Minute)
		live := queue.Filter{TaskID: r.task(item).ID}
		before := r.pool(live)
		require.NotZero(r, before)
		_, err := r.store.Receive(context.Background(), orchestrator.Delivery{Source: "plane", ID: "1", BodyHash: "h", ReceivedAt: time.Now()}, queue.Job{Pool: "nobody"})
		require.NoError(r, err)
		r.end(1000)
		r.settle(8 * time.Minute)
		r.end(10)
		require.Equal(r, 1010, r.pool(queue.Filter{Pool: "over"}))
		last, err := r.store.LastDelivery(context.Background(), "plane")
		require.NoError(r, err)
		require.False(r, last.IsZero())
		r.settle(4 * time.Minute)
		require.Equal(r, 10, r.pool(queue.Filter{Pool: "over"}))
		require.GreaterOrEqual(r, r.pool(live), before, "of a task that lives")
		last, err = r.store.LastDelivery(context.Background(), "plane")
		require.NoError(r, err)
		require.True(r, last.IsZero())
		entries, err := r.store.Journal(context.Background(), live.TaskID)
		require.NoError(r, err)
		require.NotEmpty(r, entries)
	})
}

// Each machine clears what lies there for tasks that have ended, and nothing else.
func TestRetentionOnMachines(t *testing.T) {
	retaining(t, func(r *rig, other *memwork.Place) {
		item := r.card(appProject, "x")
		r.move(appProject, item, stage.StatusToAnalyse)
		r.settle(time.Minute)
		live := r.task(item)
		open := func(p *memwork.Place, id int64, name string) {
			_, err := p.Open(context.Background(), work.Space{Repo: appRepo, Main: "main", Branch: name, WorkItem: name, Task: id}, nil)
			require.NoError(r, err)
		}
		ended := func(s stage.Stage, name string) int64 {
			over := live
			over.ID, _ = r.store.NewTaskID(context.Background())
			over.Version, over.State.Stage = 0, s
			over.WorkItemID, over.Branch, over.TrackerIssueID = name, name, name
			require.NoError(r, r.store.Commit(context.Background(), orchestrator.Commit{Task: &over}))
			return over.ID
		}
		done, stopped, busy := ended(stage.Done, "DONE-1"), ended(stage.Cancelled, "STOP-1"), ended(stage.Done, "BUSY-1")
		_, err := r.store.Put(context.Background(), queue.Job{Pool: "nobody", TaskID: busy})
		require.NoError(r, err)
		open(other, live.ID, "LIVE-1")
		open(other, done, "DONE-1")
		open(other, stopped, "STOP-1")
		open(other, busy, "BUSY-1")
		open(other, 999, "FOREIGN-1")
		at := func(names ...string) (out []string) {
			for _, n := range names {
				out = append(out, fmt.Sprintf("/mem/%s/%s", appRepo, n))
			}
			return out
		}
		r.settle(2 * time.Minute)
		require.Equal(r, at("BUSY-1", "FOREIGN-1", "LIVE-1"), other.Checkouts())
		here := r.place.Checkouts()
		require.Len(r, here, 1)
		_, err = r.store.Cancel(context.Background(), busy)
		require.NoError(r, err)
		r.settle(5 * time.Minute)
		require.Equal(r, at("LIVE-1"), other.Checkouts())
		require.Equal(r, here, r.place.Checkouts())
	})
}
