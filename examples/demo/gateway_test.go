package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Two runs are ended at their budget in the middle of an answer, and go on when a person lets
// them; what each run has cost is measured, and every card meets its fate.
func TestGateway(t *testing.T) {
	s := demo(t, "-gateway", "-speed", "20")
	require.Equal(t, 2, s.Cut)
	require.Equal(t, s.AgentRuns, s.Measured)
	require.Empty(t, s.Missing)
}
