package jail

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Names in the service's cgroup. The kernel gives controllers to the groups within one that
// has no processes itself: the service moves into one of them.
const (
	groupOfService = "signalbox-service"
	groupOfAgents  = "signalbox-agents"
)

// controllers are those that keep work.Limits.
func controllers() []string { return []string{"memory", "pids", "cpu"} }

// Delegated finds a cgroup (v2) in which this process may make others, and proves that by
// ending a process in one. Dir is the directory; empty stands for the process's own cgroup. It moves this process into a
// cgroup in there, where it stays. The error reports why there is none.
func Delegated(ctx context.Context, dir string) (Group, error) {
	if dir == "" {
		var err error
		if dir, err = ownGroup(); err != nil {
			return Group{}, err
		}
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil || fs.Type != unix.CGROUP2_SUPER_MAGIC {
		return Group{}, errors.Join(fmt.Errorf("%s is no directory of a cgroup2 file system", dir), err)
	}
	if filepath.Base(dir) == groupOfService { // an earlier service of this process has moved it
		dir = filepath.Dir(dir)
	}
	g := Group{Dir: filepath.Join(dir, groupOfAgents)}
	if err := os.Mkdir(g.Dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return g, fmt.Errorf("it is not delegated to this user (systemd: Delegate=yes): %w", err)
	}
	if !enable(dir) {
		service := filepath.Join(dir, groupOfService)
		if err := os.Mkdir(service, 0o755); err == nil || errors.Is(err, os.ErrExist) {
			// Where it stays as it is there are fewer controllers.
			if os.WriteFile(filepath.Join(service, "cgroup.procs"), []byte("0"), 0) == nil {
				enable(dir)
			}
		}
	}
	enable(g.Dir)
	enabled, err := os.ReadFile(filepath.Join(g.Dir, "cgroup.subtree_control"))
	if err != nil {
		return g, err
	}
	for _, c := range controllers() {
		if slices.Contains(strings.Fields(string(enabled)), c) {
			g.Controllers = append(g.Controllers, c)
		}
	}
	return g, g.prove(ctx)
}

// enable gives the controllers to the groups in one, and reports whether all that there
// are could be given.
func enable(dir string) bool {
	there, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	all := err == nil
	for _, c := range controllers() {
		if slices.Contains(strings.Fields(string(there)), c) {
			all = os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+"+c), 0) == nil && all
		}
	}
	return all
}

// prove has a process in a group, with limits, and ends it with the group.
func (g Group) prove(ctx context.Context) error {
	name := fmt.Sprintf("proof-%d", os.Getpid())
	dir, err := newGroup(g.Dir, name, work.Limits{Memory: 64 << 20, Processes: 16, CPUWeight: 50})
	if err != nil {
		return err
	}
	defer dir.Close()
	cmd := exec.CommandContext(ctx, "sleep", "60")
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(dir.Fd())}
	if err := cmd.Start(); err != nil {
		return errors.Join(fmt.Errorf("no process can be started in it: %w", err), endGroup(ctx, dir.Name()))
	}
	errEnd := os.WriteFile(filepath.Join(dir.Name(), "cgroup.kill"), []byte("1"), 0) // Linux 5.14
	if errEnd != nil {
		_ = cmd.Process.Kill() // it may have ended
	}
	_ = cmd.Wait() // it was killed
	return errors.Join(errEnd, endGroup(ctx, dir.Name()))
}

// ownGroup is the directory of this process's cgroup.
func ownGroup() (string, error) {
	path := ""
	err := eachLine("/proc/self/cgroup", func(line string) {
		if at, ok := strings.CutPrefix(line, "0::"); ok {
			path = at
		}
	})
	if err != nil || path == "" {
		return "", errors.Join(errors.New("this process is in no cgroup of version 2"), err)
	}
	dir := ""
	err = eachLine("/proc/self/mountinfo", func(line string) {
		before, after, _ := strings.Cut(line, " - ")
		fields := strings.Fields(before) // id, parent, device, root, mount point
		if len(fields) < 5 || !strings.HasPrefix(after, "cgroup2 ") {
			return
		}
		if below, ok := strings.CutPrefix(path, strings.TrimSuffix(fields[3], "/")); ok {
			dir = filepath.Join(fields[4], below)
		}
	})
	if err != nil || dir == "" {
		return "", errors.Join(errors.New("no cgroup2 file system is mounted"), err)
	}
	return dir, nil
}

func eachLine(name string, do func(string)) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	for s.Scan() {
		do(s.Text())
	}
	return s.Err()
}

// newGroup makes the cgroup of an execution, with its limits as far as there are
// controllers for them, and opens it.
func newGroup(parent, name string, l work.Limits) (*os.File, error) {
	dir := filepath.Join(parent, name)
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	for file, value := range map[string]int64{"memory.max": l.Memory, "pids.max": int64(l.Processes), "cpu.weight": int64(l.CPUWeight)} {
		if value == 0 {
			continue
		}
		err := os.WriteFile(filepath.Join(dir, file), strconv.AppendInt(nil, value, 10), 0)
		if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, os.ErrPermission) {
			return nil, fmt.Errorf("the limit %s: %w", file, err)
		}
	}
	if l.Memory > 0 { // else what goes beyond the limit goes to the disk
		_ = os.WriteFile(filepath.Join(dir, "memory.swap.max"), []byte("0"), 0) // there may be no swap to limit
	}
	return os.Open(dir)
}

// groupEndMax is how long processes of a cgroup may survive being killed.
const groupEndMax = 30 * time.Second

// endGroup ends all processes of a cgroup and of those that they have made in it, and
// removes it. The kernel kills them at once; there is no fork that gets away.
func endGroup(ctx context.Context, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, groupEndMax)
	defer cancel()
	for {
		err := os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0)
		if errors.Is(err, os.ErrNotExist) {
			if _, gone := os.Stat(dir); errors.Is(gone, os.ErrNotExist) {
				return nil
			}
		}
		if err = removeGroups(dir); err == nil || errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if waited := run.Sleep(ctx, run.Real{}, 5*time.Millisecond); waited != nil {
			return fmt.Errorf("processes of the cgroup %s cannot be ended: %w", dir, err)
		}
	}
}

// removeGroups removes a cgroup and those in it, the innermost first.
func removeGroups(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() {
			err = errors.Join(err, removeGroups(filepath.Join(dir, e.Name())))
		}
	}
	return errors.Join(err, os.Remove(dir))
}
