package postgres

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/postgres/pgtest"
	"github.com/signalbox-dev/signalbox/queue"
)

// An answer that cannot be read says nothing of the commit: it is looked up, and
// what was done is not done again.
func TestAnswerThatCannotBeRead(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db, err := Open(ctx, Options{URL: pgtest.Open(t), AllowUnsafe: true})
	require.NoError(t, err)
	defer db.Close()
	for i, unread := range []func() error{
		func() error { return errors.New("nobody can read this") },
		func() error { panic("nobody can read this") },
	} {
		times := 0
		require.NoError(t, db.alone(ctx, func(t *tx) error {
			times++
			_, err := t.put([]queue.Job{{Pool: "p"}})
			t.exec("select 1").Query(func(pgx.Rows) error {
				if times == 1 {
					return unread()
				}
				return nil
			})
			return err
		}))
		require.Equal(t, 1, times)
		jobs, err := db.Jobs(ctx, queue.Filter{})
		require.NoError(t, err)
		require.Len(t, jobs, i+1)
	}
	err = db.alone(ctx, func(t *tx) error {
		_, err := t.put([]queue.Job{{Pool: "p"}})
		t.exec("select $1::bigint", struct{}{})
		return err
	})
	var away *Unavailable
	require.Error(t, err, "what cannot be sent is not tried again and again")
	require.False(t, errors.As(err, &away), "%v", err)
	jobs, err := db.Jobs(ctx, queue.Filter{})
	require.NoError(t, err)
	require.Len(t, jobs, 2)
}
