package attack

import (
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// All are the attacks, in the order of reports.
func All() []Attack {
	var all []Attack
	for _, some := range [][]Attack{
		onTheService(), onFiles(), onModes(), onProcesses(), onPriorities(), onNetwork(), onKernel(), onCalls(), onWhatLandlockShows(),
	} {
		all = append(all, some...)
	}
	return all
}

// onWhatLandlockShows aims at what Landlock does not hide.
func onWhatLandlockShows() []Attack {
	return []Attack{
		{"change the mode of the database", Namespaces, true, func(s Scene) error { return os.Chmod(s.DB(), 0o640) }},
		{"set the time of the database", Namespaces, true, func(s Scene) error {
			return os.Chtimes(s.DB(), time.Unix(1, 0), time.Unix(1, 0))
		}},
		{"see the size of the database", Namespaces, true, func(s Scene) error { _, err := os.Stat(s.DB()); return err }},
		{"see a process's command line", Namespaces, true, func(s Scene) error {
			body, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", s.Victim))
			return errors.Join(err, must(strings.Contains(string(body), "sleep"), "nothing there"))
		}},
		{"see the service's open connections", Namespaces, true, func(s Scene) error {
			_, err := os.Stat(fmt.Sprintf("/proc/%d/net/tcp", s.Service))
			return err
		}},
	}
}

// onTheService aims at what the scene is a copy of, and changes nothing that lasts.
func onTheService() []Attack {
	return []Attack{
		{"open the database of this service", Files, true, func(s Scene) error {
			if s.Live.Database == "" {
				return ErrNotHere
			}
			return writes(s.Live.Database, os.O_RDONLY)
		}},
		{"list the data directory of this service", Files, true, func(s Scene) error { return lists(s.Live.Data) }},
		{"put a file into the data directory of this service", Files, true, func(s Scene) error {
			if s.Live.Data == "" {
				return ErrNotHere
			}
			f, err := os.CreateTemp(s.Live.Data, "attack-")
			if err == nil {
				err = errors.Join(f.Close(), os.Remove(f.Name()))
			}
			return err
		}},
		{"list the checkouts of this service", Files, true, func(s Scene) error {
			if s.Live.Data == "" {
				return ErrNotHere
			}
			return lists(filepath.Join(s.Live.Data, "git/work"))
		}},
		{"list the HOME of this service", Files, true, func(s Scene) error { return lists(s.Live.Home) }},
		{"connect to the ports of this service", TCP, true, func(s Scene) error {
			if len(s.Live.Ports) == 0 {
				return ErrNotHere
			}
			var refused error
			for _, port := range s.Live.Ports {
				err := dial(unix.AF_INET, 0, port)
				if err == nil || errors.Is(err, unix.ECONNREFUSED) { // nobody listens, and nothing was in the way
					return nil
				}
				refused = errors.Join(refused, err)
			}
			return refused
		}},
	}
}

func lists(dir string) error {
	if dir == "" {
		return ErrNotHere
	}
	_, err := os.ReadDir(dir)
	return err
}

func onFiles() []Attack {
	return []Attack{
		{"read the database", Files, true, readsBelow("data/signalbox.db")},
		{"list the data directory", Files, true, func(s Scene) error { _, err := os.ReadDir(filepath.Join(s.Root, "data")); return err }},
		{"read another task's checkout", Files, true, readsBelow("data/git/work/b/main.go")},
		{"read another task's log", Files, true, readsBelow("data/logs/task-2/001.out")},
		{"read another run's outbox", Files, true, readsBelow("data/logs/task-1/outbox-2/review.md")},
		{"read a key in the service's HOME", Files, true, readsBelow("home/.ssh/id")},
		{"read the database by /proc/self/root", Files, true, func(s Scene) error { return reads("/proc/self/root" + s.DB()) }},
		{"read the database by the service's root", Files, true, func(s Scene) error {
			return reads(fmt.Sprintf("/proc/%d/root%s", s.Victim, s.DB()))
		}},
		{"read the database by the victim's directory", Files, true, func(s Scene) error {
			return reads(fmt.Sprintf("/proc/%d/cwd/signalbox.db", s.Victim))
		}},
		{"read the database by the victim's open file", Files, true, func(s Scene) error {
			return reads(fmt.Sprintf("/proc/%d/fd/3", s.Victim))
		}},
		{"read an open file of the service's start", Limits, true, func(s Scene) error {
			body := make([]byte, len(proof))
			_, err := os.NewFile(uintptr(s.Open), "").ReadAt(body, 0)
			return errors.Join(err, must(string(body) == proof, "it says something else"))
		}},
		{"read through a link in the outbox", Files, true, func(s Scene) error {
			link := filepath.Join(s.Root, "data/logs/task-1/outbox-1/report.md")
			return errors.Join(os.Symlink(s.DB(), link), reads(link))
		}},
		{"read through a hard link", Files, true, func(s Scene) error {
			link := filepath.Join(s.Own(), "link")
			return errors.Join(os.Link(s.DB(), link), reads(link))
		}},
		{"move the database into the checkout", Files, true, func(s Scene) error {
			return os.Rename(s.DB(), filepath.Join(s.Own(), "db"))
		}},
		{"exchange a directory for the checkout's", Files, true, func(s Scene) error {
			theirs, ours := filepath.Join(s.Root, "data/git/work/b"), filepath.Join(s.Own(), "src")
			return unix.Renameat2(unix.AT_FDCWD, theirs, unix.AT_FDCWD, ours, unix.RENAME_EXCHANGE)
		}},
		{"write the database", Files, true, func(s Scene) error { return writes(s.DB(), os.O_WRONLY) }},
		{"truncate the database", Files, true, func(s Scene) error { return os.Truncate(s.DB(), 0) }},
		{"remove the database", Files, true, func(s Scene) error { return os.Remove(s.DB()) }},
		{"write an object of the mirror", Files, true, writesBelow("data/git/mirrors/m.git/objects/aa", os.O_WRONLY|os.O_CREATE)},
		{"write a ref of the mirror", Files, true, writesBelow("data/git/mirrors/m.git/refs", os.O_WRONLY|os.O_CREATE)},
		{"put a file into another run's outbox", Files, true, writesBelow("data/logs/task-1/outbox-2/review.md", os.O_WRONLY)},
		{"leave a program in the service's HOME", Files, true, writesBelow("home/.bashrc", os.O_WRONLY|os.O_CREATE)},
		{"edit the record of a run", Files, true, writesBelow("data/running/2.json", os.O_WRONLY)},
		{"make a device", Privileges, false, func(s Scene) error {
			return unix.Mknod(filepath.Join(s.Own(), "disk"), unix.S_IFBLK|0o600, 8<<8)
		}},
		{"become root by a program that is set so", Privileges, true, func(s Scene) error {
			if s.SUID == "" {
				return ErrNotHere
			}
			out, err := exec.Command(s.SUID, "euid").Output()
			return errors.Join(err, must(string(out) == "0", "euid "+string(out)))
		}},
	}
}

func onProcesses() []Attack {
	return []Attack{
		{"read the service's environment", Files, true, func(s Scene) error {
			body, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", s.Service))
			return errors.Join(err, must(strings.Contains(string(body), "PATH="), "nothing there"))
		}},
		{"open the service's memory", Files, true, func(s Scene) error {
			f, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", s.Victim), os.O_RDWR, 0)
			if err == nil {
				_ = f.Close()
			}
			return err
		}},
		{"trace a process", Seccomp, true, func(s Scene) error { return syscall.PtraceAttach(s.Victim) }},
		{"read a process's memory", Seccomp, false, func(s Scene) error {
			buf := make([]byte, 8)
			local := []unix.Iovec{{Base: &buf[0], Len: 8}}
			_, err := unix.ProcessVMReadv(s.Victim, local, []unix.RemoteIovec{{Base: mapped(s.Victim), Len: 8}}, 0)
			return err
		}},
		{"take an open file from a process", Seccomp, true, func(s Scene) error {
			fd, err := unix.PidfdOpen(s.Victim, 0)
			if err == nil {
				_, err = unix.PidfdGetfd(fd, 3, 0)
			}
			return err
		}},
		{"read a token in an anonymous file", Files, true, func(s Scene) error { return reads(fmt.Sprintf("/proc/%d/fd/4", s.Victim)) }},
		{"kill a process", Scopes, true, func(s Scene) error { return unix.Kill(s.Victim, unix.SIGKILL) }},
		{"kill a thread", Scopes, true, func(s Scene) error { return unix.Tgkill(s.Victim, s.Victim, unix.SIGKILL) }},
		{"kill by a descriptor", Scopes, true, func(s Scene) error {
			fd, err := unix.PidfdOpen(s.Victim, 0)
			return errors.Join(err, unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0))
		}},
		{"signal the service", Scopes, true, func(s Scene) error { return unix.Kill(s.Service, 0) }},
		{"signal the shim", Scopes, true, func(Scene) error { return unix.Kill(os.Getppid(), 0) }},
		{"kill by a file that becomes readable", Scopes, true, func(s Scene) error {
			var p [2]int
			if err := unix.Pipe(p[:]); err != nil {
				return err
			}
			for cmd, arg := range map[int]int{unix.F_SETSIG: int(unix.SIGKILL), unix.F_SETOWN: s.Victim} {
				if _, err := unix.FcntlInt(uintptr(p[0]), cmd, arg); err != nil {
					return err
				}
			}
			if _, err := unix.FcntlInt(uintptr(p[0]), unix.F_SETFL, unix.O_ASYNC); err != nil {
				return err
			}
			_, _ = unix.Write(p[1], []byte("x"))
			time.Sleep(50 * time.Millisecond)
			stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.Victim))
			return must(len(stat) == 0 || strings.Contains(string(stat), ") Z "), "it lives")
		}},
		{"take a process's right to open files", Seccomp, true, func(s Scene) error {
			return unix.Prlimit(s.Victim, unix.RLIMIT_NOFILE, &unix.Rlimit{}, nil)
		}},
	}
}

// onPriorities have the service wait for everybody, for ever: a process without rights cannot go back.
func onPriorities() []Attack {
	return []Attack{
		{"lower a process's priority", Seccomp, true, func(s Scene) error { return unix.Setpriority(unix.PRIO_PROCESS, s.Victim, 19) }},
		{"schedule a process when the machine is idle", Seccomp, true, func(s Scene) error {
			return call(unix.SYS_SCHED_SETSCHEDULER, uintptr(s.Victim), unix.SCHED_IDLE, uintptr(unsafe.Pointer(new(int32))))
		}},
		{"keep a process on some processors", Seccomp, true, func(s Scene) error {
			var set unix.CPUSet
			return errors.Join(unix.SchedGetaffinity(0, &set), unix.SchedSetaffinity(s.Victim, &set))
		}},
		{"have a process's disk wait", Seccomp, true, func(s Scene) error {
			return call(unix.SYS_IOPRIO_SET, 1, uintptr(s.Victim), 3<<13)
		}},
	}
}

// mapped is an address that a process has.
func mapped(pid int) uintptr {
	maps, _ := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	low, _, _ := strings.Cut(string(maps), "-")
	at, _ := strconv.ParseUint(low, 16, 64)
	return uintptr(at)
}

func onNetwork() []Attack {
	return []Attack{
		{"connect to the service", TCP, true, func(s Scene) error { return dial(unix.AF_INET, 0, s.Port) }},
		{"connect to the service by IPv6", TCP, true, func(s Scene) error { return dial(unix.AF_INET6, 0, s.Port) }},
		{"connect to the service by MPTCP", Seccomp, false, func(s Scene) error { return dial(unix.AF_INET, unix.IPPROTO_MPTCP, s.Port) }},
		{"connect to the service by Fast Open", Seccomp, true, func(s Scene) error {
			fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
			if err != nil {
				return err
			}
			to := unix.SockaddrInet4{Port: s.Port, Addr: [4]byte{127, 0, 0, 1}}
			return unix.Sendto(fd, []byte("GET / HTTP/1.0\r\n\r\n"), unix.MSG_FASTOPEN, &to)
		}},
		{"listen in the service's place", TCP, true, func(s Scene) error {
			l, err := net.Listen("tcp4", "127.0.0.1:"+strconv.Itoa(s.Free))
			if err == nil {
				_ = l.Close()
			}
			return err
		}},
		{"connect to an abstract socket", Seccomp, true, func(s Scene) error { return dialUnix("@" + s.Name) }},
		{"connect to a socket", Seccomp, true, func(s Scene) error { return dialUnix(filepath.Join(s.Sockets, "socket")) }},
		{"send to a socket by a pair", Seccomp, true, func(s Scene) error {
			pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_RAW, 0) // of datagrams as well, to the kernel
			if err != nil {
				return err
			}
			return unix.Sendto(pair[0], []byte("x"), 0, &unix.SockaddrUnix{Name: filepath.Join(s.Sockets, "datagrams")})
		}},
		{"open a raw socket", Seccomp, false, func(Scene) error { _, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0); return err }},
		{"reach the virtual machine's host", Seccomp, false, func(Scene) error {
			_, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)
			return err
		}},
	}
}

func call(nr, a, b, c uintptr) error {
	if _, _, errno := unix.Syscall(nr, a, b, c); errno != 0 {
		return errno
	}
	return nil
}

func onKernel() []Attack {
	return []Attack{
		{"mount", Seccomp, false, func(s Scene) error { return unix.Mount("none", s.Own(), "tmpfs", 0, "") }},
		{"make a user namespace", Seccomp, false, func(Scene) error {
			cmd := exec.Command("/bin/true")
			cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}
			return cmd.Run()
		}},
		{"leave for a user namespace", Seccomp, false, func(Scene) error { return exec.Command("unshare", "-U", "/bin/true").Run() }},
		{"put a key into the user's keyring", Seccomp, true, func(Scene) error {
			_, err := unix.AddKey("user", "signalbox", []byte("x"), unix.KEY_SPEC_PROCESS_KEYRING)
			return err
		}},
		{"use system calls of another kind", Seccomp, false, func(Scene) error {
			_, _, errno := unix.RawSyscall(unix.SYS_GETPID|0x40000000, 0, 0, 0)
			return must(errno == 0, errno.Error())
		}},
		{"keep a right", Privileges, false, func(Scene) error {
			head, data := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, [2]unix.CapUserData{}
			if err := unix.Capget(&head, &data[0]); err != nil {
				return err
			}
			return must(data[0].Effective|data[0].Permitted|data[1].Permitted != 0, "there is none")
		}},
		{"be spared when memory is short", Limits, true, func(Scene) error {
			body, err := os.ReadFile("/proc/self/oom_score_adj")
			return errors.Join(err, must(len(body) < len("500\n"), "it goes first: "+string(body)))
		}},
		{"fill the disk by one file", Limits, true, func(Scene) error {
			var r unix.Rlimit
			return errors.Join(unix.Getrlimit(unix.RLIMIT_FSIZE, &r), must(r.Max == math.MaxUint64, "there is a limit"))
		}},
		{"leave a core", Limits, false, func(Scene) error {
			var r unix.Rlimit
			return errors.Join(unix.Getrlimit(unix.RLIMIT_CORE, &r), must(r.Max > 0, "the limit is 0"))
		}},
	}
}
