package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/sqlite"
	"github.com/signalbox-dev/signalbox/internal/sqlstore/sqlstoretest"
)

func TestChain(t *testing.T) {
	sqlstoretest.Chain(t, func(t *testing.T) (first, second sqlstoretest.Chained, tamper func(string)) {
		t.Helper()
		path := filepath.Join(t.TempDir(), "x.db")
		var dbs [2]*sqlite.DB
		for i := range dbs {
			db := openAt(t, path)
			t.Cleanup(func() { require.NoError(t, db.Close()) })
			dbs[i] = db
		}
		raw, err := sql.Open("sqlite", path)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, raw.Close()) })
		return dbs[0], dbs[1], func(query string) {
			_, err := raw.ExecContext(t.Context(), strings.ReplaceAll(query, "~", ""))
			require.NoError(t, err, query)
		}
	})
}
