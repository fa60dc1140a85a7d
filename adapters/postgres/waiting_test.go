package postgres

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/postgres/pgtest"
	"github.com/signalbox-dev/signalbox/queue"
)

// rowCounter counts the rows that answers to questions have.
type rowCounter struct{ rows atomic.Int64 }

func (r *rowCounter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}

func (r *rowCounter) TraceQueryEnd(_ context.Context, _ *pgx.Conn, q pgx.TraceQueryEndData) {
	if q.CommandTag.Select() {
		r.rows.Add(q.CommandTag.RowsAffected())
	}
}

// Why one task waits is read from its own jobs and holds, whatever else is held.
func TestWaitingReadsItsOwnHolds(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	config, err := pgxpool.ParseConfig(pgtest.Open(t))
	require.NoError(t, err)
	c := &rowCounter{}
	config.ConnConfig.Tracer = c
	pool, err := pgxpool.NewWithConfig(ctx, config)
	require.NoError(t, err)
	defer pool.Close()
	db, err := Open(ctx, Options{Pool: pool, AllowUnsafe: true})
	require.NoError(t, err)
	defer db.Close()
	const others = 500
	var holds []queue.Hold
	for i := range others {
		holds = append(holds, queue.Hold{Subject: fmt.Sprint("other/", i), Name: "gate", Reason: "another"})
	}
	require.NoError(t, db.Hold(ctx, append(holds, queue.Hold{Subject: "mine", Name: "gate", Reason: "this"})...))
	_, err = db.Put(ctx, queue.Job{Pool: "p", TaskID: 1, Holds: []string{"free", "mine"}})
	require.NoError(t, err)
	before := c.rows.Load()
	waits, err := db.Waiting(ctx, queue.Filter{TaskID: 1})
	require.NoError(t, err)
	require.Len(t, waits, 1)
	require.Len(t, waits[0].Reasons, 1)
	require.Equal(t, "this (gate)", waits[0].Reasons[0].Text)
	require.Less(t, c.rows.Load()-before, int64(10))
}
