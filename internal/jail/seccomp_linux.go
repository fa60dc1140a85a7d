package jail

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Offsets in the kernel's struct seccomp_data, on which a filter is run.
const (
	atNumber = 0
	atArch   = 4
	atArgs   = 16
)

// namespaces are the flags of clone that make them.
const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// filter is a program of the kernel's packet filter that is being written.
type filter []unix.SockFilter

func (f *filter) add(code uint16, k uint32, yes, no uint8) {
	*f = append(*f, unix.SockFilter{Code: code, Jt: yes, Jf: no, K: k})
}

func (f *filter) load(offset uint32) { f.add(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offset, 0, 0) }

// arg loads the lower half of an argument: of those that are looked at the kernel takes no
// more.
func (f *filter) arg(n uint32) {
	low := uint32(0)
	if binary.NativeEndian.Uint16([]byte{0, 1}) == 1 {
		low = 4
	}
	f.load(atArgs + 8*n + low)
}

func (f *filter) allow()              { f.add(unix.BPF_RET, unix.SECCOMP_RET_ALLOW, 0, 0) }
func (f *filter) refuse(e unix.Errno) { f.add(unix.BPF_RET, unix.SECCOMP_RET_ERRNO|uint32(e), 0, 0) }
func (f *filter) kill()               { f.add(unix.BPF_RET, unix.SECCOMP_RET_KILL_PROCESS, 0, 0) }
func (f *filter) equal(k uint32)      { f.add(unix.BPF_JMP|unix.BPF_JEQ, k, 0, 1) } // else the next one is left out
func (f *filter) anyOf(bits uint32)   { f.add(unix.BPF_JMP|unix.BPF_JSET, bits, 0, 1) }
func (f *filter) atLeast(k uint32)    { f.add(unix.BPF_JMP|unix.BPF_JGE, k, 0, 1) }

// program is the filter of an architecture: what the table calls harmless is allowed, and calls that are newer than the
// table are absent. With tcpAlone sockets of the internet are of TCP.
func program(arch string, sockets, boxed, tcpAlone bool) (f filter, err error) {
	table, err := Calls(arch)
	if err != nil {
		return nil, err
	}
	f.load(atArch)
	f.add(unix.BPF_JMP|unix.BPF_JEQ, architectures[arch].audit, 1, 0)
	f.kill() // a 32-bit program, say: its numbers mean other things
	f.load(atNumber)
	newest := slices.MaxFunc(table, func(a, b Call) int { return cmp.Compare(a.Number, b.Number) })
	f.atLeast(newest.Number + 1) // those of x32 too, which are these under other numbers
	f.refuse(unix.ENOSYS)
	rules := checks(sockets, tcpAlone)
	for _, c := range table {
		switch c.Verdict {
		case refused, absent, Boxed:
			if c.Verdict != Boxed || !boxed {
				f.equal(c.Number)
				f.refuse(c.Errno)
			}
		case checked:
			body := rules[c.Name].body
			f.add(unix.BPF_JMP|unix.BPF_JEQ, c.Number, 0, uint8(len(body)))
			f = append(f, body...)
		case Harmless:
		}
	}
	f.allow()
	return f, nil
}

// rule is the part of a program for one system call, which ends with a verdict.
type rule struct {
	body  filter
	errno unix.Errno
	args  []uintptr // the first of those that it refuses, if not all bits of all
}

// checks are the rules of the calls that are checked, by name.
func checks(sockets, tcpAlone bool) map[string]rule {
	mode := func(arg uint32) rule { return without(arg, setID, unix.EPERM) }
	return map[string]rule{
		"chmod": mode(1), "fchmod": mode(1), "fchmodat": mode(2), "fchmodat2": mode(2), "creat": mode(1),
		"mkdir": mode(1), "mkdirat": mode(2), "mknod": mode(1), "mknodat": mode(2), "open": opens(1), "openat": opens(2),
		"clone": without(0, namespaces, unix.EPERM),
		// Of another process of the user, the service among them; 0 is the caller.
		"prlimit64": only(0), "setpriority": only(unix.PRIO_PROCESS, 0), "ioprio_set": only(ioprioProcess, 0),
		"sched_setparam": only(0), "sched_setscheduler": only(0), "sched_setattr": only(0), "sched_setaffinity": only(0),
		"socket": socket(sockets, tcpAlone), "socketpair": pair(sockets),
		// TCP Fast Open connects without Landlock being called.
		"sendto": without(3, unix.MSG_FASTOPEN, unix.EOPNOTSUPP), "sendmsg": without(2, unix.MSG_FASTOPEN, unix.EOPNOTSUPP),
		"sendmmsg": without(3, unix.MSG_FASTOPEN, unix.EOPNOTSUPP),
	}
}

// without refuses a call when an argument has one of these bits.
func without(arg, bits uint32, e unix.Errno) rule {
	var f filter
	f.arg(arg)
	f.anyOf(bits)
	f.refuse(e)
	f.allow()
	return rule{body: f, errno: e}
}

// only allows a call when its first arguments are these.
func only(args ...uint32) rule {
	var f filter
	for n, want := range args {
		f.arg(uint32(n))
		f.add(unix.BPF_JMP|unix.BPF_JEQ, want, 1, 0)
		f.refuse(unix.EPERM)
	}
	f.allow()
	return rule{body: f, errno: unix.EPERM}
}

// ioprioProcess is the kernel's IOPRIO_WHO_PROCESS.
const ioprioProcess = 1

// Modes that give a program the rights of its owner or group, and the flags of open with which it takes a
// mode: else what is in the argument's place is anything.
const (
	setID = unix.S_ISUID | unix.S_ISGID
	makes = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY
)

// opens is for a way to open files, whose flags are this argument, and the mode the next one.
func opens(flags uint32) rule {
	var f filter
	f.arg(flags)
	f.add(unix.BPF_JMP|unix.BPF_JSET, makes, 1, 0)
	f.allow()
	return rule{body: append(f, without(flags+1, setID, unix.EPERM).body...), errno: unix.EPERM}
}

// pair is for pairs of unix sockets: one of datagrams can send to any address. The types of these, of which to the
// kernel SOCK_RAW is one too, have a bit in common that those of connections lack.
func pair(unixSockets bool) rule {
	f := without(1, unix.SOCK_DGRAM, unix.EPERM).body
	if unixSockets {
		f = filter{}
		f.allow()
	}
	return rule{f, unix.EPERM, []uintptr{unix.AF_UNIX, unix.SOCK_DGRAM, 0}}
}

// socket allows TCP, UDP, ping, and questions about addresses. Landlock covers no other
// protocol: a connection of MPTCP, say, would reach a port that is closed to TCP.
func socket(unixSockets, tcpAlone bool) rule {
	var f filter
	domain := func(k uint32, protocols ...uint32) {
		var body filter
		body.arg(2)
		for _, p := range protocols {
			body.equal(p)
			body.allow()
		}
		body.refuse(unix.EPROTONOSUPPORT)
		f.add(unix.BPF_JMP|unix.BPF_JEQ, k, 0, uint8(len(body)))
		f = append(f, body...)
	}
	f.arg(0)
	if unixSockets {
		f.equal(unix.AF_UNIX)
		f.allow()
	}
	f.arg(1)
	f.anyOf(unix.SOCK_RDM) // and SOCK_SEQPACKET, which is SCTP where no protocol is named
	f.refuse(unix.EPROTONOSUPPORT)
	f.arg(0)
	if tcpAlone {
		var body filter
		body.arg(1)
		body.add(unix.BPF_ALU|unix.BPF_AND, 0xf, 0, 0)
		body.add(unix.BPF_JMP|unix.BPF_JEQ, unix.SOCK_STREAM, 1, 0)
		body.refuse(unix.EACCES)
		body.arg(0)
		for _, k := range []uint32{unix.AF_INET, unix.AF_INET6} {
			f.add(unix.BPF_JMP|unix.BPF_JEQ, k, 0, uint8(len(body)))
			f = append(f, body...)
		}
	}
	domain(unix.AF_INET, 0, unix.IPPROTO_TCP, unix.IPPROTO_UDP, unix.IPPROTO_ICMP)
	domain(unix.AF_INET6, 0, unix.IPPROTO_TCP, unix.IPPROTO_UDP, unix.IPPROTO_ICMPV6)
	domain(unix.AF_NETLINK, unix.NETLINK_ROUTE)
	f.refuse(unix.EAFNOSUPPORT)
	return rule{f, unix.EPROTONOSUPPORT, []uintptr{unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP}}
}

// enforce puts the calling thread, and what it becomes, under the filter.
func (f filter) enforce() error {
	prog := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(f)
	if errno != 0 {
		return fmt.Errorf("seccomp: %w", errno)
	}
	return nil
}
