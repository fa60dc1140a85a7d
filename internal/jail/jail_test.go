//go:build linux

package jail_test

import (
	"bytes"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/jail"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// newScene is a data directory with tasks 1, whose agent is in the jail, and 2, a HOME of
// the service, its listeners, and a process of the same user.
func newScene(t *testing.T) (scene, work.Jail) {
	t.Helper()
	dir, err := os.MkdirTemp("", "scene-") //nolint:usetesting // a short name, for sockets
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := scene{root: dir, service: os.Getpid(), name: filepath.Base(dir)}
	for _, name := range []string{
		"data/signalbox.db", "data/git/work/a/main.go", "data/git/work/a/src/x.go", "data/git/work/b/main.go", "data/git/repos/a.git/config", "data/git/mirrors/m.git/refs",
		"data/git/mirrors/m.git/objects/aa", "data/logs/task-1/outbox-1/x", "data/logs/task-1/outbox-2/review.md", "data/logs/task-2/001.out", "data/running/2.json",
		"data/homes/1/home/x", "data/homes/1/tmp/x", "home/.ssh/id",
	} {
		name = filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
		require.NoError(t, os.WriteFile(name, []byte(proof), 0o600))
	}
	listen := func(network, address string) net.Listener {
		l, err := net.Listen(network, address)
		require.NoError(t, err)
		t.Cleanup(func() { _ = l.Close() })
		return l
	}
	s.port = listen("tcp4", "127.0.0.1:0").Addr().(*net.TCPAddr).Port
	free := listen("tcp4", "127.0.0.1:0")
	s.free = free.Addr().(*net.TCPAddr).Port
	require.NoError(t, free.Close())
	listen("unix", "@"+s.name)
	listen("unix", filepath.Join(dir, "socket"))
	packets, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Net: "unixgram", Name: filepath.Join(dir, "datagrams")})
	require.NoError(t, err)
	t.Cleanup(func() { _ = packets.Close() })
	db, err := os.Open(s.db())
	require.NoError(t, err)
	defer db.Close()
	victim := exec.CommandContext(t.Context(), "sleep", "60")
	victim.Dir, victim.ExtraFiles = filepath.Join(dir, "data"), []*os.File{db}
	require.NoError(t, victim.Start())
	t.Cleanup(func() { _ = victim.Process.Kill(); _ = victim.Wait() })
	s.victim = victim.Process.Pid
	self, err := os.Executable()
	require.NoError(t, err)
	at := func(name string) string { return filepath.Join(dir, "data", name) }
	return s, jail.System().And(work.Jail{
		Write: []string{at("git/work/a"), at("git/repos/a.git"), at("logs/task-1/outbox-1"), at("homes/1/home"), at("homes/1/tmp")},
		Read:  []string{at("git/mirrors/m.git/objects"), self, os.Getenv("SUID")},
		Ports: []work.Ports{{First: 22, Last: 443}, {First: 1024, Last: 65535}}, Closed: []uint16{uint16(s.port), uint16(s.free)},
	})
}

// runs runs a program under the test's shim, in a jail or in none.
func runs(t *testing.T, j *work.Jail, env []string, argv ...string) (exit int, out string) {
	t.Helper()
	body, err := json.Marshal(order{Jail: j, Argv: argv})
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "shim")
	cmd.Stdin, cmd.Env = bytes.NewReader(append(body, '\n')), env
	said, _ := cmd.CombinedOutput()
	return cmd.ProcessState.ExitCode(), string(said)
}

// Each attack fails in the jail, and where that can be tried succeeds without one: else
// it would prove nothing.
func TestAttacks(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(attacks()), 25)
	for _, a := range attacks() {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			s, j := newScene(t)
			exit, out := runs(t, &j, environ(s), self, "attack", a.name)
			require.Equal(t, failed, exit, "in the jail: %s", out)
			if a.control {
				s, _ = newScene(t)
				exit, out = runs(t, nil, environ(s), self, "attack", a.name)
				require.Equal(t, succeeded, exit, "without a jail: %s", out)
			}
		})
	}
}
