package sqlite_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/sqlite"
	"github.com/signalbox-dev/signalbox/orchestrator/storetest"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/queue/queuetest"
)

func open(t *testing.T, now func() time.Time) *sqlite.DB {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a?b c", "x.db")
	db := openWith(t, sqlite.Options{Path: path, Now: now})
	t.Cleanup(func() { agree(t, path) })
	return db
}

func TestQueueConformance(t *testing.T) {
	queuetest.Run(t, func(t *testing.T, now func() time.Time) queuetest.Queue { return open(t, now) })
}

func TestStoreConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T, now func() time.Time) storetest.Store { return open(t, now) })
}

// What holds a job cannot be read: nothing is claimed, and the job is held when it can.
func TestHoldsFailClosed(t *testing.T) {
	ctx, path := t.Context(), place(t)
	db := openAt(t, path)
	raw := openRaw(t, path)
	require.NoError(t, db.Hold(ctx, queue.Hold{Subject: "analyst@acme/app", Name: "freeze", Reason: "degraded"}))
	rename := func(from, to string) { execute(t, raw, "alter table "+from+" rename to "+to) }
	put(t, db, queue.Job{Pool: "agents", Kind: "agent", Holds: []string{"analyst@acme/app"}})
	rename("holds", "broken")
	claims, err := db.Take(ctx, "agents", "w", 9, time.Minute)
	require.ErrorContains(t, err, "no such table")
	require.Empty(t, claims)
	rename("broken", "holds")
	require.Empty(t, take(t, db, "agents", 9))
	require.NoError(t, db.Free(ctx, queue.Hold{Subject: "analyst@acme/app", Name: "freeze"}))
	require.Len(t, take(t, db, "agents", 9), 1)
}

func openAt(t *testing.T, path string) *sqlite.DB {
	t.Helper()
	return openWith(t, sqlite.Options{Path: path})
}

// openWith opens a store, which is closed in the end.
func openWith(t *testing.T, o sqlite.Options) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// place returns the path of a file that is not there yet.
func place(t *testing.T) string { return filepath.Join(t.TempDir(), "x.db") }

// put puts jobs and returns their ids.
func put(t *testing.T, db *sqlite.DB, jobs ...queue.Job) []int64 {
	t.Helper()
	ids, err := db.Put(t.Context(), jobs...)
	require.NoError(t, err)
	return ids
}

// take claims up to n jobs of a pool.
func take(t *testing.T, db *sqlite.DB, pool string, n int) []queue.Claim {
	t.Helper()
	claims, err := db.Take(t.Context(), pool, "w", n, time.Hour)
	require.NoError(t, err)
	return claims
}

// openRaw opens the file beside the store.
func openRaw(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	raw, err := sql.Open("sqlite", dsn)
	require.NoError(t, err)
	t.Cleanup(func() { _ = raw.Close() })
	return raw
}

// read asks a port, which is to answer.
func read[Q, A any](t testing.TB, port func(context.Context, Q) (A, error), of Q) A {
	t.Helper()
	answer, err := port(t.Context(), of)
	require.NoError(t, err)
	return answer
}

func execute(t testing.TB, raw *sql.DB, query string) {
	t.Helper()
	_, err := raw.ExecContext(t.Context(), query)
	require.NoError(t, err)
}
