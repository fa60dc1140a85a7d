//go:build linux

package agentcli

import (
	"bufio"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/fault"
)

// What survives KILL is waited for again: nothing is removed from under it.
func TestWhatCannotBeEndedMayEndLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := end(t.Context(), func() ([]ident, bool) { return []ident{{PID: 1 << 30}}, true }, time.Second)
		require.Error(t, err)
		require.True(t, fault.Retryable(err))
	})
}

// A stray that was noted may have started another behind the shim's last look.
func TestBelowStrays(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", "sleep 1000 & echo $!; wait")
	cmd.Env, cmd.Dir = []string{}, "/"
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	stray, ok := lookup(cmd.Process.Pid)
	require.True(t, ok)
	left, _ := leftovers(record{Token: "none", Strays: []ident{stray.ident}}) // no shim has begun
	var pids []string
	for _, p := range left {
		pids = append(pids, strconv.Itoa(p.PID))
	}
	require.ElementsMatch(t, []string{strconv.Itoa(cmd.Process.Pid), strings.TrimSpace(line)}, pids)
	for _, p := range left {
		signal(p, syscall.SIGKILL)
	}
	_ = cmd.Wait() // it was killed
}
