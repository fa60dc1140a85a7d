//go:build linux

package command

import (
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

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
