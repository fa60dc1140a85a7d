package tracksqlite_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/tracksqlite"
	"github.com/signalbox-dev/signalbox/gpstracks/storetest"
)

// A process is killed between the rows and the blocks, and in the middle of both.
func TestTracksKill(t *testing.T) {
	t.Parallel()
	if path := os.Getenv(storetest.EnvVictim); path != "" {
		fmt.Println("begun")
		s, err := tracksqlite.Open(t.Context(), tracksqlite.Options{Path: path})
		require.NoError(t, err)
		require.NoError(t, storetest.Bring(t.Context(), s, os.Stdout))
	}
	path := filepath.Join(t.TempDir(), "x.db")
	raw, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	defer raw.Close()
	unbuilt := func() (n int) { // there may be no table yet, or nobody may look while a log is tidied
		_ = raw.QueryRowContext(t.Context(), "select count(*) from track_unbuilt").Scan(&n)
		return n
	}
	storetest.Kill(t, "TestTracksKill", path, func() {
		_, err := raw.ExecContext(t.Context(), "update track_state set value = 1 where name = 'blocks version'")
		require.NoError(t, err)
	}, unbuilt, func(t *testing.T) (storetest.Builder, func()) {
		s, err := tracksqlite.Open(t.Context(), tracksqlite.Options{Path: path})
		require.NoError(t, err)
		return s, func() { require.NoError(t, s.Close()) }
	})
}
