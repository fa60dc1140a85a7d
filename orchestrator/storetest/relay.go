package storetest

import (
	"errors"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// relay does what a worker does: its commit ends one job, and it takes the next.
func (k *kit) relay(c task.Commit, n int) ([]queue.Claim, error) {
	k.Helper()
	committed := k.s.Commit(k.Context(), c)
	if committed != nil && !errors.Is(committed, queue.ErrLost) {
		return nil, committed
	}
	claims, err := k.s.Take(k.Context(), "events", "w2", n, time.Minute)
	return claims, errors.Join(committed, err)
}

// relays goes from job to job: each commit ends one, puts the next of its key, and
// takes it. Every other one has what is not done together with others' commits.
func relays(k *kit) {
	t := k.newTask(1)
	k.commit(task.Commit{Task: &t, Jobs: []queue.Job{{Pool: "events", Key: "k", TaskID: t.ID}}})
	var err error
	claims := k.take("events")
	for i := range 6 {
		require.Len(k, claims, 1)
		t = k.task(t.ID)
		entry := task.JournalEntry{TaskID: t.ID, Seq: int64(i), At: k.clock.Now(), Kind: "decision", Payload: []byte("{}")}
		c := task.Commit{
			Task: &t, Claim: &claims[0], Journal: []task.JournalEntry{entry},
			Jobs: []queue.Job{{Pool: "events", Key: "k", TaskID: t.ID}, {Pool: "effects", TaskID: t.ID, DedupeKey: "once"}},
		}
		if i%2 == 1 {
			c.Hold, c.Line = []queue.Hold{{Subject: "s", Name: "n"}}, &task.Line{}
		}
		was := claims[0].Job
		claims, err = k.relay(c, 1)
		require.NoError(k, err)
		require.Len(k, claims, 1)
		require.Greater(k, claims[0].Job.ID, was.ID)
		require.Equal(k, []any{"w2", 1, queue.Running}, []any{claims[0].Job.Worker, claims[0].Job.Attempt, claims[0].Job.Status})
		require.EqualValues(k, i+2, k.task(t.ID).Version)
	}
	none, err := k.relay(task.Commit{Claim: &claims[0], Jobs: []queue.Job{{Pool: "events"}}}, 0)
	require.NoError(k, err)
	require.Empty(k, none)
	entries, err := k.s.Journal(k.Context(), t.ID)
	require.NoError(k, err)
	require.Len(k, entries, 6)
	open, err := k.s.Jobs(k.Context(), queue.Filter{Open: true})
	require.NoError(k, err)
	require.Len(k, open, 2, "the effect, put once, and the job that nobody took")
}

// relaysRefused: what is refused takes nothing and keeps its claim; a claim that
// was lost keeps nobody from the next job.
func relaysRefused(k *kit) {
	t := k.newTask(1)
	k.commit(task.Commit{Task: &t})
	c := k.claim()
	next, err := k.s.Put(k.Context(), queue.Job{Pool: "events"}, queue.Job{Pool: "events"})
	require.NoError(k, err)
	stale := t // its version is the one before
	for _, line := range []*task.Line{nil, {Ahead: 99}} {
		claims, err := k.relay(task.Commit{Task: &stale, Claim: &c, Line: line, Jobs: []queue.Job{{Pool: "events"}}}, 1)
		require.ErrorIs(k, err, task.ErrConflict)
		require.Empty(k, claims)
		require.NoError(k, k.s.Extend(k.Context(), c, time.Minute), "the claim is still held")
	}
	fresh := k.task(t.ID)
	fresh.State.Stage = stage.Architecture
	claims, err := k.relay(task.Commit{Task: &fresh, Claim: &c}, 1)
	require.NoError(k, err)
	require.Len(k, claims, 1)
	require.Equal(k, next[0], claims[0].Job.ID)
	fresh = k.task(t.ID)
	for _, free := range [][]queue.Hold{nil, {{Subject: "s", Name: "n"}}} {
		claims, err = k.relay(task.Commit{Task: &fresh, Claim: &c, Free: free, Jobs: []queue.Job{{Pool: "p"}}}, 1)
		require.ErrorIs(k, err, queue.ErrLost)
		if free == nil {
			require.Len(k, claims, 1)
			require.Equal(k, next[1], claims[0].Job.ID)
		}
	}
	require.Empty(k, claims, "there is no other job")
	require.Equal(k, fresh, k.task(t.ID))
}
