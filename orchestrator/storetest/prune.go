package storetest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

const month = 30 * 24 * time.Hour

// ended puts jobs and ends them, and returns their ids.
func (k *kit) ended(jobs ...queue.Job) []int64 {
	k.Helper()
	for i := range jobs {
		jobs[i].Pool = "over"
	}
	ids, err := k.s.Put(k.Context(), jobs...)
	require.NoError(k, err)
	claims, err := k.s.Take(k.Context(), "over", "w", len(jobs), time.Minute)
	require.NoError(k, err)
	require.Len(k, claims, len(jobs))
	for _, c := range claims {
		require.NoError(k, k.s.Finish(k.Context(), c, queue.Outcome{Kind: queue.OutcomeDone}))
	}
	return ids
}

// prune removes what has ended a month ago, seven jobs at a time.
func (k *kit) prune() (sum int) {
	k.Helper()
	for after := int64(0); ; {
		n, next, err := k.s.PruneJobs(k.Context(), k.clock.Now().Add(-month), after, 7)
		require.NoError(k, err)
		require.LessOrEqual(k, n, 7)
		sum += n
		if next == 0 {
			return sum
		}
		require.Greater(k, next, after)
		after = next
	}
}

// jobs are the ids of all jobs.
func (k *kit) jobs() (ids []int64) {
	k.Helper()
	list := k.all()
	for _, j := range list {
		ids = append(ids, j.ID)
	}
	return ids
}

func prunes(k *kit) {
	k.ended(make([]queue.Job, 40)...)
	late, err := k.s.Put(k.Context(),
		queue.Job{Pool: "p", DedupeKey: "late"}, queue.Job{Pool: "p", Key: "chain"}, queue.Job{Pool: "p", Key: "chain"})
	require.NoError(k, err)
	k.clock.Add(month - time.Minute)
	require.Zero(k, k.prune())
	claims, err := k.s.Take(k.Context(), "p", "w", 1, 2*month)
	require.NoError(k, err)
	require.NoError(k, k.s.Finish(k.Context(), claims[0], queue.Outcome{Kind: queue.OutcomeDone}), "put long ago, and ended just now")
	young := k.ended(make([]queue.Job, 10)...)
	k.clock.Add(2 * time.Minute)
	require.Equal(k, 40, k.prune())
	require.Zero(k, k.prune())
	require.Equal(k, append(late, young...), k.jobs())
	again, err := k.s.Put(k.Context(), queue.Job{Pool: "p", DedupeKey: "late"})
	require.NoError(k, err)
	require.Greater(k, again[0], young[9])
	claims, err = k.s.Take(k.Context(), "p", "w", 10, time.Minute)
	require.NoError(k, err)
	require.Len(k, claims, 2, "the first of its key, and the one that was put again")
	require.Equal(k, late[1], claims[0].Job.ID)
}

func prunesNone(k *kit) {
	live, over := k.newTask(1), k.newTask(2)
	over.State.Stage = stage.Done
	for _, t := range []task.Task{live, over} {
		require.NoError(k, k.s.Commit(k.Context(), task.Commit{Task: &t}))
	}
	ids := k.ended(queue.Job{TaskID: live.ID}, queue.Job{TaskID: over.ID}, queue.Job{TaskID: over.ID}, queue.Job{})
	reserved := task.Reservation{TaskID: over.ID, JobID: ids[1], Attempt: 1, Repo: over.Repo, At: k.clock.Now()}
	require.NoError(k, k.s.Reserve(k.Context(), reserved))
	open, err := k.s.Put(k.Context(), queue.Job{Pool: "p", DedupeKey: "d"}, queue.Job{Pool: "q", AvailableAt: k.clock.Now().Add(2 * month)})
	require.NoError(k, err)
	_, err = k.s.Take(k.Context(), "p", "w", 1, 2*month)
	require.NoError(k, err)
	k.clock.Add(month + time.Minute)
	require.Equal(k, 2, k.prune())
	require.Equal(k, append([]int64{ids[0], ids[1]}, open...), k.jobs())
	same, err := k.s.Put(k.Context(), queue.Job{Pool: "p", DedupeKey: "d"})
	require.NoError(k, err)
	require.Equal(k, open[0], same[0])
	for _, want := range []int{1, 0} { // once the task has ended, its jobs go too
		live, err = k.s.Task(k.Context(), live.ID)
		require.NoError(k, err)
		live.State.Stage = stage.Cancelled
		require.NoError(k, k.s.Commit(k.Context(), task.Commit{Task: &live}))
		require.Equal(k, want, k.prune())
	}
}

func prunesNewest(k *kit) {
	last := k.ended(make([]queue.Job, 3)...)[2]
	k.clock.Add(month + time.Minute)
	k.prune()
	_, err := k.s.Task(k.Context(), 77) // an error empties a store's cache
	require.ErrorIs(k, err, task.ErrNotFound)
	next, err := k.s.Put(k.Context(), queue.Job{Pool: "p"})
	require.NoError(k, err)
	require.Greater(k, next[0], last)
}
