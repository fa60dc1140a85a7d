package storetest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/queue"
)

func pauses(k *kit) {
	stored := func() []task.Pause {
		k.Helper()
		list, err := k.s.Pauses(k.Context())
		require.NoError(k, err)
		return list
	}
	refused := func(c task.Commit, why string) {
		k.Helper()
		t := k.newTask(9)
		c.Task, c.Jobs = &t, []queue.Job{{Pool: "p"}}
		require.ErrorIs(k, k.s.Commit(k.Context(), c), task.ErrConflict, why)
		k.noJobs()
		_, err := k.s.Task(k.Context(), t.ID)
		require.ErrorIs(k, err, task.ErrNotFound)
	}
	at := k.clock.Now()
	one := task.Pause{
		Agent: "claude", Model: "opus", Kind: work.TroubleModel, Reason: "no such model",
		Since: at, Next: at.Add(time.Minute), Task: 7,
	}
	all := task.Pause{Agent: "claude", Kind: work.TroubleLimit, Reason: "resets 3pm", Since: at, Until: at.Add(time.Hour)}
	upper := task.Pause{Agent: "Codex", Kind: work.TroubleLogin, Since: at}
	k.commit(task.Commit{Pauses: []task.Pause{one, all, upper}})
	one.Version, all.Version, upper.Version = 1, 1, 1
	require.Equal(k, []task.Pause{upper, all, one}, stored(), "by agent and model, byte by byte")

	ghost := task.Pause{Agent: "gemini", Since: at, Version: 1}
	fresh, earlier := all, all
	fresh.Version, earlier.Since = 0, at.Add(-time.Microsecond)
	refused(task.Commit{Pauses: []task.Pause{fresh}}, "it is there already")
	refused(task.Commit{Pauses: []task.Pause{ghost}}, "it is not there any more")
	refused(task.Commit{Resumed: []task.Pause{ghost}}, "nor to be removed")
	refused(task.Commit{Resumed: []task.Pause{earlier}}, "it is another one of the same agent")

	old := one
	one.Task, one.Next, one.Reason = 8, at.Add(time.Hour), "still no such model"
	k.commit(task.Commit{Pauses: []task.Pause{one}, Resumed: []task.Pause{all, upper}})
	one.Version = 2
	require.Equal(k, []task.Pause{one}, stored())
	refused(task.Commit{Resumed: []task.Pause{old}}, "it has changed")
	k.commit(task.Commit{Resumed: []task.Pause{one}})
	require.Empty(k, stored())
}
