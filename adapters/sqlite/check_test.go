package sqlite_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/sqlstore/sqlstoretest"
)

// agree runs the rules in one snapshot: none finds a row.
func agree(t *testing.T, path string) {
	t.Helper()
	ctx := context.Background() // the test may have ended
	raw := openRaw(t, dsn(path))
	snap, err := raw.BeginTx(ctx, nil)
	require.NoError(t, err)
	defer func() { _ = snap.Rollback() }()
	for rule, query := range sqlstoretest.Rules("", "0", "value from json_each(holds)") {
		rows, err := snap.QueryContext(ctx, query)
		require.NoError(t, err, rule)
		for rows.Next() {
			var id sql.NullInt64
			require.NoError(t, rows.Scan(&id))
			t.Errorf("%s: not so for %d", rule, id.Int64)
		}
		require.NoError(t, rows.Err(), rule)
		require.NoError(t, rows.Close())
	}
}
