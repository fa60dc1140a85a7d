package pgtest_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/pgtest"
)

func TestOpen(t *testing.T) {
	t.Parallel()
	a, b := pgtest.Open(t), pgtest.Open(t)
	for _, url := range []string{a, b} {
		c, err := pgx.Connect(t.Context(), url)
		require.NoError(t, err)
		_, err = c.Exec(t.Context(), "create table only_here (n int)")
		require.NoError(t, err, "every database is empty")
		require.NoError(t, c.Close(t.Context()))
	}
}

func TestKillAndRestart(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t, pgtest.Options{Durable: true})
	c, err := pgx.Connect(t.Context(), s.URL("postgres"))
	require.NoError(t, err)
	var fsync string
	require.NoError(t, c.QueryRow(t.Context(), "show fsync").Scan(&fsync))
	require.Equal(t, "on", fsync)
	_, err = c.Exec(t.Context(), "create table kept (n int)")
	require.NoError(t, err)
	require.NoError(t, s.Kill())
	require.NoError(t, s.Kill(), "killing the dead is no error")
	_, err = c.Exec(t.Context(), "select 1")
	require.Error(t, err)
	require.NoError(t, s.Restart())
	c, err = pgx.Connect(t.Context(), s.URL("postgres"))
	require.NoError(t, err)
	_, err = c.Exec(t.Context(), "select * from kept")
	require.NoError(t, err)
	require.NoError(t, c.Close(t.Context()))
}
