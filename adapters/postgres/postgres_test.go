package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/postgres"
	"github.com/signalbox-dev/signalbox/internal/pgtest"
	"github.com/signalbox-dev/signalbox/orchestrator/storetest"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/queue/lease"
	"github.com/signalbox-dev/signalbox/queue/lease/leasetest"
	"github.com/signalbox-dev/signalbox/queue/queuetest"
)

var (
	_ queuetest.Queue   = (*postgres.DB)(nil)
	_ task.Store        = (*postgres.DB)(nil)
	_ task.Records      = (*postgres.DB)(nil)
	_ task.Dependencies = (*postgres.DB)(nil)
	_ task.CostStore    = (*postgres.DB)(nil)
	_ lease.Locker      = (*postgres.Leases)(nil)
)

// opener opens stores in one database, each in a schema of its own.
func opener(t *testing.T) func(t *testing.T, now func() time.Time) *postgres.DB {
	t.Helper()
	return openerWith(t, nil)
}

func openerWith(t *testing.T, bounds map[string]int) func(t *testing.T, now func() time.Time) *postgres.DB {
	t.Helper()
	url := pgtest.Open(t)
	n := 0
	last, lastOf := (*postgres.DB)(nil), "" // a property opens hundreds, one after the other
	return func(t *testing.T, now func() time.Time) *postgres.DB {
		t.Helper()
		if lastOf == t.Name() {
			require.NoError(t, last.Close())
			empty(t, url, fmt.Sprintf("s%d", n))
		} else {
			n++
		}
		last, lastOf = open(t, postgres.Options{URL: url, Schema: fmt.Sprintf("s%d", n), Now: now, Bounds: bounds}), t.Name()
		return last
	}
}

// empty deletes what a store has, which is faster than to make its tables anew.
func empty(t *testing.T, url, schema string) {
	t.Helper()
	c := connect(t, url)
	_, err := c.Exec(t.Context(), `do $$ declare t text; begin
		for t in select format('%I.%I', schemaname, tablename) from pg_tables where schemaname = '`+schema+`' and tablename not in ('turn', 'migrations')
		loop execute 'delete from ' || t; end loop; end $$`)
	require.NoError(t, err)
}

func TestQueueConformance(t *testing.T) {
	t.Parallel()
	db := opener(t)
	queuetest.Run(t, func(t *testing.T, now func() time.Time) queuetest.Queue { return db(t, now) })
}

// The same by the statements for many, which a pool with a bound always takes.
func TestQueueConformanceWithBounds(t *testing.T) {
	t.Parallel()
	db := openerWith(t, map[string]int{"p": 1 << 30, "a": 1 << 30, "b": 1 << 30, "other": 1 << 30})
	queuetest.Run(t, func(t *testing.T, now func() time.Time) queuetest.Queue { return db(t, now) })
}

func TestStoreConformance(t *testing.T) {
	t.Parallel()
	db := opener(t)
	storetest.Run(t, func(t *testing.T, now func() time.Time) storetest.Store { return db(t, now) })
}

// Two servers that decide on one task write one journal, in the order of versions.
func TestOrderOfTwo(t *testing.T) {
	t.Parallel()
	url := pgtest.Open(t)
	storetest.Order(t, at(t, url), at(t, url))
	agree(t, url)
}

func TestLeaseConformance(t *testing.T) {
	t.Parallel()
	db := opener(t)
	leasetest.Run(t, func(t *testing.T, now func() time.Time) lease.Locker { return db(t, now).Leases() })
}

// bounded is the context of a test that takes d at most: when it takes longer it fails, with the jobs that
// are not done by then.
func bounded(t *testing.T, db queue.Inspector, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	told := make(chan struct{})
	context.AfterFunc(ctx, func() {
		defer close(told)
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			look, end := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
			defer end()
			open, err := db.Waiting(look, queue.Filter{Limit: 20})
			t.Errorf("not done within %v; the first of what is not (%v): %+v", d, err, open)
		}
	})
	t.Cleanup(func() { cancel(); <-told })
	return ctx
}

func open(t *testing.T, o postgres.Options) *postgres.DB {
	t.Helper()
	o.AllowUnsafe = true
	db, err := postgres.Open(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

var (
	bare    = queue.Job{Pool: "p"} // there is nothing else to know of it
	success = queue.Outcome{Kind: queue.OutcomeDone}
)

// at opens a store in a database.
func at(t *testing.T, url string) *postgres.DB {
	t.Helper()
	return open(t, postgres.Options{URL: url})
}

// opened opens a store in a database of its own.
func opened(t *testing.T) (db *postgres.DB, url string) {
	t.Helper()
	url = pgtest.Open(t)
	return at(t, url), url
}

// put puts jobs and returns their ids.
func put(t *testing.T, db *postgres.DB, jobs ...queue.Job) []int64 {
	t.Helper()
	ids, err := db.Put(t.Context(), jobs...)
	require.NoError(t, err)
	return ids
}

// take claims up to n jobs of a pool.
func take(t *testing.T, db *postgres.DB, pool string, n int) []queue.Claim {
	t.Helper()
	claims, err := db.Take(t.Context(), pool, "w", n, time.Hour)
	require.NoError(t, err)
	return claims
}

// turnOf has the turn of all stores of a database held until the transaction ends.
func turnOf(t *testing.T, c *pgx.Conn) pgx.Tx {
	t.Helper()
	turn, err := c.Begin(t.Context())
	require.NoError(t, err)
	_, err = turn.Exec(t.Context(), "select from signalbox.turn for no key update")
	require.NoError(t, err)
	return turn
}

// connect opens a connection beside the store's own.
func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

func execute(t *testing.T, c *pgx.Conn, query string, args ...any) {
	t.Helper()
	_, err := c.Exec(t.Context(), query, args...)
	require.NoError(t, err)
}

// read asks a port, which is to answer.
func read[Q, A any](t testing.TB, port func(context.Context, Q) (A, error), of Q) A {
	t.Helper()
	answer, err := port(t.Context(), of)
	require.NoError(t, err)
	return answer
}
