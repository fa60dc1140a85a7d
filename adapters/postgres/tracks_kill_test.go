package postgres_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/postgres"
	"github.com/signalbox-dev/signalbox/adapters/postgres/pgtest"
	"github.com/signalbox-dev/signalbox/gpstracks/storetest"
)

// A process is killed between the rows and the blocks, and in the middle of both.
func TestTracksKill(t *testing.T) {
	t.Parallel()
	if url := os.Getenv(storetest.EnvVictim); url != "" {
		db, err := postgres.Open(t.Context(), postgres.Options{URL: url, AllowUnsafe: true})
		require.NoError(t, err)
		s, err := db.Tracks(t.Context())
		require.NoError(t, err)
		require.NoError(t, storetest.Bring(t.Context(), s, os.Stdout))
	}
	url := pgtest.Open(t)
	c := admin(t, url)
	unbuilt := func() (n int) {
		var there bool
		require.NoError(t, c.QueryRow(t.Context(), "select to_regclass('signalbox.track_unbuilt') is not null").Scan(&there))
		require.True(t, there)
		require.NoError(t, c.QueryRow(t.Context(), "select count(*) from signalbox.track_unbuilt").Scan(&n))
		return n
	}
	storetest.Kill(t, "TestTracksKill", url, func(t *testing.T) (storetest.Builder, func() int, func()) {
		before, first := unbuilt(), true
		db, err := postgres.Open(t.Context(), postgres.Options{URL: url, AllowUnsafe: true})
		require.NoError(t, err)
		return tracksOf(t, db), func() int {
			if first { // before anybody could build
				first = false
				return before
			}
			return unbuilt()
		}, func() { require.NoError(t, db.Close()) }
	})
}
