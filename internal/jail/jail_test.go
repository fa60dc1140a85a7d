//go:build linux

package jail_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/jail"
	"github.com/signalbox-dev/signalbox/internal/jail/attack"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// newScene is a scene, and the jail of its attacker.
func newScene(t *testing.T) (attack.Scene, work.Jail) {
	t.Helper()
	s, remove, err := attack.Build(filepath.Join(t.TempDir(), "scene"))
	require.NoError(t, err)
	t.Cleanup(remove)
	s.SUID = os.Getenv("SUID")
	s.Live = attack.Live{Database: s.DB(), Data: filepath.Join(s.Root, "data"), Home: s.Home(), Ports: []int{s.Free}}
	self, err := os.Executable()
	require.NoError(t, err)
	at := func(name string) string { return filepath.Join(s.Root, "data", name) }
	return s, jail.System().And(work.Jail{
		Write: []string{s.Own(), at("git/repos/a.git"), at("logs/task-1/outbox-1"), at("homes/1/home"), at("homes/1/tmp")},
		Read:  []string{at("git/mirrors/m.git/objects"), self, s.SUID},
		Ports: []work.Ports{{First: 22, Last: 443}, {First: 1024, Last: 65535}}, Closed: []uint16{uint16(s.Port), uint16(s.Free)},
	})
}

// environ is what an attacker is started with.
func environ(t *testing.T, s attack.Scene) []string {
	t.Helper()
	body, err := json.Marshal(s)
	require.NoError(t, err)
	return []string{"PATH=" + os.Getenv("PATH"), "SCENE=" + string(body)}
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
	require.GreaterOrEqual(t, len(attack.All()), 25)
	for _, a := range attack.All() {
		t.Run(a.Name, func(t *testing.T) {
			t.Parallel()
			s, j := newScene(t)
			exit, out := runs(t, &j, environ(t, s), self, "attack", a.Name)
			if exit == attack.NotHere {
				t.Skip("nothing of the kind can be made by this user")
			}
			require.Equal(t, attack.Failed, exit, "in the jail: %s", out)
			if a.Control {
				s, _ = newScene(t)
				exit, out = runs(t, nil, environ(t, s), self, "attack", a.Name)
				require.Equal(t, attack.Succeeded, exit, "without a jail: %s", out)
			}
		})
	}
}
