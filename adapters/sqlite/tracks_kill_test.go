package sqlite_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/sqlite"
	"github.com/signalbox-dev/signalbox/gpstracks/storetest"
)

// A process is killed between the rows and the blocks, and in the middle of both.
func TestTracksKill(t *testing.T) {
	t.Parallel()
	if path := os.Getenv(storetest.EnvVictim); path != "" {
		db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
		require.NoError(t, err)
		s, err := db.Tracks(t.Context())
		require.NoError(t, err)
		require.NoError(t, storetest.Bring(t.Context(), s, os.Stdout))
	}
	path := filepath.Join(t.TempDir(), "x.db")
	storetest.Kill(t, "TestTracksKill", path, func(t *testing.T) (storetest.Builder, func() int, func()) {
		db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
		require.NoError(t, err)
		raw, err := sql.Open("sqlite", path)
		require.NoError(t, err)
		unbuilt := func() (n int) {
			require.NoError(t, raw.QueryRowContext(t.Context(), "select count(*) from track_unbuilt").Scan(&n))
			return n
		}
		before := unbuilt()
		s, err := db.Tracks(t.Context())
		require.NoError(t, err)
		first := true
		return s, func() int {
				if first { // before anybody could build
					first = false
					return before
				}
				return unbuilt()
			}, func() {
				require.NoError(t, raw.Close())
				require.NoError(t, db.Close())
			}
	})
}
