package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// among: a decision about what waits for whom is made at a place in the line of the
// repository.
func among(k *kit) {
	first, second, third := k.newTask(1), k.newTask(2), k.newTask(3)
	elsewhere := k.newTask(4)
	elsewhere.Repo = "acme/elsewhere"
	refused := func(t task.Task, ahead, behind int64) {
		k.Helper()
		line := &task.Line{Ahead: ahead, Behind: behind}
		err := k.s.Commit(k.Context(), task.Commit{Task: &t, Line: line, Jobs: []queue.Job{{Pool: "p"}}})
		require.ErrorIs(k, err, task.ErrConflict)
		k.noJobs()
	}
	stored := func(t task.Task, ahead, behind int64) {
		k.Helper()
		k.commit(task.Commit{Task: &t, Line: &task.Line{Ahead: ahead, Behind: behind}})
	}
	stored(elsewhere, 0, 0)
	refused(first, 0, third.ID)
	stored(first, 0, 0)
	refused(third, 0, 0)
	refused(third, second.ID, 0)
	stored(third, first.ID, 0)
	refused(second, first.ID, 0)
	refused(second, 0, third.ID)
	stored(second, first.ID, third.ID)
	line := func(f task.Filter) (ids []int64) {
		k.Helper()
		f.Repo, f.Live = first.Repo, true
		list, err := k.s.Tasks(k.Context(), f)
		require.NoError(k, err)
		for _, t := range list {
			ids = append(ids, t.ID)
		}
		return ids
	}
	require.Equal(k, []int64{second.ID, first.ID}, line(task.Filter{BeforeID: third.ID}))
	require.Equal(k, []int64{second.ID}, line(task.Filter{BeforeID: third.ID, Limit: 1}))
	require.Equal(k, []int64{second.ID}, line(task.Filter{BeforeID: third.ID, AfterID: first.ID}))
	require.Empty(k, line(task.Filter{BeforeID: first.ID}))

	end := k.task(second.ID)
	end.State.Stage = stage.Done
	refused(end, first.ID, 0)
	stored(end, first.ID, third.ID)
	last := k.task(third.ID)
	last.State.Stage = stage.Done
	refused(last, second.ID, 0)
	stored(last, first.ID, 0)
	again := k.task(first.ID)
	k.commit(task.Commit{Task: &again}) // without a condition
}

// behindClaim: a decision about jobs that nobody has begun does not stand when one has been.
func behindClaim(k *kit) {
	ids, err := k.s.Put(k.Context(), queue.Job{Pool: "p"}, queue.Job{Pool: "p"})
	require.NoError(k, err)
	commit := func(n int) error {
		t := k.newTask(n)
		return k.s.Commit(k.Context(), task.Commit{Task: &t, Unclaimed: ids})
	}
	require.NoError(k, commit(1))
	c := k.take("p")[0]
	require.ErrorIs(k, commit(2), task.ErrConflict)
	require.NoError(k, k.s.Finish(k.Context(), c, queue.Outcome{Kind: queue.OutcomeDone}))
	require.ErrorIs(k, commit(2), task.ErrConflict)
	ids = ids[1:]
	require.NoError(k, commit(2))
}

func dependencies(k *kit) {
	set := func(task int64, source string, on ...int64) {
		k.Helper()
		require.NoError(k, k.s.SetDependencies(k.Context(), task, source, on))
	}
	list := func() (out [][2]int64) {
		k.Helper()
		deps, err := k.s.Dependencies(k.Context(), 0)
		require.NoError(k, err)
		for _, d := range deps {
			require.True(k, d.CreatedAt.Equal(k.clock.Now()))
			out = append(out, [2]int64{d.TaskID, d.On})
		}
		return out
	}
	set(2, "tracker", 1, 9)
	set(2, "db", 1, 3)
	set(4, "db", 2)
	require.Equal(k, [][2]int64{{2, 1}, {2, 3}, {2, 9}, {4, 2}}, list())
	one := func(on int64, source string) task.Dependency {
		return task.Dependency{TaskID: 2, On: on, Source: source}
	}
	require.NoError(k, k.s.Depend(k.Context(), one(1, "db")), "it stays the tracker's")
	require.NoError(k, k.s.Undepend(k.Context(), one(1, "db")))
	require.NoError(k, k.s.Depend(k.Context(), one(4, "db")))
	require.Equal(k, [][2]int64{{2, 1}, {2, 3}, {2, 4}, {2, 9}, {4, 2}}, list())
	require.NoError(k, k.s.Undepend(k.Context(), one(4, "db")))
	require.NoError(k, k.s.Undepend(k.Context(), one(4, "db")))
	set(2, "tracker", 9, 9)
	require.Equal(k, [][2]int64{{2, 3}, {2, 9}, {4, 2}}, list(), "what the tracker named first was the tracker's")
	set(2, "tracker")
	deps, err := k.s.Dependencies(k.Context(), 4)
	require.NoError(k, err)
	require.Equal(k, []task.Dependency{{TaskID: 4, On: 2, Source: "db", CreatedAt: k.clock.Now()}}, deps)
}

func missing(k *kit) {
	_, err := k.s.Task(k.Context(), 404)
	require.ErrorIs(k, err, task.ErrNotFound)
	list, err := k.s.Tasks(k.Context(), task.Filter{})
	require.NoError(k, err)
	require.Empty(k, list)
}
