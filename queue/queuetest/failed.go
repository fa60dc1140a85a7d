package queuetest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/queue"
)

// fail makes a job fail that was claimed, a second later than what came before.
func (k *kit) fail(c queue.Claim, why string) {
	k.Helper()
	k.clock.Add(time.Second)
	k.finish(c, queue.Outcome{Kind: queue.OutcomeDead, Error: why})
}

func (k *kit) failed(f queue.Filter) []int64 {
	k.Helper()
	f.Failed = true
	jobs, err := k.q.Jobs(k.Context(), f)
	require.NoError(k, err)
	out := []int64{}
	for _, j := range jobs {
		require.Equal(k, queue.Failed, j.Status)
		require.NotEmpty(k, j.Error)
		require.False(k, j.FinishedAt.IsZero())
		out = append(out, j.ID)
	}
	return out
}

// listsFailed: jobs that failed by a worker's word, by a lost heartbeat at the last
// attempt, and in the commit that takes the next one.
func listsFailed(k *kit) {
	id := k.put(
		queue.Job{TaskID: 1, Key: "a"}, queue.Job{TaskID: 1}, queue.Job{TaskID: 2, MaxAttempts: 1},
		queue.Job{TaskID: 2}, queue.Job{TaskID: 2}, queue.Job{Pool: "a", TaskID: 2},
	)
	claims := k.take(4)
	k.fail(claims[3], "refused")
	k.done(claims[1])
	k.fail(claims[0], "refused too")
	k.clock.Add(ttl)
	_, err := k.q.Reap(k.Context())
	require.NoError(k, err)
	_, err = k.q.Cancel(k.Context(), 2, pool)
	require.NoError(k, err)
	elsewhere, err := k.q.Take(k.Context(), "a", "w", 1, ttl)
	require.NoError(k, err)
	k.clock.Add(time.Second)
	_, err = k.q.FinishTake(k.Context(), elsewhere[0], queue.Outcome{Kind: queue.OutcomeDead, Error: "no"}, "a", "w", 1, ttl)
	require.NoError(k, err)

	require.Equal(k, []int64{id[5], id[2], id[0], id[3]}, k.failed(queue.Filter{}), "neither what is done nor what was cancelled")
	require.Equal(k, []int64{id[5], id[2]}, k.failed(queue.Filter{Limit: 2}))
	require.Equal(k, []int64{id[2], id[0], id[3]}, k.failed(queue.Filter{Pool: pool}))
	require.Equal(k, []int64{id[5], id[2], id[3]}, k.failed(queue.Filter{TaskID: 2}))
	require.Equal(k, []int64{id[2]}, k.failed(queue.Filter{TaskID: 2, Pool: pool, Limit: 1}))
	require.Equal(k, []int64{id[0]}, k.failed(queue.Filter{Key: "a"}))
	require.Equal(k, []int64{id[2]}, k.failed(queue.Filter{ID: id[2]}))
	require.Empty(k, k.failed(queue.Filter{ID: id[1]}))
	jobs, err := k.q.Jobs(k.Context(), queue.Filter{ID: id[1]})
	require.NoError(k, err)
	require.Len(k, jobs, 1)
	require.Equal(k, []any{id[1], queue.Done}, []any{jobs[0].ID, jobs[0].Status})
}

func repeats(k *kit) {
	in := queue.Job{
		Kind: "kind", Key: "key", TaskID: 7, Lane: "acme/app", Role: "developer",
		Holds: []string{"a"}, Payload: []byte("{}"), Priority: 3, DedupeKey: "d",
	}
	id := k.put(in, queue.Job{Key: "key"})
	again := func(id int64) (int64, error) { return k.q.Repeat(k.Context(), id) }
	for _, n := range []int64{id[0], id[1], 999} {
		_, err := again(n)
		require.ErrorIs(k, err, queue.ErrNotFailed, "job %d", n)
	}
	k.fail(k.one(), "refused")
	last := k.one()
	next, err := again(id[0])
	require.NoError(k, err)
	require.Greater(k, next, id[1])
	got := k.job(next)
	require.Equal(k, []any{in.Pool + pool, in.Kind, in.Key, in.TaskID, in.Lane, in.Role, in.Holds, in.Payload, in.Priority, in.DedupeKey},
		[]any{got.Pool, got.Kind, got.Key, got.TaskID, got.Lane, got.Role, got.Holds, got.Payload, got.Priority, got.DedupeKey})
	require.Equal(k, []any{queue.Queued, 0, ""}, []any{got.Status, got.Attempt, got.Error})
	old := k.job(id[0])
	require.Equal(k, queue.Cancelled, old.Status)
	require.Equal(k, queue.Repeated(queue.Job{Error: "refused"}, next), old.Error)
	require.Empty(k, k.failed(queue.Filter{}))
	_, err = again(id[0])
	require.ErrorIs(k, err, queue.ErrNotFailed, "a second time")

	k.none() // the other of the key is at work
	k.done(last)
	c := k.one()
	require.Equal(k, []any{next, 1}, []any{c.Job.ID, c.Job.Attempt})
	k.fail(c, "refused again")
	require.Equal(k, []int64{next}, k.failed(queue.Filter{}))
	other := k.put(queue.Job{DedupeKey: "d"})[0]
	known, err := again(next)
	require.NoError(k, err)
	require.Equal(k, other, known, "an unfinished job has the dedupe key")
	require.Empty(k, k.failed(queue.Filter{}))
	k.done(k.one())
	k.none()
}
