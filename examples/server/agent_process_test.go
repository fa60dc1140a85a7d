package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A card goes to Done with the agent that docs/agents.md shows, which is read in a minute.
func TestAgentOfYourOwn(t *testing.T) {
	t.Parallel()
	n := newNewcomer(t)
	script, err := filepath.Abs("../agent.sh")
	require.NoError(t, err)
	require.LessOrEqual(t, strings.Count(string(contents(t, script)), "\n"), 40)
	said, ok := n.do("init", "--listen", n.addr, "--ci", "true", "--agent", script)
	require.True(t, ok, said)
	require.Contains(t, said, "its agent was one that costs nothing; cards get "+script+": signalbox doctor --probe lets that run once\n")
	said, ok = n.do("doctor", "--probe")
	require.True(t, ok, said)
	require.Contains(t, said, "agent "+script+" has run, as it will for cards\n")
	id, end := n.firstCard()
	defer end()
	require.Contains(t, n.git(n.bare(), "show", "trunk:work/APP-1.md"), "nobody has thought about them yet")
	require.Len(t, n.task(id).Runs, 7, "none was tried again")
}
