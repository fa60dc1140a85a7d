package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/sqlstore/sqlstoretest"
)

// agree runs the rules in one snapshot: none finds a row.
func agree(t *testing.T, url string) {
	t.Helper()
	snap, err := connect(t, url).BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	require.NoError(t, err)
	for rule, query := range sqlstoretest.Rules("signalbox.", "null", "unnest(holds)") {
		rows, err := snap.Query(t.Context(), query)
		require.NoError(t, err, rule)
		broken, err := pgx.CollectRows(rows, pgx.RowTo[*int64])
		require.NoError(t, err, rule)
		require.Empty(t, broken, rule)
	}
}
