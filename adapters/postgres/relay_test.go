package postgres_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/postgres"
	"github.com/signalbox-dev/signalbox/adapters/postgres/pgtest"
	"github.com/signalbox-dev/signalbox/queue"
)

// A worker who is alone is given jobs that another life of the store has put: whole,
// although nothing of them is remembered.
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
	alone(t, db)
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
		alone(t, db)
		claims, err = db.FinishTake(ctx, claims[0], queue.Outcome{Kind: queue.OutcomeDone}, "p", "w", 1, time.Hour)
		require.NoError(t, err)
	}
	require.ElementsMatch(t, put, got)
	depth, err := db.Depth(ctx)
	require.NoError(t, err)
	require.Equal(t, []queue.Depth{{Pool: "q", Status: queue.Queued, Count: 1}}, depth)
	agree(t, url)
}
