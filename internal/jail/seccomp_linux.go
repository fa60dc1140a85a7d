package jail

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Offsets in the kernel's struct seccomp_data, on which a filter is run.
const (
	atNumber = 0
	atArch   = 4
	atArgs   = 16
)

// refused are system calls that no agent needs and that reach around Landlock, into the
// kernel, or into the processes of the same user.
func refused() []uint32 {
	return append([]uint32{
		unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE,
		unix.SYS_PIDFD_GETFD, unix.SYS_KCMP,
		unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, // the keyring belongs to the user
		unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_CHROOT, unix.SYS_PIVOT_ROOT, // a new user namespace brings every capability
		unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE,
		unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK,
		unix.SYS_MOUNT_SETATTR, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_FANOTIFY_INIT,
		unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_LOOKUP_DCOOKIE,
		unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_REBOOT,
		unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD,
		unix.SYS_SYSLOG, unix.SYS_VHANGUP, unix.SYS_NFSSERVCTL, unix.SYS_OPEN_TREE_ATTR,
		unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK, unix.SYS_MQ_TIMEDSEND, unix.SYS_MQ_TIMEDRECEIVE,
		unix.SYS_MQ_NOTIFY, unix.SYS_MQ_GETSETATTR,
		unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME,
		unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES,
	}, ofArch()...)
}

// shared are those of System V: what is made by them belongs to the user, is found by its number from
// every run, and outlives it. A box has a namespace of its own for them, in which a database's tests run.
func shared() []uint32 {
	return []uint32{
		unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMDT, unix.SYS_SHMCTL,
		unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL,
		unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL,
	}
}

// absent are system calls that programs do without when the kernel has none. io_uring
// reaches files and sockets past this filter; the flags of clone3 and the mode of openat2 lie in
// memory, where no filter looks, and programs take clone and openat then.
func absent() []uint32 {
	return []uint32{unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_CLONE3, unix.SYS_OPENAT2}
}

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
func (f *filter) join(rules ...filter) { // of one system call each; they end with a verdict
	for _, r := range rules {
		*f = append(*f, r...)
	}
}

// when is a part of a program for one system call.
func when(nr uint32, write func(*filter)) filter {
	var body, out filter
	write(&body)
	out.add(unix.BPF_JMP|unix.BPF_JEQ, nr, 0, uint8(len(body)))
	return append(out, body...)
}

// program is the filter: what it does not name is allowed. With tcpAlone sockets of the internet
// are of TCP.
func program(sockets, boxed, tcpAlone bool) filter {
	var f filter
	f.load(atArch)
	f.add(unix.BPF_JMP|unix.BPF_JEQ, auditArch, 1, 0)
	f.kill() // a 32-bit program, say: its numbers mean other things
	f.load(atNumber)
	if otherABI != 0 {
		f.atLeast(otherABI)
		f.refuse(unix.ENOSYS)
	}
	denied := refused()
	if !boxed {
		denied = append(denied, shared()...)
	}
	for _, nr := range denied {
		f.equal(nr)
		f.refuse(unix.EPERM)
	}
	for _, nr := range absent() {
		f.equal(nr)
		f.refuse(unix.ENOSYS)
	}
	f.join(modes()...)
	f.join(
		without(unix.SYS_CLONE, 0, namespaces, unix.EPERM),
		// Of another process of the user, the service among them; 0 is the caller.
		only(unix.SYS_PRLIMIT64, 0), only(unix.SYS_SETPRIORITY, unix.PRIO_PROCESS, 0),
		only(unix.SYS_SCHED_SETPARAM, 0), only(unix.SYS_SCHED_SETSCHEDULER, 0), only(unix.SYS_SCHED_SETATTR, 0),
		only(unix.SYS_SCHED_SETAFFINITY, 0), only(unix.SYS_IOPRIO_SET, ioprioProcess, 0),
		when(unix.SYS_SOCKET, func(f *filter) { f.socket(sockets, tcpAlone) }),
		when(unix.SYS_SOCKETPAIR, func(f *filter) { // a datagram one can send to any address
			f.arg(1)
			f.add(unix.BPF_ALU|unix.BPF_AND, 0xf, 0, 0)
			if !sockets {
				f.equal(unix.SOCK_DGRAM)
				f.refuse(unix.EPERM)
			}
			f.allow()
		}),
		// TCP Fast Open connects without Landlock being called.
		without(unix.SYS_SENDTO, 3, unix.MSG_FASTOPEN, unix.EOPNOTSUPP), without(unix.SYS_SENDMSG, 2, unix.MSG_FASTOPEN, unix.EOPNOTSUPP),
		without(unix.SYS_SENDMMSG, 3, unix.MSG_FASTOPEN, unix.EOPNOTSUPP),
	)
	f.allow()
	return f
}

// without refuses a system call when an argument has one of these bits.
func without(nr, arg, bits uint32, e unix.Errno) filter {
	return when(nr, func(f *filter) {
		f.arg(arg)
		f.anyOf(bits)
		f.refuse(e)
		f.allow()
	})
}

// only allows a system call when its first arguments are these.
func only(nr uint32, args ...uint32) filter {
	return when(nr, func(f *filter) {
		for n, want := range args {
			f.arg(uint32(n))
			f.add(unix.BPF_JMP|unix.BPF_JEQ, want, 1, 0)
			f.refuse(unix.EPERM)
		}
		f.allow()
	})
}

// ioprioProcess is the kernel's IOPRIO_WHO_PROCESS.
const ioprioProcess = 1

// Modes that give a program the rights of its owner or group, and the flags of open with which it takes a
// mode: else what is in the argument's place is anything.
const (
	setID = unix.S_ISUID | unix.S_ISGID
	makes = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY
)

// modes refuse what would let another user of the machine run a program as this one, outside of
// every jail.
func modes() []filter {
	list := []filter{
		without(unix.SYS_FCHMOD, 1, setID, unix.EPERM),
		without(unix.SYS_FCHMODAT, 2, setID, unix.EPERM), without(unix.SYS_FCHMODAT2, 2, setID, unix.EPERM),
		without(unix.SYS_MKNODAT, 2, setID, unix.EPERM), without(unix.SYS_MKDIRAT, 2, setID, unix.EPERM),
		opens(unix.SYS_OPENAT, 2),
	}
	return append(list, modesOfArch()...)
}

// opens is for a way to open files, whose flags are this argument, and the mode the next one.
func opens(nr, flags uint32) filter {
	return when(nr, func(f *filter) {
		f.arg(flags)
		f.add(unix.BPF_JMP|unix.BPF_JSET, makes, 1, 0)
		f.allow()
		f.arg(flags + 1)
		f.anyOf(setID)
		f.refuse(unix.EPERM)
		f.allow()
	})
}

// socket allows TCP, UDP, ping, and questions about addresses. Landlock covers no other
// protocol: a connection of MPTCP, say, would reach a port that is closed to TCP.
func (f *filter) socket(unixSockets, tcpAlone bool) {
	domain := func(k uint32, protocols ...uint32) {
		var body filter
		body.arg(2)
		for _, p := range protocols {
			body.equal(p)
			body.allow()
		}
		body.refuse(unix.EPROTONOSUPPORT)
		f.add(unix.BPF_JMP|unix.BPF_JEQ, k, 0, uint8(len(body)))
		*f = append(*f, body...)
	}
	f.arg(0)
	if unixSockets {
		f.equal(unix.AF_UNIX)
		f.allow()
	}
	if tcpAlone {
		var body filter
		body.arg(1)
		body.add(unix.BPF_ALU|unix.BPF_AND, 0xf, 0, 0)
		body.add(unix.BPF_JMP|unix.BPF_JEQ, unix.SOCK_STREAM, 1, 0)
		body.refuse(unix.EACCES)
		body.arg(0)
		for _, k := range []uint32{unix.AF_INET, unix.AF_INET6} {
			f.add(unix.BPF_JMP|unix.BPF_JEQ, k, 0, uint8(len(body)))
			*f = append(*f, body...)
		}
	}
	domain(unix.AF_INET, 0, unix.IPPROTO_TCP, unix.IPPROTO_UDP, unix.IPPROTO_ICMP)
	domain(unix.AF_INET6, 0, unix.IPPROTO_TCP, unix.IPPROTO_UDP, unix.IPPROTO_ICMPV6)
	domain(unix.AF_NETLINK, unix.NETLINK_ROUTE)
	f.refuse(unix.EAFNOSUPPORT)
}

// enforce puts the calling thread, and what it becomes, under the filter.
func (f filter) enforce() error {
	if auditArch == 0 {
		return errors.New("the numbers of this machine's system calls are not known here, want amd64 or arm64: " + runtime.GOARCH)
	}
	prog := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(f)
	if errno != 0 {
		return fmt.Errorf("seccomp: %w", errno)
	}
	return nil
}
