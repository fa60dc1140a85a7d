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
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Now: now})
	require.NoError(t, err)
	t.Cleanup(func() {
		agree(t, path)
		require.NoError(t, db.Close())
	})
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
	ctx, path := t.Context(), filepath.Join(t.TempDir(), "x.db")
	db, err := sqlite.Open(ctx, sqlite.Options{Path: path})
	require.NoError(t, err)
	defer db.Close()
	raw := openRaw(t, path)
	require.NoError(t, db.Hold(ctx, queue.Hold{Subject: "analyst@acme/app", Name: "freeze", Reason: "degraded"}))
	rename := func(from, to string) {
		_, err := raw.ExecContext(ctx, "alter table "+from+" rename to "+to)
		require.NoError(t, err)
	}
	_, err = db.Put(ctx, queue.Job{Pool: "agents", Kind: "agent", Holds: []string{"analyst@acme/app"}})
	require.NoError(t, err)
	rename("holds", "broken")
	claims, err := db.Take(ctx, "agents", "w", 9, time.Minute)
	require.ErrorContains(t, err, "no such table")
	require.Empty(t, claims)
	rename("broken", "holds")
	claims, err = db.Take(ctx, "agents", "w", 9, time.Minute)
	require.NoError(t, err)
	require.Empty(t, claims)
	require.NoError(t, db.Free(ctx, queue.Hold{Subject: "analyst@acme/app", Name: "freeze"}))
	claims, err = db.Take(ctx, "agents", "w", 9, time.Minute)
	require.NoError(t, err)
	require.Len(t, claims, 1)
}

func openAt(t *testing.T, path string) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	require.NoError(t, err)
	return db
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
