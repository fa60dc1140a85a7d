package postgres_test

import (
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/postgres"
	"github.com/signalbox-dev/signalbox/adapters/postgres/pgtest"
	"github.com/signalbox-dev/signalbox/queue"
)

// A host puts jobs in its own transaction: they come and go with it.
func TestWithTx(t *testing.T) {
	t.Parallel()
	url := pgtest.Open(t)
	db := open(t, postgres.Options{URL: url})
	host, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer host.Close(t.Context())
	jobs := []queue.Job{{Pool: "p", Key: "k", DedupeKey: "d"}, {Pool: "p", Key: "k"}, {Pool: "p", DedupeKey: "d"}}
	stop := errors.New("stop")
	err = pgx.BeginFunc(t.Context(), host, func(tx pgx.Tx) error {
		ids, err := db.WithTx(tx).Put(t.Context(), jobs...)
		require.NoError(t, err)
		require.Equal(t, ids[0], ids[2])
		return stop
	})
	require.ErrorIs(t, err, stop)
	agree(t, url)
	depth, err := db.Depth(t.Context())
	require.NoError(t, err)
	require.Empty(t, depth)

	hint := db.Wake("p") // a listener that connects only now hints it too
	taken := make(chan []queue.Claim)
	err = pgx.BeginFunc(t.Context(), host, func(tx pgx.Tx) error {
		if _, err := db.WithTx(tx).Put(t.Context(), jobs...); err != nil {
			return err
		}
		go func() { // waits until the host has committed
			claims, err := db.Take(t.Context(), "p", "w", 5, time.Minute)
			if err != nil {
				t.Errorf("take: %v", err)
			}
			taken <- claims
		}()
		_, err := tx.Exec(t.Context(), "create table of_the_host (n int)")
		return err
	})
	require.NoError(t, err)
	claims := <-taken
	if len(claims) == 0 { // it came before the host had its turn
		claims, err = db.Take(t.Context(), "p", "w", 5, time.Minute)
		require.NoError(t, err)
	}
	require.Len(t, claims, 1, "the second waits for the first, the third is the first")
	select {
	case <-hint:
	case <-time.After(20 * time.Second):
		require.Fail(t, "no hint")
	}
	agree(t, url)
}

func TestWithTxIsolation(t *testing.T) {
	t.Parallel()
	url := pgtest.Open(t)
	db := open(t, postgres.Options{URL: url})
	host, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer host.Close(t.Context())
	for _, level := range []pgx.TxIsoLevel{pgx.RepeatableRead, pgx.Serializable} {
		err := pgx.BeginTxFunc(t.Context(), host, pgx.TxOptions{IsoLevel: level}, func(tx pgx.Tx) error {
			_, err := db.WithTx(tx).Put(t.Context(), queue.Job{Pool: "p"})
			return err
		})
		require.ErrorContains(t, err, "READ COMMITTED")
	}
}
