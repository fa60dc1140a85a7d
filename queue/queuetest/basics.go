package queuetest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/queue"
)

func readsBack(k *kit) {
	in := queue.Job{
		Kind: "kind", Key: "key", TaskID: 7, Lane: "acme/app", Role: "developer", Holds: []string{"a", "b"},
		Payload: []byte(`{"x":"é\u0000"}`), Priority: 3, MaxAttempts: 5, DedupeKey: "d",
	}
	id := k.put(in)[0]
	got := k.job(id)
	require.Equal(k, in.Payload, got.Payload)
	require.Equal(k, in.Holds, got.Holds)
	require.Equal(k, []any{"kind", "key", int64(7), "acme/app", "developer", 3, 5, "d"},
		[]any{got.Kind, got.Key, got.TaskID, got.Lane, got.Role, got.Priority, got.MaxAttempts, got.DedupeKey})
	require.Equal(k, queue.Queued, got.Status)
	require.True(k, got.CreatedAt.Equal(k.clock.Now()))
	c := k.one()
	require.Equal(k, 1, c.Job.Attempt)
	require.Equal(k, "w1", c.Job.Worker)
	require.True(k, c.Job.LeaseUntil.Equal(k.clock.Now().Add(ttl)))
	require.Equal(k, in.Payload, c.Job.Payload)
	k.done(c)
	got = k.job(id)
	require.Equal(k, queue.Done, got.Status)
	require.True(k, got.FinishedAt.Equal(k.clock.Now()))
}

func ordersByPriority(k *kit) {
	id := k.put(queue.Job{Priority: 2}, queue.Job{Priority: 1}, queue.Job{Priority: 2}, queue.Job{Priority: -1})
	require.Equal(k, []int64{id[3], id[1]}, ids(k.take(2)))
	require.Equal(k, []int64{id[0], id[2]}, ids(k.take(2)))
}

func keepsKeyOrder(k *kit) {
	id := k.put(queue.Job{Key: "a", Priority: 5}, queue.Job{Key: "a"}, queue.Job{Key: "b"})
	claims := k.take(10)
	require.Equal(k, []int64{id[2], id[0]}, ids(claims), "an earlier job of the key comes first, whatever the priority")
	k.none()
	k.done(claims[1])
	require.Equal(k, id[1], k.one().Job.ID)
}

func retryKeepsPlace(k *kit) {
	id := k.put(queue.Job{Key: "a"}, queue.Job{Key: "a"})
	c := k.one()
	k.finish(c, queue.Outcome{Kind: queue.OutcomeRetry, At: k.clock.Now().Add(time.Hour), Error: "busy"})
	k.none()
	require.Equal(k, []queue.ReasonKind{queue.ReasonOrder}, k.reasons(id[1]))
	require.Equal(k, "busy", k.job(id[0]).Error)
	k.clock.Add(time.Hour)
	again := k.one()
	require.Equal(k, id[0], again.Job.ID)
	require.Equal(k, 2, again.Job.Attempt)
}

func delays(k *kit) {
	id := k.put(queue.Job{AvailableAt: k.clock.Now().Add(time.Second)})
	k.none()
	require.Equal(k, []queue.ReasonKind{queue.ReasonDelay}, k.reasons(id[0]))
	k.clock.Add(time.Second)
	require.Empty(k, k.reasons(id[0]))
	k.one()
}

func usesUpAttempts(k *kit) {
	id := k.put(queue.Job{MaxAttempts: 2, Key: "a"}, queue.Job{Key: "a"})
	for range 2 {
		k.finish(k.one(), queue.Outcome{Kind: queue.OutcomeRetry, At: k.clock.Now(), Error: "no"})
	}
	require.Equal(k, queue.Failed, k.job(id[0]).Status)
	require.Equal(k, id[1], k.one().Job.ID)
}

func releases(k *kit) {
	id := k.put(queue.Job{MaxAttempts: 1})
	for range 3 {
		k.finish(k.one(), queue.Outcome{Kind: queue.OutcomeRelease, At: k.clock.Now()})
	}
	c := k.one()
	require.Equal(k, 4, c.Job.Attempt, "the attempt number fences, so it only rises")
	k.finish(c, queue.Outcome{Kind: queue.OutcomeRetry, At: k.clock.Now()})
	require.Equal(k, queue.Failed, k.job(id[0]).Status)
}

func dies(k *kit) {
	id := k.put(queue.Job{Key: "a"}, queue.Job{Key: "a"})
	k.finish(k.one(), queue.Outcome{Kind: queue.OutcomeDead, Error: "for good"})
	got := k.job(id[0])
	require.Equal(k, queue.Failed, got.Status)
	require.Equal(k, "for good", got.Error)
	require.Equal(k, id[1], k.one().Job.ID)
}

func fences(k *kit) {
	k.put(queue.Job{})
	stale := k.one()
	k.clock.Add(ttl)
	_, err := k.q.Reap(k.Context())
	require.NoError(k, err)
	fresh := k.one()
	ctx := k.Context()
	require.ErrorIs(k, k.q.Extend(ctx, stale, ttl), queue.ErrLost)
	require.ErrorIs(k, k.q.Finish(ctx, stale, queue.Outcome{Kind: queue.OutcomeDone, Then: []queue.Job{{Pool: pool}}}), queue.ErrLost)
	k.none()
	k.done(fresh)
	require.ErrorIs(k, k.q.Finish(ctx, fresh, queue.Outcome{Kind: queue.OutcomeDone}), queue.ErrLost, "finished is finished")
	require.ErrorIs(k, k.q.Finish(ctx, queue.Claim{Job: queue.Job{ID: 999}}, queue.Outcome{Kind: queue.OutcomeDone}), queue.ErrLost)
}

func reaps(k *kit) {
	id := k.put(queue.Job{MaxAttempts: 2}, queue.Job{MaxAttempts: 1}, queue.Job{})
	claims := k.take(3)
	k.done(claims[2])
	k.clock.Add(ttl - time.Second)
	jobs, err := k.q.Reap(k.Context())
	require.NoError(k, err)
	require.Empty(k, jobs)
	k.clock.Add(time.Second)
	jobs, err = k.q.Reap(k.Context())
	require.NoError(k, err)
	require.Len(k, jobs, 2)
	require.Equal(k, queue.Queued, k.job(id[0]).Status)
	require.Equal(k, queue.Failed, k.job(id[1]).Status)
	require.Equal(k, queue.LostHeartbeat, k.job(id[1]).Error)
	require.Equal(k, queue.Done, k.job(id[2]).Status, "a terminal job is never reaped")
	again := k.one().Job
	require.Equal(k, id[0], again.ID)
	require.Equal(k, queue.LostHeartbeat, again.Error, "whoever goes on with it can see that its worker died")
}

func extends(k *kit) {
	k.put(queue.Job{})
	c := k.one()
	for range 5 {
		k.clock.Add(ttl / 2)
		require.NoError(k, k.q.Extend(k.Context(), c, ttl))
		jobs, err := k.q.Reap(k.Context())
		require.NoError(k, err)
		require.Empty(k, jobs)
	}
	k.done(c)
}

func dedupes(k *kit) {
	first := k.put(queue.Job{DedupeKey: "x"}, queue.Job{DedupeKey: "x"}, queue.Job{})
	require.Equal(k, first[0], first[1])
	c := k.take(1)[0]
	require.Equal(k, first[0], k.put(queue.Job{DedupeKey: "x"})[0], "running is unfinished")
	k.done(c)
	require.NotEqual(k, first[0], k.put(queue.Job{DedupeKey: "x"})[0])
}

func putsThen(k *kit) {
	k.put(queue.Job{Key: "a"})
	k.finish(k.one(), queue.Outcome{Kind: queue.OutcomeDone, Then: []queue.Job{{Pool: pool, Key: "a", Kind: "second"}}})
	require.Equal(k, "second", k.one().Job.Kind)
}

func reusesKeyInThen(k *kit) {
	id := k.put(queue.Job{DedupeKey: "timer"})
	k.finish(k.one(), queue.Outcome{Kind: queue.OutcomeDone, Then: []queue.Job{{Pool: pool, DedupeKey: "timer"}}})
	require.NotEqual(k, id[0], k.one().Job.ID)
}

func takesNone(k *kit) {
	k.put(queue.Job{})
	require.Empty(k, k.take(0))
	k.one()
}

func (k *kit) relay(c queue.Claim, o queue.Outcome) ([]queue.Claim, error) {
	k.Helper()
	return k.q.FinishTake(k.Context(), c, o, pool, "w2", 10, ttl)
}

func relays(k *kit) {
	id := k.put(queue.Job{Key: "a"}, queue.Job{Key: "a"}, queue.Job{Key: "a"})
	next, err := k.relay(k.one(), queue.Outcome{Kind: queue.OutcomeDone, Then: []queue.Job{{Pool: pool, Key: "b"}}})
	require.NoError(k, err)
	require.Len(k, next, 2, "the next of the key, and what follows the finished one")
	require.Equal(k, []any{id[1], "w2", 1}, []any{next[0].Job.ID, next[0].Job.Worker, next[0].Job.Attempt})
	require.Equal(k, queue.Done, k.job(id[0]).Status)
	k.done(next[1])
	again, err := k.relay(next[0], queue.Outcome{Kind: queue.OutcomeRetry, At: k.clock.Now()})
	require.NoError(k, err)
	require.Equal(k, []any{id[1], 2}, []any{again[0].Job.ID, again[0].Job.Attempt}, "it keeps its place in the key")
	last, err := k.relay(again[0], queue.Outcome{Kind: queue.OutcomeDead})
	require.NoError(k, err)
	require.Equal(k, []int64{id[2]}, ids(last))
	none, err := k.relay(last[0], queue.Outcome{Kind: queue.OutcomeDone})
	require.NoError(k, err)
	require.Empty(k, none)
}

// relaysInOrder: what the end of a job lets in stands among those that waited before.
func relaysInOrder(k *kit) {
	id := k.put(queue.Job{Key: "a"}, queue.Job{Key: "a"}, queue.Job{}, queue.Job{})
	held := k.take(1)
	for _, step := range []struct {
		end  queue.Outcome
		next int64
	}{
		{queue.Outcome{Kind: queue.OutcomeRetry, At: k.clock.Now()}, id[0]},
		{queue.Outcome{Kind: queue.OutcomeDone}, id[1]},
		{queue.Outcome{Kind: queue.OutcomeDone, Then: []queue.Job{{Pool: pool}}}, id[2]},
		{queue.Outcome{Kind: queue.OutcomeDone, Then: []queue.Job{{Pool: pool, Priority: -1, Key: "sooner"}}}, 0},
		{queue.Outcome{Kind: queue.OutcomeDone}, id[3]},
	} {
		next, err := k.q.FinishTake(k.Context(), held[0], step.end, pool, "w", 1, ttl)
		require.NoError(k, err)
		require.Len(k, next, 1)
		if step.next == 0 {
			require.Equal(k, "sooner", next[0].Job.Key)
		} else {
			require.Equal(k, step.next, next[0].Job.ID)
		}
		held = next
	}
}

func relaysAfterLoss(k *kit) {
	id := k.put(queue.Job{}, queue.Job{TaskID: 1})
	claims := k.take(2)
	k.done(claims[0])
	next := k.put(queue.Job{})
	got, err := k.relay(claims[0], queue.Outcome{Kind: queue.OutcomeDead})
	require.ErrorIs(k, err, queue.ErrLost)
	require.Equal(k, next, ids(got))
	require.Equal(k, queue.Done, k.job(id[0]).Status)
	_, err = k.q.Cancel(k.Context(), 1)
	require.NoError(k, err)
	got, err = k.relay(claims[1], queue.Outcome{Kind: queue.OutcomeRetry, Then: []queue.Job{{Pool: pool}}})
	require.ErrorIs(k, err, queue.ErrLost)
	require.Empty(k, got)
}
