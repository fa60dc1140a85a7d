//go:build linux

package jail_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// scene is what an attacker finds; it lies below a directory of its own.
type scene struct {
	root    string // of all of it
	service int    // pid: the test
	victim  int    // pid of another process of the user, with the database open as 3
	port    int    // the service listens at
	free    int    // closed too, and nobody listens there
	name    string // of an abstract unix socket of the service
}

func (s scene) db() string   { return filepath.Join(s.root, "data/signalbox.db") }
func (s scene) own() string  { return filepath.Join(s.root, "data/git/work/a") }
func (s scene) home() string { return filepath.Join(s.root, "home") }

// proof is in every file that an attacker must not read.
const proof = "the service's own"

func environ(s scene) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "SUID=" + os.Getenv("SUID"), "ROOT=" + s.root, "SERVICE=" + strconv.Itoa(s.service), "VICTIM=" + strconv.Itoa(s.victim),
		"PORT=" + strconv.Itoa(s.port), "FREE=" + strconv.Itoa(s.free), "NAME=" + s.name,
	}
}

func sceneOf() scene {
	number := func(name string) int { n, _ := strconv.Atoi(os.Getenv(name)); return n }
	return scene{os.Getenv("ROOT"), number("SERVICE"), number("VICTIM"), number("PORT"), number("FREE"), os.Getenv("NAME")}
}

// Exit codes of an attacker.
const (
	succeeded = 40
	failed    = 41
)

// attack makes an attack in this process.
func attack(name string) int {
	for _, a := range attacks() {
		if a.name != name {
			continue
		}
		err := a.try(sceneOf())
		if err == nil {
			return succeeded
		}
		fmt.Println(err)
		return failed
	}
	return 2
}

// threat is one attack. Try returns nil when it has succeeded.
type threat struct {
	name string
	// control says that it succeeds without a jail, which the test proves; false where that
	// depends on the machine.
	control bool
	try     func(scene) error
}

func attacks() []threat {
	return append(append(onFiles(), onProcesses()...), append(onNetwork(), onKernel()...)...)
}

func onFiles() []threat {
	return []threat{
		{"read the database", true, func(s scene) error { return reads(s.db()) }},
		{"list the data directory", true, func(s scene) error { _, err := os.ReadDir(filepath.Join(s.root, "data")); return err }},
		{"read another task's checkout", true, func(s scene) error { return reads(filepath.Join(s.root, "data/git/work/b/main.go")) }},
		{"read another task's log", true, func(s scene) error { return reads(filepath.Join(s.root, "data/logs/task-2/001.out")) }},
		{"read another run's outbox", true, func(s scene) error { return reads(filepath.Join(s.root, "data/logs/task-1/outbox-2/review.md")) }},
		{"read a key in the service's HOME", true, func(s scene) error { return reads(filepath.Join(s.home(), ".ssh/id")) }},
		{"read the database by /proc/self/root", true, func(s scene) error { return reads("/proc/self/root" + s.db()) }},
		{"read the database by the service's root", true, func(s scene) error { return reads(fmt.Sprintf("/proc/%d/root%s", s.victim, s.db())) }},
		{"read the database by the victim's directory", true, func(s scene) error { return reads(fmt.Sprintf("/proc/%d/cwd/signalbox.db", s.victim)) }},
		{"read the database by the victim's open file", true, func(s scene) error { return reads(fmt.Sprintf("/proc/%d/fd/3", s.victim)) }},
		{"read through a link in the outbox", true, func(s scene) error {
			link := filepath.Join(s.root, "data/logs/task-1/outbox-1/report.md")
			return errors.Join(os.Symlink(s.db(), link), reads(link))
		}},
		{"read through a hard link", true, func(s scene) error {
			link := filepath.Join(s.own(), "link")
			return errors.Join(os.Link(s.db(), link), reads(link))
		}},
		{"move the database into the checkout", true, func(s scene) error { return os.Rename(s.db(), filepath.Join(s.own(), "db")) }},
		{"exchange a directory for the checkout's", true, func(s scene) error {
			return unix.Renameat2(unix.AT_FDCWD, filepath.Join(s.root, "data/git/work/b"), unix.AT_FDCWD, filepath.Join(s.own(), "src"), unix.RENAME_EXCHANGE)
		}},
		{"write the database", true, func(s scene) error { return writes(s.db(), os.O_WRONLY) }},
		{"truncate the database", true, func(s scene) error { return os.Truncate(s.db(), 0) }},
		{"remove the database", true, func(s scene) error { return os.Remove(s.db()) }},
		{"write an object of the mirror", true, func(s scene) error {
			return writes(filepath.Join(s.root, "data/git/mirrors/m.git/objects/aa"), os.O_WRONLY|os.O_CREATE)
		}},
		{"write a ref of the mirror", true, func(s scene) error {
			return writes(filepath.Join(s.root, "data/git/mirrors/m.git/refs"), os.O_WRONLY|os.O_CREATE)
		}},
		{"put a file into another run's outbox", true, func(s scene) error {
			return writes(filepath.Join(s.root, "data/logs/task-1/outbox-2/review.md"), os.O_WRONLY)
		}},
		{"leave a program in the service's HOME", true, func(s scene) error { return writes(filepath.Join(s.home(), ".bashrc"), os.O_WRONLY|os.O_CREATE) }},
		{"edit the record of a run", true, func(s scene) error { return writes(filepath.Join(s.root, "data/running/2.json"), os.O_WRONLY) }},
		{"make a device", false, func(s scene) error { return unix.Mknod(filepath.Join(s.own(), "disk"), unix.S_IFBLK|0o600, 8<<8) }},
		{"become root by a program that is set so", os.Getenv("SUID") != "", func(scene) error {
			out, err := exec.Command(os.Getenv("SUID"), "euid").Output()
			return errors.Join(err, must(string(out) == "0", "euid "+string(out)))
		}},
	}
}

func onProcesses() []threat {
	return []threat{
		{"read the service's environment", true, func(s scene) error {
			body, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", s.service))
			return errors.Join(err, must(strings.Contains(string(body), "PATH="), "nothing there"))
		}},
		{"open the service's memory", true, func(s scene) error {
			f, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", s.victim), os.O_RDWR, 0)
			if err == nil {
				_ = f.Close()
			}
			return err
		}},
		{"trace a process", true, func(s scene) error { return syscall.PtraceAttach(s.victim) }},
		{"read a process's memory", false, func(s scene) error {
			buf := make([]byte, 8)
			local := []unix.Iovec{{Base: &buf[0], Len: 8}}
			_, err := unix.ProcessVMReadv(s.victim, local, []unix.RemoteIovec{{Base: mapped(s.victim), Len: 8}}, 0)
			return err
		}},
		{"take an open file from a process", true, func(s scene) error {
			fd, err := unix.PidfdOpen(s.victim, 0)
			if err == nil {
				_, err = unix.PidfdGetfd(fd, 3, 0)
			}
			return err
		}},
		{"kill a process", true, func(s scene) error { return unix.Kill(s.victim, unix.SIGKILL) }},
		{"kill a thread", true, func(s scene) error { return unix.Tgkill(s.victim, s.victim, unix.SIGKILL) }},
		{"kill by a descriptor", true, func(s scene) error {
			fd, err := unix.PidfdOpen(s.victim, 0)
			return errors.Join(err, unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0))
		}},
		{"signal the service", true, func(s scene) error { return unix.Kill(s.service, 0) }},
		{"signal the shim", true, func(scene) error { return unix.Kill(os.Getppid(), 0) }},
		{"kill by a file that becomes readable", true, func(s scene) error {
			var p [2]int
			if err := unix.Pipe(p[:]); err != nil {
				return err
			}
			for cmd, arg := range map[int]int{unix.F_SETSIG: int(unix.SIGKILL), unix.F_SETOWN: s.victim} {
				if _, err := unix.FcntlInt(uintptr(p[0]), cmd, arg); err != nil {
					return err
				}
			}
			if _, err := unix.FcntlInt(uintptr(p[0]), unix.F_SETFL, unix.O_ASYNC); err != nil {
				return err
			}
			_, _ = unix.Write(p[1], []byte("x"))
			time.Sleep(50 * time.Millisecond)
			stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.victim))
			return must(len(stat) == 0 || strings.Contains(string(stat), ") Z "), "it lives")
		}},
		{"take a process's right to open files", true, func(s scene) error { return unix.Prlimit(s.victim, unix.RLIMIT_NOFILE, &unix.Rlimit{}, nil) }},
	}
}

// mapped is an address that a process has.
func mapped(pid int) uintptr {
	maps, _ := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	low, _, _ := strings.Cut(string(maps), "-")
	at, _ := strconv.ParseUint(low, 16, 64)
	return uintptr(at)
}

func onNetwork() []threat {
	return []threat{
		{"connect to the service", true, func(s scene) error { return dial(unix.AF_INET, 0, s.port) }},
		{"connect to the service by IPv6", true, func(s scene) error { return dial(unix.AF_INET6, 0, s.port) }},
		{"connect to the service by MPTCP", false, func(s scene) error { return dial(unix.AF_INET, unix.IPPROTO_MPTCP, s.port) }},
		{"connect to the service by Fast Open", true, func(s scene) error {
			fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
			if err != nil {
				return err
			}
			return unix.Sendto(fd, []byte("GET / HTTP/1.0\r\n\r\n"), unix.MSG_FASTOPEN, &unix.SockaddrInet4{Port: s.port, Addr: [4]byte{127, 0, 0, 1}})
		}},
		{"listen in the service's place", true, func(s scene) error {
			l, err := net.Listen("tcp4", "127.0.0.1:"+strconv.Itoa(s.free))
			if err == nil {
				_ = l.Close()
			}
			return err
		}},
		{"connect to an abstract socket", true, func(s scene) error { return dialUnix("@" + s.name) }},
		{"connect to a socket", true, func(s scene) error { return dialUnix(filepath.Join(s.root, "socket")) }},
		{"send to a socket by a pair", true, func(s scene) error {
			pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
			if err != nil {
				return err
			}
			return unix.Sendto(pair[0], []byte("x"), 0, &unix.SockaddrUnix{Name: filepath.Join(s.root, "datagrams")})
		}},
		{"open a raw socket", false, func(scene) error { _, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0); return err }},
		{"reach the virtual machine's host", false, func(scene) error { _, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0); return err }},
	}
}

func onKernel() []threat {
	call := func(nr, a, b, c uintptr) error {
		if _, _, errno := unix.Syscall(nr, a, b, c); errno != 0 {
			return errno
		}
		return nil
	}
	// Without rights the kernel refuses these with other errors than the filter's, or not.
	filtered := func(nr uintptr, want unix.Errno) func(scene) error {
		return func(scene) error {
			if err := call(nr, ^uintptr(0), 0, 0); errors.Is(err, want) {
				return err
			}
			return nil
		}
	}
	return []threat{
		{"mount", false, func(s scene) error { return unix.Mount("none", s.own(), "tmpfs", 0, "") }},
		{"make a user namespace", false, func(scene) error {
			cmd := exec.Command("/bin/true")
			cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}
			return cmd.Run()
		}},
		{"leave for a user namespace", false, func(scene) error { return exec.Command("unshare", "-U", "/bin/true").Run() }},
		{"io_uring", true, filtered(unix.SYS_IO_URING_SETUP, unix.ENOSYS)},
		{"clone3", true, filtered(unix.SYS_CLONE3, unix.ENOSYS)},
		{"bpf", true, filtered(unix.SYS_BPF, unix.EPERM)},
		{"userfaultfd", true, filtered(unix.SYS_USERFAULTFD, unix.EPERM)},
		{"perf_event_open", false, filtered(unix.SYS_PERF_EVENT_OPEN, unix.EPERM)},
		{"open_by_handle_at", false, filtered(unix.SYS_OPEN_BY_HANDLE_AT, unix.EPERM)},
		{"kexec_load", false, filtered(unix.SYS_KEXEC_LOAD, unix.EPERM)},
		{"put a key into the user's keyring", true, func(scene) error {
			_, err := unix.AddKey("user", "signalbox", []byte("x"), unix.KEY_SPEC_PROCESS_KEYRING)
			return err
		}},
		{"use system calls of another kind", false, func(scene) error {
			_, _, errno := unix.RawSyscall(unix.SYS_GETPID|0x40000000, 0, 0, 0)
			return must(errno == 0, errno.Error())
		}},
		{"keep a right", false, func(scene) error {
			head, data := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, [2]unix.CapUserData{}
			if err := unix.Capget(&head, &data[0]); err != nil {
				return err
			}
			return must(data[0].Effective|data[0].Permitted|data[1].Permitted != 0, "there is none")
		}},
		{"leave a core", false, func(scene) error {
			var r unix.Rlimit
			return errors.Join(unix.Getrlimit(unix.RLIMIT_CORE, &r), must(r.Max > 0, "the limit is 0"))
		}},
	}
}

func must(is bool, else_ string) error {
	if is {
		return nil
	}
	return errors.New(else_)
}

func reads(name string) error {
	body, err := os.ReadFile(name)
	return errors.Join(err, must(strings.Contains(string(body), proof), "it says nothing"))
}

func writes(name string, flags int) error {
	f, err := os.OpenFile(name, flags, 0o600)
	if err == nil {
		err = f.Close()
	}
	return err
}

func dial(domain, protocol, port int) error {
	fd, err := unix.Socket(domain, unix.SOCK_STREAM, protocol)
	if err != nil {
		return err
	}
	if domain == unix.AF_INET {
		return unix.Connect(fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
	}
	at := &unix.SockaddrInet6{Port: port}
	copy(at.Addr[:], net.ParseIP("127.0.0.1").To16())
	return unix.Connect(fd, at)
}

func dialUnix(name string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	return unix.Connect(fd, &unix.SockaddrUnix{Name: name})
}
