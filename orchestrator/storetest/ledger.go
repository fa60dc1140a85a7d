package storetest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

func runs(k *kit) {
	r := task.AgentRun{
		TaskID: 1, JobID: 5, Attempt: 1, Run: 2, Stage: stage.Review, Role: stage.Reviewer,
		Usage:  work.Usage{Model: "m", Input: 1, Output: 2, CacheRead: 3, CacheCreate: 4, MicroUSD: 5},
		Status: work.ResultOK, Started: k.clock.Now(), Finished: k.clock.Now().Add(time.Second), LogPath: "/l", Summary: "s",
		Agent: "claude", Vendor: "anthropic", Session: "s-1", Trouble: work.TroubleLimit, Prompt: "0123456789ab", Text: "ba9876543210",
		Measured: &work.Measured{Told: work.Usage{Model: "m", Output: 1, MicroUSD: 4}, Estimated: true},
		Refused:  []work.Refusal{{Host: "example.org:443", Times: 2, Why: "w"}},
	}
	k.commit(task.Commit{Runs: []task.AgentRun{r}})
	r.ExitCode = 1
	k.commit(task.Commit{Runs: []task.AgentRun{r}})
	second := r
	second.Attempt, second.TaskID, second.Measured, second.Refused = 2, 9, nil, nil
	k.commit(task.Commit{Runs: []task.AgentRun{second}})
	list, err := k.s.AgentRuns(k.Context(), 1)
	require.NoError(k, err)
	require.Len(k, list, 1)
	list[0].ID = 0
	require.Equal(k, r, list[0])
	all, err := k.s.AgentRuns(k.Context())
	require.NoError(k, err)
	require.Len(k, all, 2)
	require.Nil(k, all[1].Measured)
	require.Empty(k, all[1].Refused)
}

func reservations(k *kit) {
	app, other := k.newTask(1), k.newTask(2)
	other.Repo = "acme/other"
	k.commit(task.Commit{Task: &app})
	k.commit(task.Commit{Task: &other})
	list := func(repo string) []task.Reservation {
		k.Helper()
		rs, err := k.s.Reservations(k.Context(), repo)
		require.NoError(k, err)
		return rs
	}
	at := k.clock.Now()
	reserve := func(t task.Task, job int64, attempt int) task.Reservation {
		r := task.Reservation{TaskID: t.ID, JobID: job, Attempt: attempt, Repo: t.Repo, MicroUSD: 1_000_000, At: at}
		require.NoError(k, k.s.Reserve(k.Context(), r))
		return r
	}
	two, one, far := reserve(app, 5, 2), reserve(app, 5, 1), reserve(other, 6, 1)
	one.MicroUSD = 7
	require.NoError(k, k.s.Reserve(k.Context(), one), "again replaces")
	require.Equal(k, []task.Reservation{one, two, far}, list(""))
	require.Equal(k, []task.Reservation{far}, list("acme/other"))

	record := func(t task.Task, job int64, attempt int, finished time.Time) task.AgentRun {
		r := task.AgentRun{
			TaskID: t.ID, JobID: job, Attempt: attempt, Stage: stage.Review, Role: stage.Reviewer,
			Usage:  work.Usage{Model: "m", MicroUSD: 3},
			Status: work.ResultOK, Started: at, Finished: finished,
		}
		k.commit(task.Commit{Runs: []task.AgentRun{r}})
		return r
	}
	record(app, 5, 1, at.Add(-time.Microsecond))
	last := record(app, 7, 1, at)
	record(other, 6, 1, at)
	require.Equal(k, []task.Reservation{two}, list(""))
	got, err := k.s.RunsSince(k.Context(), "acme/app", at)
	require.NoError(k, err)
	got[0].ID = 0
	require.Equal(k, []task.AgentRun{last}, got)

	require.NoError(k, k.s.Forget(k.Context(), two, far))
	require.Empty(k, list(""))
	stale := k.task(app.ID)
	stale.Version++
	reserve(app, 8, 1)
	run := task.AgentRun{TaskID: app.ID, JobID: 8, Attempt: 1}
	require.ErrorIs(k, k.s.Commit(k.Context(), task.Commit{Task: &stale, Runs: []task.AgentRun{run}}), task.ErrConflict)
	require.Len(k, list(""), 1, "what is not recorded is still reserved")
}
