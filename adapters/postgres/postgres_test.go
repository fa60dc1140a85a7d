package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/postgres"
	"github.com/signalbox-dev/signalbox/adapters/postgres/pgtest"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/storetest"
	"github.com/signalbox-dev/signalbox/queue/lease"
	"github.com/signalbox-dev/signalbox/queue/lease/leasetest"
	"github.com/signalbox-dev/signalbox/queue/queuetest"
)

var (
	_ queuetest.Queue           = (*postgres.DB)(nil)
	_ orchestrator.Store        = (*postgres.DB)(nil)
	_ orchestrator.Story        = (*postgres.DB)(nil)
	_ orchestrator.Dependencies = (*postgres.DB)(nil)
	_ orchestrator.Ledger       = (*postgres.DB)(nil)
	_ lease.Locker              = (*postgres.Leases)(nil)
)

// opener opens stores in one database, each in a schema of its own.
func opener(t *testing.T) func(t *testing.T, now func() time.Time) *postgres.DB {
	t.Helper()
	url := pgtest.Open(t)
	n := 0
	last, lastOf := (*postgres.DB)(nil), "" // a property opens hundreds, one after the other
	return func(t *testing.T, now func() time.Time) *postgres.DB {
		t.Helper()
		if lastOf == t.Name() {
			require.NoError(t, last.Close())
		}
		n++
		last, lastOf = open(t, postgres.Options{URL: url, Schema: fmt.Sprintf("s%d", n), Now: now}), t.Name()
		return last
	}
}

func TestQueueConformance(t *testing.T) {
	t.Parallel()
	db := opener(t)
	queuetest.Run(t, func(t *testing.T, now func() time.Time) queuetest.Queue { return db(t, now) })
}

func TestStoreConformance(t *testing.T) {
	t.Parallel()
	db := opener(t)
	storetest.Run(t, func(t *testing.T, now func() time.Time) storetest.Store { return db(t, now) })
}

func TestLeaseConformance(t *testing.T) {
	t.Parallel()
	db := opener(t)
	leasetest.Run(t, func(t *testing.T, now func() time.Time) lease.Locker { return db(t, now).Leases() })
}

func open(t *testing.T, o postgres.Options) *postgres.DB {
	t.Helper()
	o.AllowUnsafe = true
	db, err := postgres.Open(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}
