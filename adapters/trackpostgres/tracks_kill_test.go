package trackpostgres_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/postgres/pgtest"
	"github.com/signalbox-dev/signalbox/adapters/trackpostgres"
	"github.com/signalbox-dev/signalbox/gpstracks/storetest"
)

// A process is killed between the rows and the blocks, and in the middle of both.
func TestTracksKill(t *testing.T) {
	t.Parallel()
	if url := os.Getenv(storetest.EnvVictim); url != "" {
		fmt.Println("begun")
		s, err := trackpostgres.Open(t.Context(), trackpostgres.Options{URL: url, AllowUnsafe: true})
		require.NoError(t, err)
		require.NoError(t, storetest.Bring(t.Context(), s, os.Stdout))
	}
	url := pgtest.Open(t)
	c := admin(t, url)
	unbuilt := func() (n int) {
		_ = c.QueryRow(t.Context(), "select count(*) from signalbox.track_unbuilt").Scan(&n) // there may be no table yet
		return n
	}
	storetest.Kill(t, "TestTracksKill", url, func() {
		_, err := c.Exec(t.Context(), "update signalbox.track_state set value = 1 where name = 'blocks version'")
		require.NoError(t, err)
	}, unbuilt, func(t *testing.T) (storetest.Builder, func()) {
		s, err := trackpostgres.Open(t.Context(), trackpostgres.Options{URL: url, AllowUnsafe: true})
		require.NoError(t, err)
		return s, func() { require.NoError(t, s.Close()) }
	})
}
