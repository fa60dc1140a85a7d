package jail

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// enter puts the calling thread into a jail. The thread is locked, and must become another
// program: others of this process are not in the jail. In a box a kernel without Landlock
// will do: what that leaves open the self-test finds.
func enter(j work.Jail, boxed bool) error {
	runtime.LockOSThread()
	rules := ruleset{fd: -1}
	abi, err := landlockABI()
	if err == nil {
		rules, err = newRuleset(j, abi)
	} else if boxed {
		err = nil
	}
	if err != nil {
		return err
	}
	if err := errors.Join(closeFiles(), limit(), dropCapabilities()); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	if err := rules.enforce(); err != nil {
		return err
	}
	f, err := program(runtime.GOARCH, j.Sockets, boxed, j.Proxied && !boxed)
	if err != nil {
		return err
	}
	return f.enforce()
}

// closeFiles leaves the program that this process becomes its first three files: the service may have been started with more.
func closeFiles() error {
	files, err := os.ReadDir("/proc/self/fd")
	for _, f := range files {
		if fd, _ := strconv.Atoi(f.Name()); fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return err
}

// limit bounds this process and what it starts, and offers them to the kernel before the service when memory is short.
func limit() error {
	const adj = "/proc/self/oom_score_adj"
	now, err := os.ReadFile(adj)
	if err != nil {
		return err
	}
	if n, err := strconv.Atoi(strings.TrimSpace(string(now))); err != nil || n < sacrificed { // it may be offered before already
		if err := os.WriteFile(adj, []byte(strconv.Itoa(sacrificed)), 0); err != nil {
			return err
		}
	}
	limits := map[int]uint64{unix.RLIMIT_CORE: 0, unix.RLIMIT_NOFILE: filesMax, unix.RLIMIT_NPROC: processesMax, unix.RLIMIT_FSIZE: fileMax}
	for what, most := range limits {
		var now syscall.Rlimit
		if err := syscall.Getrlimit(what, &now); err != nil {
			return fmt.Errorf("getrlimit: %w", err)
		}
		now.Cur, now.Max = min(now.Cur, most), min(now.Max, most)
		if err := syscall.Setrlimit(what, &now); err != nil {
			return fmt.Errorf("setrlimit: %w", err)
		}
	}
	return nil
}

// dropCapabilities leaves none, to root either.
func dropCapabilities() error {
	for c := uintptr(0); c < 64; c++ { // a process that may not drop one has no way to gain it, by no_new_privs
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && !errors.Is(err, unix.EPERM) {
			break // there are no more
		}
	}
	_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) // without permitted ones there are none
	head, none := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, [2]unix.CapUserData{}
	if err := unix.Capset(&head, &none[0]); err != nil {
		return fmt.Errorf("capset: %w", err)
	}
	return nil
}

// Run does what a stage orders and returns an exit code; it does not return when it has
// become another program. On failure nothing was run.
func (s Stage) Run() int {
	step := func() (int, error) { return 0, s.run() }
	if s.Boxed && len(s.Jail.Relays) > 0 {
		step = s.relay
	}
	code, err := step()
	if err != nil {
		fmt.Fprintln(os.Stderr, "the jail:", err)
		return ExitRefused
	}
	return code
}

func (s Stage) run() error {
	if s.Jail.Box.Kind != "" && !s.Boxed {
		return s.box()
	}
	if s.Jail.Box.Kind == work.BoxContainer { // what the image has
		s.Jail = s.Jail.And(System())
	}
	if s.Try != nil {
		if err := enter(s.Jail, s.Boxed); err != nil {
			return err
		}
		return s.Try.run(s.Boxed)
	}
	in, err := os.Open(s.Stdin)
	if err != nil {
		return err
	}
	if err := unix.Dup3(int(in.Fd()), 0, 0); err != nil {
		return fmt.Errorf("standard input: %w", err)
	}
	env := os.Environ()
	if s.Env != nil {
		env = append(s.Env, "PATH="+os.Getenv("PATH"))
	}
	path, err := exec.LookPath(s.Path) // a name alone is one of a container's image
	if err != nil {
		return fmt.Errorf("%w; programs and files outside the system's directories and PATH must be listed", err)
	}
	if err := enter(s.Jail, s.Boxed); err != nil {
		return err
	}
	if err := syscall.Exec(path, s.Argv, env); err != nil {
		return fmt.Errorf("%s cannot be run in it: %w; "+
			"programs and files outside the system's directories and PATH must be listed", path, err)
	}
	return nil
}

// box makes this process a box that runs this program once more, which then walks into the
// rest of the jail. The order lies in a file without a name.
func (s Stage) box() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	inner, env := s, os.Environ()
	inner.Boxed, inner.Jail.Box.Env = true, nil
	outer, argv := s.Jail.And(work.Jail{Read: []string{self}}), append([]string{self}, os.Args[1:]...)
	if s.Jail.Box.Kind == work.BoxContainer {
		inner.Env = slices.DeleteFunc(slices.Clone(env), func(pair string) bool { return strings.HasPrefix(pair, "PATH=") })
		env = overlaid(env, s.Jail.Box.Env)
		argv, err = container(outer, s.Name, dir, argv)
	} else {
		argv, err = bubblewrap(outer, dir, argv)
	}
	if err != nil {
		return err
	}
	order, err := json.Marshal(Order{Stage: &inner})
	if err != nil {
		return err
	}
	fd, err := unix.MemfdCreate("order", 0)
	if err != nil {
		return err
	}
	in := os.NewFile(uintptr(fd), "order")
	if _, err := in.Write(append(order, '\n')); err != nil {
		return err
	}
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if err := errors.Join(unix.Dup3(fd, 0, 0), in.Close()); err != nil {
		return err
	}
	if s.Jail.Box.Kind == work.BoxBubblewrap {
		// The end of an agent signals each of its processes. With this one they would all be
		// gone at once, without the grace; it ends by itself after them.
		signal.Ignore(syscall.SIGTERM)
	}
	if err := syscall.Exec(s.Jail.Box.Program, argv, env); err != nil {
		return fmt.Errorf("%s cannot be run: %w", s.Jail.Box.Program, err)
	}
	return nil
}

// overlaid is an environment in which some values are others.
func overlaid(env, by []string) []string {
	out := slices.Clone(by)
	for _, pair := range env {
		name, _, _ := strings.Cut(pair, "=")
		if !slices.ContainsFunc(by, func(o string) bool { return strings.HasPrefix(o, name+"=") }) {
			out = append(out, pair)
		}
	}
	return out
}

// Start starts this program once more, with the arguments that it has itself, as a process
// that enters a jail and becomes another program. Its standard input is the order; the
// other files are those of attr, which has none for that. Whatever becomes of it, Clear
// is called at the end.
func Start(s Stage, attr *os.ProcAttr) (*os.Process, error) {
	order, err := json.Marshal(Order{Stage: &s})
	if err != nil {
		return nil, err
	}
	in, line, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer line.Close()
	defer in.Close()
	own := *attr
	own.Files = append([]*os.File{in}, attr.Files[1:]...)
	if s.Jail.Cgroup != "" {
		group, err := newGroup(s.Jail.Cgroup, s.Name, s.Jail.Limits)
		if err != nil {
			return nil, err
		}
		defer group.Close()
		sys := syscall.SysProcAttr{}
		if attr.Sys != nil {
			sys = *attr.Sys
		}
		sys.UseCgroupFD, sys.CgroupFD = true, int(group.Fd())
		own.Sys = &sys
	}
	p, err := os.StartProcess("/proc/self/exe", os.Args, &own)
	if err != nil {
		return nil, err
	}
	in.Close()
	if _, err := line.Write(append(order, '\n')); err != nil {
		_ = p.Kill() // it may have ended; its wait shows that it has run nothing
	}
	return p, nil
}

// Clear ends what is left of an execution in a jail and removes its cgroup and its
// container, by the name that its Stage had. What is gone already is no error.
func Clear(ctx context.Context, j work.Jail, name string) error {
	var err error
	if j.Cgroup != "" {
		err = endGroup(ctx, filepath.Join(j.Cgroup, name))
	}
	if j.Box.Kind == work.BoxContainer {
		err = errors.Join(err, removeContainer(ctx, j.Box, name))
	}
	return err
}

// removeMax is how long an engine may take to end a container.
const removeMax = time.Minute

func removeContainer(ctx context.Context, b work.Box, name string) error {
	ctx, cancel := context.WithTimeout(ctx, removeMax)
	defer cancel()
	for {
		cmd := exec.CommandContext(ctx, b.Program, "rm", "--force", "--volumes", name)
		cmd.Env = overlaid(os.Environ(), b.Env)
		out, err := cmd.CombinedOutput()
		said := strings.ToLower(string(out))
		if err == nil || strings.Contains(said, "no such container") || strings.Contains(said, "no container with") {
			return nil
		}
		// An engine whose own processes have been killed finds out what is left in a moment.
		if run.Sleep(ctx, run.Real{}, time.Second) != nil {
			return fmt.Errorf("the container %s cannot be removed: %w: %s", name, err, bytes.TrimSpace(out))
		}
	}
}
