//go:build linux

package jail_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/jail"
	"github.com/signalbox-dev/signalbox/internal/jail/jailtest"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// survivors starts a process that has left everything by which it could be found (session,
// parents, environment, directory), writes its cgroup to where the first argument says, and
// waits.
func survivors() int {
	lost := exec.Command("/bin/sh", "-c", "(cd /; exec env -i setsid sleep 600) & exit 0")
	if err := lost.Run(); err != nil {
		return 1
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil || os.WriteFile(os.Args[2], own, 0o600) != nil {
		return 1
	}
	time.Sleep(time.Minute)
	return 0
}

// A run has a cgroup with its limits, and ends with it: nothing gets away, although the shim
// was killed and what is left shows nothing of where it came from.
func TestCgroup(t *testing.T) {
	g, err := jail.Delegated(t.Context(), "")
	if err != nil {
		jailtest.Skip(t, "cgroups, "+as(), err)
	}
	if len(g.Controllers) < 3 {
		fmt.Printf("jail: cgroups, %s: limits in part SKIPPED: of memory, pids and cpu this machine has %v in cgroup v2\n", as(), g.Controllers)
	}
	self := program(t)
	own := t.TempDir()
	j := jail.System().And(work.Jail{
		Write: []string{own}, Read: []string{self}, Cgroup: g.Dir, Limits: work.Limits{Memory: 256 << 20, Processes: 100, CPUWeight: 50},
	})
	name := "run-" + strconv.Itoa(os.Getpid())
	body, err := json.Marshal(jail.Order{Jail: &j, Name: name, Argv: []string{self, "survivors", filepath.Join(own, "cgroup")}})
	require.NoError(t, err)
	shim := exec.CommandContext(t.Context(), "/proc/self/exe", "shim")
	said, err := os.Create(filepath.Join(t.TempDir(), "said")) // a pipe would be waited for until the survivors close it
	require.NoError(t, err)
	defer said.Close()
	shim.Stdin, shim.Stderr, shim.Env = bytes.NewReader(append(body, '\n')), said, []string{"PATH=" + os.Getenv("PATH")}
	require.NoError(t, shim.Start())
	require.Eventually(t, func() bool { in, _ := os.ReadFile(filepath.Join(own, "cgroup")); return len(in) > 0 }, 30*time.Second, 10*time.Millisecond, "the agent has started")
	in, err := os.ReadFile(filepath.Join(own, "cgroup"))
	require.NoError(t, err)
	require.Contains(t, string(in), "/"+name)
	for file, want := range map[string]string{"memory": "memory.max 268435456", "pids": "pids.max 100", "cpu": "cpu.weight 50"} {
		for _, c := range g.Controllers {
			if c == file {
				file, value, _ := strings.Cut(want, " ")
				has, err := os.ReadFile(filepath.Join(g.Dir, name, file))
				require.NoError(t, err)
				require.Equal(t, value, strings.TrimSpace(string(has)))
			}
		}
	}
	procs, err := os.ReadFile(filepath.Join(g.Dir, name, "cgroup.procs"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(strings.Fields(string(procs))), 2, "the lost one is in it")
	require.NoError(t, shim.Process.Kill())
	_ = shim.Wait() // it was killed
	for _, text := range strings.Fields(string(procs)) {
		require.DirExists(t, filepath.Join("/proc", text), "it has outlived the shim")
	}
	require.NoError(t, jail.Clear(t.Context(), j, name))
	require.NoDirExists(t, filepath.Join(g.Dir, name))
	for _, text := range strings.Fields(string(procs)) {
		pid, err := strconv.Atoi(text)
		require.NoError(t, err)
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)) // gone, or waiting for its parent of now
		require.True(t, len(stat) == 0 || bytes.Contains(stat, []byte(") Z ")), "%s", stat)
	}
	require.NoError(t, jail.Clear(t.Context(), j, name), "what is gone is no error")
}
