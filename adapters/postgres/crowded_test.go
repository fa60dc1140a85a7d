package postgres

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/postgres/pgtest"
	"github.com/signalbox-dev/signalbox/queue"
)

// A store that remembers as many waiting jobs as it may makes room for those at work:
// else every end of one would be asked for, until the others have had their turn.
func TestRoomForClaims(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), pgtest.Open(t)
	other, err := Open(ctx, Options{URL: url, AllowUnsafe: true})
	require.NoError(t, err)
	first, err := other.Put(ctx, queue.Job{Pool: "p"}, queue.Job{Pool: "p"}, queue.Job{Pool: "p"})
	require.NoError(t, err)
	require.NoError(t, other.Close())

	db, err := Open(ctx, Options{URL: url, AllowUnsafe: true})
	require.NoError(t, err)
	_, err = db.Put(ctx, queue.Job{Pool: "p", Payload: make([]byte, rememberBytes)}, queue.Job{Pool: "p"})
	require.NoError(t, err)
	claims, err := db.Take(ctx, "p", "w", 1, time.Hour) // does not fit
	require.NoError(t, err)
	for _, id := range first[1:] { // each fits
		claims, err = db.FinishTake(ctx, claims[0], queue.Outcome{Kind: queue.OutcomeDone}, "p", "w", 1, time.Hour)
		require.NoError(t, err)
		require.Equal(t, id, claims[0].Job.ID)
	}
	require.NoError(t, db.Close()) // nobody changes the memory any more
	require.True(t, db.writer.memory.runs(claims[0]))
	require.Less(t, db.writer.memory.bytes, rememberBytes)
}
