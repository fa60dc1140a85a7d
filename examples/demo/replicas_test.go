package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/pgtest"
)

// The same demonstration with PostgreSQL as the store.
func TestPostgres(t *testing.T) {
	s := pgtest.Start(t, pgtest.Options{Durable: true})
	summary := demo(t, "-speed", "20", "-database-url", s.URL("postgres"))
	require.GreaterOrEqual(t, summary.AgentRuns, 45)
	require.Equal(t, 3, summary.Retries)
}

// Three servers share a database. They are killed and paused for longer than
// their claims live, in turn: every card meets its fate, and nothing is seen twice.
func TestReplicas(t *testing.T) {
	s := pgtest.Start(t, pgtest.Options{Durable: true})
	summary := demo(t, "-speed", "20", "-database-url", s.URL("postgres"),
		"-replicas", "3", "-kills", "8", "-pauses", "4", "-seed", "3")
	require.GreaterOrEqual(t, summary.Restarts, 8)
}
