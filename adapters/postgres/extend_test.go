package postgres_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/queue"
)

// One who has lost a job and one who has it send their heartbeats at the same
// time: they share a transaction, and each is told of his own claim.
func TestHeartbeatsOfTwoAttempts(t *testing.T) {
	t.Parallel()
	db, url := opened(t)
	put(t, db, bare)
	before := take(t, db, "p", 1)[0]
	require.NoError(t, db.Finish(t.Context(), before, queue.Outcome{Kind: queue.OutcomeRetry}))
	now := take(t, db, "p", 1)[0]

	c := connect(t, url)
	for range 5 {
		turn := turnOf(t, c)
		var wg sync.WaitGroup
		wg.Go(func() { _ = db.Ping(t.Context()) }) // the others gather behind it
		for range 10 {
			wg.Go(func() {
				if err := db.Extend(t.Context(), before, time.Hour); !errors.Is(err, queue.ErrLost) {
					t.Errorf("the claim that was given back: %v", err)
				}
			})
			wg.Go(func() {
				assert.NoError(t, db.Extend(t.Context(), now, time.Hour), "the claim that is held")
			})
		}
		require.NoError(t, turn.Commit(t.Context()))
		wg.Wait()
	}
}
