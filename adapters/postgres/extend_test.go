package postgres_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/postgres"
	"github.com/signalbox-dev/signalbox/internal/pgtest"
	"github.com/signalbox-dev/signalbox/queue"
)

// One who has lost a job and one who has it send their heartbeats at the same
// time: they share a transaction, and each is told of his own claim.
func TestHeartbeatsOfTwoAttempts(t *testing.T) {
	t.Parallel()
	url := pgtest.Open(t)
	db := open(t, postgres.Options{URL: url})
	_, err := db.Put(t.Context(), queue.Job{Pool: "p"})
	require.NoError(t, err)
	take := func() queue.Claim {
		claims, err := db.Take(t.Context(), "p", "w", 1, time.Hour)
		require.NoError(t, err)
		require.Len(t, claims, 1)
		return claims[0]
	}
	before := take()
	require.NoError(t, db.Finish(t.Context(), before, queue.Outcome{Kind: queue.OutcomeRetry}))
	now := take()

	c := connect(t, url)
	for range 5 {
		turn, err := c.Begin(t.Context())
		require.NoError(t, err)
		_, err = turn.Exec(t.Context(), "select from signalbox.turn for no key update")
		require.NoError(t, err)
		var wg sync.WaitGroup
		wg.Go(func() { _ = db.Ping(t.Context()) }) // the others gather behind it
		for range 10 {
			wg.Go(func() {
				if err := db.Extend(t.Context(), before, time.Hour); !errors.Is(err, queue.ErrLost) {
					t.Errorf("the claim that was given back: %v", err)
				}
			})
			wg.Go(func() {
				if err := db.Extend(t.Context(), now, time.Hour); err != nil {
					t.Errorf("the claim that is held: %v", err)
				}
			})
		}
		require.NoError(t, turn.Commit(t.Context()))
		wg.Wait()
	}
}
