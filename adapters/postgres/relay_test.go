package postgres_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/postgres"
	"github.com/signalbox-dev/signalbox/internal/pgtest"
	"github.com/signalbox-dev/signalbox/queue"
)

// A worker is given jobs that another life of the store has put: whole.
func TestRelayOfAnotherLife(t *testing.T) {
	t.Parallel()
	url := pgtest.Open(t)
	ctx := t.Context()
	first := open(t, postgres.Options{URL: url})
	_, err := first.Put(ctx,
		queue.Job{Pool: "p", Kind: "k", Key: "a", TaskID: 7, Lane: "l", Role: "r", Holds: []string{"x", `y"{`}, Payload: []byte{0, 1, 255}, Priority: -3, MaxAttempts: 4, DedupeKey: "d"},
		queue.Job{Pool: "p", AvailableAt: time.Now().Add(-time.Hour)}, queue.Job{Pool: "p", Key: "a"}, queue.Job{Pool: "q"})
	require.NoError(t, err)
	put, err := first.Jobs(ctx, queue.Filter{Pool: "p"})
	require.NoError(t, err)
	require.NoError(t, first.Close())

	db := open(t, postgres.Options{URL: url})
	claims, err := db.Take(ctx, "p", "w", 1, time.Hour)
	require.NoError(t, err)
	var got []queue.Job
	for len(claims) > 0 {
		require.Len(t, claims, 1)
		j := claims[0].Job
		require.Equal(t, queue.Running, j.Status)
		require.Equal(t, 1, j.Attempt)
		require.Equal(t, "w", j.Worker)
		require.Equal(t, j.StartedAt.Add(time.Hour), j.LeaseUntil)
		stored, err := db.Jobs(ctx, queue.Filter{Pool: "p"})
		require.NoError(t, err)
		require.Contains(t, stored, j, "what the worker was told is what is stored")
		j.Status, j.Attempt, j.Worker, j.StartedAt, j.HeartbeatAt, j.LeaseUntil = queue.Queued, 0, "", time.Time{}, time.Time{}, time.Time{}
		got = append(got, j)
		claims, err = db.FinishTake(ctx, claims[0], queue.Outcome{Kind: queue.OutcomeDone}, "p", "w", 1, time.Hour)
		require.NoError(t, err)
	}
	require.ElementsMatch(t, put, got)
	depth, err := db.Depth(ctx)
	require.NoError(t, err)
	require.Equal(t, []queue.Depth{{Pool: "q", Status: queue.Queued, Count: 1}}, depth)
	agree(t, url)
}

// What comes next of a key when a worker ends a job: a job of another
// pool, one that is not due, and ones before and behind the others of their pool.
func TestRelayChain(t *testing.T) {
	t.Parallel()
	url := pgtest.Open(t)
	ctx := t.Context()
	var late atomic.Int64
	now := time.Now()
	db := open(t, postgres.Options{URL: url, Now: func() time.Time { return now.Add(time.Duration(late.Load())) }})
	ids, err := db.Put(ctx,
		queue.Job{Pool: "p", Key: "a", Priority: 5}, queue.Job{Pool: "q", Key: "a"}, queue.Job{Pool: "p", Key: "a", AvailableAt: now.Add(time.Hour)},
		queue.Job{Pool: "p", Key: "a", Priority: 7}, queue.Job{Pool: "p", Key: "a", Priority: 5}, queue.Job{Pool: "p", Priority: 6})
	require.NoError(t, err)
	var held []queue.Claim
	relay := func(pool string) (id int64) {
		t.Helper()
		var err error
		if len(held) == 0 {
			held, err = db.Take(ctx, pool, "w", 1, 3*time.Hour)
		} else {
			held, err = db.FinishTake(ctx, held[0], queue.Outcome{Kind: queue.OutcomeDone}, pool, "w", 1, 3*time.Hour)
		}
		require.NoError(t, err)
		agree(t, url)
		if len(held) == 0 {
			return 0
		}
		return held[0].Job.ID
	}
	require.Equal(t, ids[0], relay("p"))
	require.Equal(t, ids[1], relay("q"), "what follows is of the pool that is asked for")
	wake := db.Wake("p")
	require.Zero(t, relay("q"), "the next one is not due")
	late.Store(int64(2 * time.Hour))
	require.Equal(t, ids[2], relay("p"))
	require.Equal(t, ids[5], relay("p"), "what follows comes behind another")
	require.Equal(t, ids[3], relay("p"))
	require.Equal(t, ids[4], relay("p"), "what follows comes before all that was looked at")
	require.Zero(t, relay("p"))

	ids, err = db.Put(ctx, queue.Job{Pool: "q", Key: "c"}, queue.Job{Pool: "p", Key: "c"})
	require.NoError(t, err)
	require.Equal(t, ids[0], relay("q"))
	for len(wake) > 0 {
		<-wake
	}
	require.Zero(t, relay("q"))
	select {
	case <-wake:
	case <-time.After(10 * time.Second):
		t.Fatal("nobody was told of the job that follows in another pool")
	}
	require.Equal(t, ids[1], relay("p"))
}
