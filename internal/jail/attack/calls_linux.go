package attack

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/signalbox-dev/signalbox/internal/jail"
)

// onCalls make each system call that the filter's table refuses, with arguments that come to nothing without a filter
// as well: an attack for each reason of the table.
func onCalls() (list []Attack) {
	table, err := jail.Calls(runtime.GOARCH)
	if err != nil {
		return []Attack{{"make system calls", Seccomp, false, func(Scene) error { return nil }}} // no filter is known
	}
	for len(table) > 0 {
		group := table[:1]
		for len(group) < len(table) && table[len(group)].Why == group[0].Why {
			group = table[:len(group)+1]
		}
		table = table[len(group):]
		if group[0].Verdict == jail.Harmless {
			continue
		}
		list = append(list, Attack{"system calls: " + group[0].Why, Seccomp, true, func(s Scene) error {
			if own, err := os.Readlink(queues); group[0].Verdict == jail.Boxed && (err != nil || own != s.IPC) {
				return errors.Join(err, errors.New("a namespace of its own"))
			}
			return refused(group)
		}})
	}
	return list
}

// queues is a link to the namespace of System V's that this process is in.
const queues = "/proc/self/ns/ipc"

// refused makes calls, and returns the filter's answer when it refuses all of them.
func refused(calls []jail.Call) (err error) {
	for _, c := range calls {
		a := c.Args
		_, _, errno := unix.RawSyscall6(uintptr(c.Number), a[0], a[1], a[2], a[3], a[4], a[5])
		if err = errno; errno != c.Errno {
			fmt.Fprintln(os.Stderr, c.Name, "is not refused:", errno)
			return nil
		}
	}
	return err
}
