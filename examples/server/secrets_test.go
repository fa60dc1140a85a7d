//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
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

// A process of the same user cannot read the environment of one that hides it, and its own
// code can.
func TestHideSecrets(t *testing.T) {
	if os.Getenv("HIDE_SECRETS") != "" || os.Getenv(environmentFD) != "" {
		require.NoError(t, hideSecrets())
		dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
		require.NoError(t, err)
		require.Zero(t, dumpable)
		require.Equal(t, "a\nb=c", os.Getenv("HIDE_SECRETS"))
		require.Empty(t, os.Getenv(environmentFD))
		out, err := exec.CommandContext(t.Context(), "cat", "/proc/"+strconv.Itoa(os.Getpid())+"/environ").CombinedOutput()
		require.Error(t, err, "a child read %d bytes", len(out))
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestHideSecrets$")
	cmd.Env = append(os.Environ(), "HIDE_SECRETS=a\nb=c")
	if os.Getuid() == 0 { // root reads everything: as somebody else, then
		nobody, err := user.Lookup("nobody")
		if err != nil {
			t.Skip("no user nobody")
		}
		uid, err := strconv.ParseUint(nobody.Uid, 10, 32)
		require.NoError(t, err)
		program, err := os.ReadFile(os.Args[0])
		require.NoError(t, err)
		dir, err := os.MkdirTemp("", "hide") //nolint:usetesting // another user must get in
		require.NoError(t, err)
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		require.NoError(t, os.Chmod(dir, 0o755))
		require.NoError(t, os.WriteFile(dir+"/test", program, 0o755))
		cmd.Path, cmd.Dir = dir+"/test", dir
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}
