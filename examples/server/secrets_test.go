//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// The running server has no secret in /proc/PID/environ, is the process that was started,
// and still has its settings; TERM ends it.
func TestEnvironmentShowsNoSecret(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, &place{prefix: "APP"})
	cmd, ended := w.process()
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", cmd.Process.Pid))
	if os.Getuid() != 0 {
		require.ErrorIs(t, err, os.ErrPermission)
	} else {
		require.NoError(t, err)
		require.Contains(t, string(environ), "PATH=", "the control: it can be read, and is the server's")
		require.NotContains(t, string(environ), "ORCH_")
		for _, name := range []string{"PLANE_TOKEN", "PLANE_WEBHOOK_SECRET", "GITHUB_TOKEN", "GITHUB_WEBHOOK_SECRET", "ADMIN_TOKEN"} {
			require.NotContains(t, string(environ), w.env[name], name)
		}
	}
	self, err := os.Executable()
	require.NoError(t, err)
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", cmd.Process.Pid))
	if os.Getuid() == 0 {
		require.NoError(t, err)
		require.Equal(t, self, exe)
	}
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", cmd.Process.Pid))
	for _, f := range files {
		to, _ := os.Readlink(f)
		require.NotContains(t, to, "memfd:environment", "it was read and closed")
	}
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	<-ended
	require.Zero(t, cmd.ProcessState.ExitCode(), "the process that was started is the one that ended well")
}
