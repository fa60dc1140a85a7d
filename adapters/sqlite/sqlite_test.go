package sqlite_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/sqlite"
	"github.com/signalbox-dev/signalbox/orchestrator/storetest"
	"github.com/signalbox-dev/signalbox/queue/queuetest"
)

func open(t *testing.T, now func() time.Time) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "a?b c", "x.db"), Now: now})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

func TestQueueConformance(t *testing.T) {
	queuetest.Run(t, func(t *testing.T, now func() time.Time) queuetest.Queue { return open(t, now) })
}

func TestStoreConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T, now func() time.Time) storetest.Store { return open(t, now) })
}
