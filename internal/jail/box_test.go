//go:build linux

package jail

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// machine is a directory with a system, a checkout, and links on the way to both.
func machine(t *testing.T) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for _, dir := range []string{"usr/bin", "usr/lib", "disk/work/a", "disk/mirror/objects"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, dir), 0o700))
	}
	require.NoError(t, os.WriteFile(filepath.Join(root, "disk/prompt"), nil, 0o600))
	for name, to := range map[string]string{"bin": "usr/bin", "data": filepath.Join(root, "disk"), "round": "round"} {
		require.NoError(t, os.Symlink(to, filepath.Join(root, name)))
	}
	return root
}

// Both boxes are made of the specification that Landlock's rules are made of.
func TestBoxes(t *testing.T) {
	t.Setenv("GOTMPDIR", "/tmp") // a box has a /dev of its own, and tests may be in memory
	root := machine(t)
	at := func(name string) string { return filepath.Join(root, name) }
	j := work.Jail{
		Write: []string{at("data/work/a"), "/dev/shm"},
		Read:  []string{at("bin"), at("usr"), at("usr/lib"), at("data/work"), at("disk/mirror/objects"), at("data/prompt"), at("round"), at("nowhere"), "/proc"},
		Ports: []work.Ports{{First: 443, Last: 443}}, Limits: work.Limits{Memory: 1 << 30, Processes: 64, CPUWeight: 50},
		Box: work.Box{Kind: work.BoxBubblewrap, Program: "/usr/bin/bwrap", Image: "agents:1", Network: "slow"},
	}
	walls := []string{
		"/usr/bin/bwrap", "--die-with-parent", "--new-session", "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--cap-drop", "ALL",
	}
	files := []string{
		"--ro-bind", at("disk/mirror/objects"), at("disk/mirror/objects"),
		"--ro-bind", at("disk/prompt"), at("disk/prompt"),
		"--ro-bind", at("disk/work"), at("disk/work"),
		"--bind", at("disk/work/a"), at("disk/work/a"), // in a directory that may be read
		"--ro-bind", at("usr"), at("usr"), // and with it what is in there
		"--symlink", "usr/bin", at("bin"), "--symlink", at("disk"), at("data"),
		"--proc", "/proc", "--dev", "/dev", "--remount-ro", "/", "--chdir", at("data/work/a"), "--", "/shim", "agent-shim",
	}
	argv, err := bubblewrap(j, at("data/work/a"), []string{"/shim", "agent-shim"})
	require.NoError(t, err)
	require.Equal(t, append(walls, files...), argv)

	j.Box.Program = "/usr/bin/docker"
	argv, err = container(j, "signalbox-1", at("data/work/a"), []string{"/shim", "agent-shim"})
	require.NoError(t, err)
	mount := func(name, more string) []string {
		return []string{"--mount", "type=bind,source=" + at(name) + ",target=" + at(name) + more}
	}
	want := []string{
		"/usr/bin/docker", "run", "--rm", "--interactive", "--init", "--name", "signalbox-1", "--pull", "never", "--read-only", "--cap-drop", "all", "--security-opt", "no-new-privileges", "--ipc", "private",
		"--user", fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid()), "--network", "slow", "--pids-limit", "64", "--memory", "1073741824", "--cpu-shares", "512",
	}
	for _, m := range [][]string{mount("disk/mirror/objects", ",readonly"), mount("disk/prompt", ",readonly"), mount("disk/work", ",readonly"), mount("disk/work/a", ""), mount("usr", ",readonly")} {
		want = append(want, m...)
	}
	require.Equal(t, append(want, "--workdir", at("data/work/a"), "--entrypoint", "/shim", "agents:1", "agent-shim"), argv)

	contained := func() string {
		argv, err := container(j, "signalbox-1", "/", []string{"/shim"})
		require.NoError(t, err)
		return fmt.Sprint(argv)
	}
	cutOff := func() { // whichever box
		require.Contains(t, contained(), "--network none")
		argv, err := bubblewrap(j, "/", []string{"/shim"})
		require.NoError(t, err)
		require.Contains(t, argv, "--unshare-net")
	}
	j.Ports = nil // no network at all
	cutOff()

	j.Box.Program = "/usr/bin/podman"
	require.Contains(t, contained(), " type=bind,nosuid,source="+at("disk/work/a")+",target="+at("disk/work/a")+" ")

	j.Ports, j.Proxied = []work.Ports{{First: 443, Last: 443}}, true // none but by a relay
	j.Relays = []work.Relay{{Port: 40000, Socket: at("disk/prompt")}}
	cutOff()
	require.Contains(t, contained(), at("disk/prompt"))

	j.Write = append(j.Write, at("data")) // what is to be changed must be no link
	_, err = bubblewrap(j, "/", []string{"/shim"})
	require.ErrorContains(t, err, "is a symbolic link")
	j.Write = []string{at("nowhere")}
	_, err = container(j, "n", "/", []string{"/shim"})
	require.ErrorIs(t, err, os.ErrNotExist)
	odd := at("usr/a,b")
	require.NoError(t, os.Mkdir(odd, 0o700))
	j.Write = []string{odd}
	_, err = container(j, "n", "/", []string{"/shim"})
	require.ErrorContains(t, err, "a comma")
}
