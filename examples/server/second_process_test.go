package main

import (
	"fmt"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// A second server on a data directory is refused by the name of the first, commands that read
// the store are not, and after kill -9 the next one begins at once.
func TestSecondServer(t *testing.T) {
	t.Parallel()
	n := newNewcomer(t)
	said, ok := n.do("init", "--listen", n.addr, "--ci", "true", "--agent", "rehearse", "--no-rehearse")
	require.True(t, ok, said)
	start := func() (*exec.Cmd, *lines) {
		serve, log := n.command("serve")
		require.NoError(t, serve.Start())
		n.until("the server gets ready", func() bool {
			var into any
			return n.get("/readyz", &into)
		})
		return serve, log
	}
	first, _ := start()
	n.env = []string{"ORCH_LISTEN=127.0.0.1:0"}
	said, ok = n.do("serve")
	require.False(t, ok)
	require.Contains(t, said, "a server works in "+n.data+" already (")
	require.Contains(t, said, fmt.Sprintf("(process %d on ", first.Process.Pid))
	require.Contains(t, said, ", at http://"+n.addr+")")
	said, ok = n.do("copy", "--to", "postgres://127.0.0.1:1/none")
	require.False(t, ok)
	require.Contains(t, said, "nothing was copied: ORCH_DATA_DIR: a server works in ")
	for _, reads := range [][]string{{"audit", "verify"}, {"doctor"}, {"token", "list"}} {
		said, ok = n.do(reads...)
		require.True(t, ok, "%s: %s", reads, said)
	}
	require.NoError(t, first.Process.Kill())
	require.Error(t, first.Wait())
	n.env = []string{"ORCH_AGENT=no-such-agent"}
	next, log := start()
	require.Contains(t, log.String(), `msg="an agent's program is not installed: tasks that need it will wait" agent=no-such-agent`)
	require.NoError(t, next.Process.Kill())
	require.Error(t, next.Wait(), log)
}
