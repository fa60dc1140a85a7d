package jail

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// made reports whether a box makes a file itself: nothing of the machine is shown there.
func made(name string) bool {
	return name == "/proc" || name == "/dev" || strings.HasPrefix(name, "/proc/") || strings.HasPrefix(name, "/dev/")
}

// bubblewrap is the command line that runs argv in namespaces of its own: it sees the files
// of the jail, its own processes, and the machine's network unless it is to be alone. The working
// directory is dir.
func bubblewrap(j work.Jail, dir string, argv []string) ([]string, error) {
	l, err := layoutOf(j)
	if err != nil {
		return nil, err
	}
	out := []string{
		j.Box.Program, "--die-with-parent", "--new-session",
		"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--cap-drop", "ALL",
	}
	if j.Alone() {
		out = append(out, "--unshare-net")
	}
	for _, name := range slices.Sorted(maps.Keys(l.write)) { // directories come before what is in them
		if made(name) {
			continue
		}
		how := "--ro-bind"
		if l.write[name] {
			how = "--bind"
		}
		out = append(out, how, name, name)
	}
	for _, name := range slices.Sorted(maps.Keys(l.links)) {
		if !made(name) {
			out = append(out, "--symlink", l.links[name], name)
		}
	}
	out = append(out, "--proc", "/proc", "--dev", "/dev", "--remount-ro", "/", "--chdir", dir, "--")
	return append(out, argv...), nil
}

// container is the command line that runs argv in a container of this name: the system is
// that of the image, beside it there are the files of the jail.
func container(j work.Jail, name, dir string, argv []string) ([]string, error) {
	l, err := layoutOf(j)
	if err != nil {
		return nil, err
	}
	out := []string{
		j.Box.Program, "run", "--rm", "--interactive", "--init", "--name", name, "--pull", "never",
		"--read-only", "--cap-drop", "all", "--security-opt", "no-new-privileges", "--ipc", "private",
		"--user", fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid()),
	}
	bind := "type=bind,source="
	if filepath.Base(j.Box.Program) == "podman" { // docker's have no such option; no-new-privileges does the same there
		bind = "type=bind,nosuid,source="
		out = append(out, "--read-only-tmpfs=false", "--log-driver", "none")
		if os.Getuid() != 0 { // else a user of the container is another one outside
			out = append(out, "--userns", "keep-id")
		}
	}
	network := j.Box.Network
	if j.Alone() {
		network = "none"
	}
	if network != "" {
		out = append(out, "--network", network)
	}
	out = append(out, "--pids-limit", strconv.Itoa(cmp.Or(j.Limits.Processes, processesMax)))
	if j.Limits.Memory > 0 {
		out = append(out, "--memory", strconv.FormatInt(j.Limits.Memory, 10))
	}
	if w := j.Limits.CPUWeight; w > 0 { // of engines 1024 is what 100 is of the kernel
		out = append(out, "--cpu-shares", strconv.Itoa(max(2, w*1024/100)))
	}
	for _, path := range slices.Sorted(maps.Keys(l.write)) {
		if made(path) {
			continue
		}
		if strings.ContainsAny(path, ",\"\n") {
			return nil, fmt.Errorf("%q cannot be given to a container: its name has a comma, a quote or a newline", path)
		}
		mount := bind + path + ",target=" + path
		if !l.write[path] {
			mount += ",readonly"
		}
		out = append(out, "--mount", mount)
	}
	out = append(out, "--workdir", dir, "--entrypoint", argv[0], j.Box.Image)
	return append(out, argv[1:]...), nil
}
