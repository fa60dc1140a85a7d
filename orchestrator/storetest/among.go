package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/queue"
)

// among: a decision about what waits for whom is made among the tasks that live.
func among(k *kit) {
	first, second, third := k.newTask(1), k.newTask(2), k.newTask(3)
	refused := func(live []int64, t orchestrator.Task) {
		k.Helper()
		err := k.s.Commit(k.Context(), orchestrator.Commit{Task: &t, Live: live, Jobs: []queue.Job{{Pool: "p"}}})
		require.ErrorIs(k, err, orchestrator.ErrConflict)
		k.noJobs()
	}
	refused([]int64{third.ID}, first)
	k.commit(orchestrator.Commit{Task: &first, Live: []int64{}})
	refused([]int64{}, second)
	refused([]int64{first.ID, third.ID}, second)
	k.commit(orchestrator.Commit{Task: &second, Live: []int64{first.ID}})
	end := k.task(first.ID)
	end.State.Stage = stage.Done
	refused([]int64{}, end)
	refused([]int64{first.ID, second.ID}, end)
	k.commit(orchestrator.Commit{Task: &end, Live: []int64{second.ID}})
	refused([]int64{first.ID, second.ID}, third)
	k.commit(orchestrator.Commit{Task: &third, Live: []int64{second.ID}})
	again := k.task(third.ID)
	k.commit(orchestrator.Commit{Task: &again}) // does not care
}

func dependencies(k *kit) {
	set := func(task int64, source string, on ...int64) {
		k.Helper()
		require.NoError(k, k.s.SetDependencies(k.Context(), task, source, on))
	}
	list := func() (out [][2]int64) {
		k.Helper()
		deps, err := k.s.Dependencies(k.Context())
		require.NoError(k, err)
		for _, d := range deps {
			require.True(k, d.CreatedAt.Equal(k.clock.Now()))
			out = append(out, [2]int64{d.TaskID, d.On})
		}
		return out
	}
	require.Empty(k, list())
	set(2, "tracker", 1, 9)
	set(2, "db", 1, 3)
	set(4, "db", 2)
	require.Equal(k, [][2]int64{{2, 1}, {2, 3}, {2, 9}, {4, 2}}, list())
	set(2, "tracker", 9, 9)
	require.Equal(k, [][2]int64{{2, 3}, {2, 9}, {4, 2}}, list(), "what the tracker named first was the tracker's")
	set(2, "tracker")
	set(2, "db")
	deps, err := k.s.Dependencies(k.Context())
	require.NoError(k, err)
	require.Equal(k, []orchestrator.Dependency{{TaskID: 4, On: 2, Source: "db", CreatedAt: k.clock.Now()}}, deps)
}

func missing(k *kit) {
	_, err := k.s.Task(k.Context(), 404)
	require.ErrorIs(k, err, orchestrator.ErrNotFound)
	list, err := k.s.Tasks(k.Context(), orchestrator.TaskFilter{})
	require.NoError(k, err)
	require.Empty(k, list)
}
