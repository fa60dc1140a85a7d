package jail

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Limits of a process in the jail. That of processes counts all of the user's: it stops
// a fork bomb before the service, which has no such limit, cannot start any more.
const (
	filesMax     = 65536
	processesMax = 4096
)

// enter puts the calling thread into a jail. The thread is locked, and must become another
// program: others of this process are not in the jail.
func enter(j work.Jail) error {
	runtime.LockOSThread()
	abi, err := landlockABI()
	if err != nil {
		return err
	}
	rules, err := newRuleset(j, abi)
	if err != nil {
		return err
	}
	if err := limit(); err != nil {
		return err
	}
	if err := dropCapabilities(); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	if err := rules.enforce(); err != nil {
		return err
	}
	return program(j.Sockets).enforce()
}

func limit() error {
	for what, most := range map[int]uint64{unix.RLIMIT_CORE: 0, unix.RLIMIT_NOFILE: filesMax, unix.RLIMIT_NPROC: processesMax} {
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
	for c := uintptr(0); c < 64; c++ { // who may not drop one has no way to gain it, by no_new_privs
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
	err := s.run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "the jail:", err)
		return ExitRefused
	}
	return 0
}

func (s Stage) run() error {
	if s.Try != nil {
		if err := enter(s.Jail); err != nil {
			return err
		}
		return s.Try.run()
	}
	in, err := os.Open(s.Stdin)
	if err != nil {
		return err
	}
	if err := unix.Dup3(int(in.Fd()), 0, 0); err != nil {
		return fmt.Errorf("standard input: %w", err)
	}
	if err := enter(s.Jail); err != nil {
		return err
	}
	if err := syscall.Exec(s.Path, s.Argv, os.Environ()); err != nil {
		return fmt.Errorf("%s cannot be run in it: %w; programs and files outside the system's directories and PATH must be listed", s.Path, err)
	}
	return nil
}

// Start starts this program once more, with the arguments that it has itself, as a process
// that enters a jail and becomes another program. Its standard input is the order; the
// other files are those of attr, which has none for that.
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
	own := *attr
	own.Files = append([]*os.File{in}, attr.Files[1:]...)
	p, err := os.StartProcess("/proc/self/exe", os.Args, &own)
	in.Close()
	if err != nil {
		return nil, err
	}
	if _, err := line.Write(append(order, '\n')); err != nil {
		_ = p.Kill() // it may have ended; whoever waits for it sees that it has run nothing
	}
	return p, nil
}
