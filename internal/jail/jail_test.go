//go:build linux

package jail_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/jail"
	"github.com/signalbox-dev/signalbox/internal/jail/attack"
	"github.com/signalbox-dev/signalbox/internal/jail/jailtest"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// newScene is a scene, and the jail of its attacker.
func newScene(t *testing.T, box work.Box) (attack.Scene, work.Jail) {
	t.Helper()
	s, remove, err := attack.Build(filepath.Join(t.TempDir(), "scene"))
	require.NoError(t, err)
	t.Cleanup(remove)
	s.SUID = os.Getenv("SUID")
	s.Live = attack.Live{Database: s.DB(), Data: filepath.Join(s.Root, "data"), Home: s.Home(), Ports: []int{s.Free}}
	self := program(t)
	at := func(name string) string { return filepath.Join(s.Root, "data", name) }
	j := jailtest.System(box).And(work.Jail{
		Write: []string{s.Own(), at("git/repos/a.git"), at("logs/task-1/outbox-1"), at("homes/1/home"), at("homes/1/tmp")},
		Read:  []string{at("git/mirrors/m.git/objects"), self},
		Ports: []work.Ports{{First: 22, Last: 443}, {First: 1024, Last: 65535}}, Closed: []uint16{uint16(s.Port), uint16(s.Free)},
	})
	if s.SUID != "" {
		j.Read = append(j.Read, s.SUID)
	}
	return s, j
}

// environ returns what an attacker is started with.
func environ(t *testing.T, s attack.Scene) []string {
	t.Helper()
	body, err := json.Marshal(s)
	require.NoError(t, err)
	return []string{"PATH=" + os.Getenv("PATH"), "SCENE=" + string(body)}
}

// runs runs a program under the test's shim, in a jail or in none.
func runs(t *testing.T, j *work.Jail, env []string, argv ...string) (exit int, out string) {
	t.Helper()
	body, err := json.Marshal(jail.Order{Jail: j, Argv: argv, Name: "signalbox-test-" + strings.ToLower(rand.Text())})
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "shim")
	cmd.Stdin, cmd.Env = bytes.NewReader(append(body, '\n')), env
	if j != nil {
		cmd.Dir = j.Write[0]
	}
	said, _ := cmd.CombinedOutput()
	return cmd.ProcessState.ExitCode(), string(said)
}

// program is the path of the test's own program.
func program(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return self
}

// boxOf is a box of a kind, where it can be tried.
func boxOf(t *testing.T, kind string) work.Box {
	t.Helper()
	if kind == work.BoxContainer && as() == "root" {
		jailtest.Skip(t, kind+", root", "in a user namespace no engine has the further users that it needs")
	}
	return jailtest.Box(t, kind, []string{"/proc/self/exe", "shim"})
}

// as names who makes the attacks.
func as() string {
	if os.Getenv(asRoot) != "" {
		return "root"
	}
	return "user"
}

// Each attack fails in each jail, and where that can be tried succeeds without one: else
// it would prove nothing. What Landlock alone shows is seen in it: SECURITY.md says so.
func TestAttacks(t *testing.T) {
	self := program(t)
	require.GreaterOrEqual(t, len(attack.All()), 40)
	controlled := map[string]bool{}
	for _, kind := range jailtest.Kinds() {
		var refused, shown, absent atomic.Int32
		t.Run(kind, func(t *testing.T) {
			box := boxOf(t, kind)
			t.Run("attacks", func(t *testing.T) {
				for _, a := range attack.All() {
					control := a.Control && !controlled[a.Name]
					controlled[a.Name] = true
					t.Run(a.Name, func(t *testing.T) {
						t.Parallel()
						s, j := newScene(t, box)
						exit, out := runs(t, &j, environ(t, s), self, "attack", a.Name)
						if exit == attack.NotHere {
							absent.Add(1)
							t.Skip("nothing of the kind can be made by this user")
						}
						if a.Wall == attack.Namespaces && box.Kind == "" {
							shown.Add(1)
							require.Equal(t, attack.Succeeded, exit, "SECURITY.md says that Landlock does not stop it: %s", out)
							return
						}
						require.Equal(t, attack.Failed, exit, "in the jail: %s", out)
						refused.Add(1)
						if control {
							s, _ = newScene(t, box)
							exit, out = runs(t, nil, environ(t, s), self, "attack", a.Name)
							require.Equal(t, attack.Succeeded, exit, "without a jail: %s", out)
						}
					})
				}
			})
			fmt.Printf("jail: %s, %s: %d attacks refused, %d that it does not stop, %d not here\n", kind, as(), refused.Load(), shown.Load(), absent.Load())
		})
	}
}

// What an honest agent does with modes, priorities and processors goes on in each jail.
func TestHonestWork(t *testing.T) {
	for _, kind := range jailtest.Kinds() {
		t.Run(kind, func(t *testing.T) {
			box := jailtest.Box(t, kind, []string{"/proc/self/exe", "shim"})
			s, j := newScene(t, box)
			env := append(environ(t, s), "HOME="+filepath.Join(s.Root, "data/homes/1/home"), "TMPDIR="+filepath.Join(s.Root, "data/homes/1/tmp"))
			exit, out := runs(t, &j, env, "/bin/sh", "-ec", `
				git init -q . && git config user.email a@example.org && git config user.name a
				mkdir -m 755 bin && install -m 755 main.go bin/tool && chmod 600 main.go && umask 077 && echo x > x
				git add -A && git commit -qm one && git clone -q . copy
				tar cf all.tar bin copy && mkdir out && tar xpf all.tar -C out && test -x out/bin/tool && cp -a out again
				! grep -F " $PWD " /proc/self/mountinfo | grep -v nosuid
				nice -n 5 true && nproc && (ionice -c 3 true || ! command -v ionice)
				! command -v npm || (echo '{"name":"a","version":"1.0.0","files":["x"]}' > package.json && npm pack --silent --offline && tar xzf a-1.0.0.tgz)`)
			require.Zero(t, exit, out)
		})
	}
}
