package pgtest_test

import (
	"runtime"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/pgtest"
)

// What a connection computes counts, when it is gone too.
func TestSpent(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processor times are read from /proc")
	}
	s := pgtest.Start(t, pgtest.Options{})
	before, err := s.Spent()
	require.NoError(t, err)
	c, err := pgx.Connect(t.Context(), s.URL("postgres"))
	require.NoError(t, err)
	_, err = c.Exec(t.Context(), "select count(*) from generate_series(1, 1000000) a where a % 7 = 3")
	require.NoError(t, err)
	with, err := s.Spent()
	require.NoError(t, err)
	require.Greater(t, with, before)
	require.NoError(t, c.Close(t.Context()))
	after, err := s.Spent()
	require.NoError(t, err)
	require.Greater(t, after, before, "of a connection that is gone")
	require.NoError(t, s.Kill())
	_, err = s.Spent()
	require.ErrorContains(t, err, "stopped")
}
