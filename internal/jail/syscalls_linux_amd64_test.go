package jail

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Each system call of the kernel's table is named here, by what it takes: a new one has to be, before
// the table of golang.org/x/sys that has it can be used.
const (
	// What the filter refuses whatever the arguments are, and what it answers for by some of them.
	alwaysRefused = `ACCT ADD_KEY BPF CHROOT CLOCK_SETTIME CLONE3 DELETE_MODULE FANOTIFY_INIT FINIT_MODULE FSCONFIG FSMOUNT FSOPEN FSPICK
		INIT_MODULE IOPERM IOPL IO_URING_ENTER IO_URING_REGISTER IO_URING_SETUP KCMP KEXEC_FILE_LOAD KEXEC_LOAD KEYCTL LOOKUP_DCOOKIE MIGRATE_PAGES
		MODIFY_LDT MOUNT MOUNT_SETATTR MOVE_MOUNT MOVE_PAGES MQ_GETSETATTR MQ_NOTIFY MQ_OPEN MQ_TIMEDRECEIVE MQ_TIMEDSEND MQ_UNLINK MSGCTL MSGGET MSGRCV
		MSGSND NFSSERVCTL OPENAT2 OPEN_BY_HANDLE_AT OPEN_TREE OPEN_TREE_ATTR PERF_EVENT_OPEN PIDFD_GETFD PIVOT_ROOT PROCESS_MADVISE PROCESS_VM_READV
		PROCESS_VM_WRITEV PTRACE QUOTACTL QUOTACTL_FD REBOOT REQUEST_KEY SEMCTL SEMGET SEMOP SEMTIMEDOP SETDOMAINNAME SETHOSTNAME SETNS SETTIMEOFDAY
		SHMAT SHMCTL SHMDT SHMGET SWAPOFF SWAPON SYSLOG UMOUNT2 UNSHARE USERFAULTFD VHANGUP`
	byArguments = `CHMOD CLONE CREAT FCHMOD FCHMODAT FCHMODAT2 IOPRIO_SET MKDIR MKDIRAT MKNOD MKNODAT OPEN OPENAT PRLIMIT64
		SCHED_SETAFFINITY SCHED_SETATTR SCHED_SETPARAM SCHED_SETSCHEDULER SENDMMSG SENDMSG SENDTO SETPRIORITY SOCKET SOCKETPAIR`
	// These take a pid, or a descriptor of a process, but Landlock's scopes refuse the signals, ...
	signals = `FCNTL KILL PIDFD_SEND_SIGNAL RT_SIGQUEUEINFO RT_TGSIGQUEUEINFO TGKILL TKILL`
	// ... they only read, of others what /proc has too, or the kernel takes the caller's own and its children alone, ...
	readsOrOwn = `CLOCK_GETRES CLOCK_GETTIME CLOCK_NANOSLEEP GETPGID GETPRIORITY GETSID GET_ROBUST_LIST IOPRIO_GET PIDFD_OPEN PROCESS_MRELEASE
		SCHED_GETAFFINITY SCHED_GETATTR SCHED_GETPARAM SCHED_GETSCHEDULER SCHED_RR_GET_INTERVAL SETPGID TIMER_CREATE WAIT4 WAITID`
	// ... and these take a mode that is none of a file's, or a key that belongs to the process.
	otherModes = `ACCESS FACCESSAT FACCESSAT2 FALLOCATE PKEY_ALLOC PKEY_FREE PKEY_MPROTECT SET_MEMPOLICY SET_MEMPOLICY_HOME_NODE MBIND UMASK`
	// None of the three.
	neither = `READ WRITE CLOSE STAT FSTAT LSTAT POLL LSEEK MMAP MPROTECT MUNMAP BRK RT_SIGACTION RT_SIGPROCMASK RT_SIGRETURN IOCTL
		PREAD64 PWRITE64 READV WRITEV PIPE SELECT SCHED_YIELD MREMAP MSYNC MINCORE MADVISE DUP DUP2 PAUSE NANOSLEEP GETITIMER ALARM SETITIMER GETPID
		SENDFILE CONNECT ACCEPT RECVFROM RECVMSG SHUTDOWN BIND LISTEN GETSOCKNAME GETPEERNAME SETSOCKOPT GETSOCKOPT FORK VFORK EXECVE EXIT UNAME FLOCK
		FSYNC FDATASYNC TRUNCATE FTRUNCATE GETDENTS GETCWD CHDIR FCHDIR RENAME RMDIR LINK UNLINK SYMLINK READLINK CHOWN FCHOWN LCHOWN GETTIMEOFDAY
		GETRLIMIT GETRUSAGE SYSINFO TIMES GETUID GETGID SETUID SETGID GETEUID GETEGID GETPPID GETPGRP SETSID SETREUID SETREGID GETGROUPS SETGROUPS
		SETRESUID GETRESUID SETRESGID GETRESGID SETFSUID SETFSGID CAPGET CAPSET RT_SIGPENDING RT_SIGTIMEDWAIT RT_SIGSUSPEND SIGALTSTACK UTIME USELIB
		PERSONALITY USTAT STATFS FSTATFS SYSFS SCHED_GET_PRIORITY_MAX SCHED_GET_PRIORITY_MIN MLOCK MUNLOCK MLOCKALL MUNLOCKALL _SYSCTL PRCTL
		ARCH_PRCTL ADJTIMEX SETRLIMIT SYNC CREATE_MODULE GET_KERNEL_SYMS QUERY_MODULE GETPMSG PUTPMSG AFS_SYSCALL TUXCALL SECURITY GETTID READAHEAD
		SETXATTR LSETXATTR FSETXATTR GETXATTR LGETXATTR FGETXATTR LISTXATTR LLISTXATTR FLISTXATTR REMOVEXATTR LREMOVEXATTR FREMOVEXATTR TIME FUTEX
		SET_THREAD_AREA IO_SETUP IO_DESTROY IO_GETEVENTS IO_SUBMIT IO_CANCEL GET_THREAD_AREA EPOLL_CREATE EPOLL_CTL_OLD EPOLL_WAIT_OLD
		REMAP_FILE_PAGES GETDENTS64 SET_TID_ADDRESS RESTART_SYSCALL FADVISE64 TIMER_SETTIME TIMER_GETTIME TIMER_GETOVERRUN TIMER_DELETE EXIT_GROUP
		EPOLL_WAIT EPOLL_CTL UTIMES VSERVER GET_MEMPOLICY INOTIFY_INIT INOTIFY_ADD_WATCH INOTIFY_RM_WATCH FCHOWNAT FUTIMESAT NEWFSTATAT UNLINKAT
		RENAMEAT LINKAT SYMLINKAT READLINKAT PSELECT6 PPOLL SET_ROBUST_LIST SPLICE TEE SYNC_FILE_RANGE VMSPLICE UTIMENSAT EPOLL_PWAIT SIGNALFD
		TIMERFD_CREATE EVENTFD TIMERFD_SETTIME TIMERFD_GETTIME ACCEPT4 SIGNALFD4 EVENTFD2 EPOLL_CREATE1 DUP3 PIPE2 INOTIFY_INIT1 PREADV PWRITEV
		RECVMMSG FANOTIFY_MARK NAME_TO_HANDLE_AT CLOCK_ADJTIME SYNCFS GETCPU RENAMEAT2 SECCOMP GETRANDOM MEMFD_CREATE EXECVEAT MEMBARRIER MLOCK2
		COPY_FILE_RANGE PREADV2 PWRITEV2 STATX IO_PGETEVENTS RSEQ URETPROBE UPROBE CLOSE_RANGE EPOLL_PWAIT2 LANDLOCK_CREATE_RULESET
		LANDLOCK_ADD_RULE LANDLOCK_RESTRICT_SELF MEMFD_SECRET FUTEX_WAITV CACHESTAT MAP_SHADOW_STACK FUTEX_WAKE FUTEX_WAIT FUTEX_REQUEUE STATMOUNT
		LISTMOUNT LSM_GET_SELF_ATTR LSM_SET_SELF_ATTR LSM_LIST_MODULES MSEAL SETXATTRAT GETXATTRAT LISTXATTRAT REMOVEXATTRAT FILE_GETATTR
		FILE_SETATTR LISTNS RSEQ_SLICE_YIELD`
)

// verdict returns what the kernel's filter machine makes of a call.
func (f filter) verdict(t *testing.T, nr uint32, args [6]uint32) uint32 {
	t.Helper()
	var acc uint32
	for at := 0; at < len(f); at++ {
		in, holds := f[at], false
		switch in.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			if acc = map[uint32]uint32{atNumber: nr, atArch: auditArch}[in.K]; in.K >= atArgs {
				acc = args[(in.K-atArgs)/8]
			}
			continue
		case unix.BPF_ALU | unix.BPF_AND:
			acc &= in.K
			continue
		case unix.BPF_RET:
			return in.K
		case unix.BPF_JMP | unix.BPF_JEQ:
			holds = acc == in.K
		case unix.BPF_JMP | unix.BPF_JSET:
			holds = acc&in.K != 0
		case unix.BPF_JMP | unix.BPF_JGE:
			holds = acc >= in.K
		default:
			t.Fatalf("no such instruction here: %+v", in)
		}
		if holds {
			at += int(in.Jt)
		} else {
			at += int(in.Jf)
		}
	}
	t.Fatal("the filter ends without a verdict")
	return 0
}

func TestEverySystemCallIsNamed(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile(os.Getenv("JAILTEST_CALLS"))
	require.NoError(t, err)
	var calls []string
	numbers := map[string]uint32{}
	for _, m := range regexp.MustCompile(`SYS_([A-Z0-9_]+)\s+= (\d+)`).FindAllStringSubmatch(string(source), -1) {
		n, err := strconv.ParseUint(m[2], 10, 32)
		require.NoError(t, err)
		calls, numbers[m[1]] = append(calls, m[1]), uint32(n)
	}
	require.Greater(t, len(calls), 350)
	var named []string
	for _, list := range []string{alwaysRefused, byArguments, signals, readsOrOwn, otherModes, neither} {
		named = append(named, strings.Fields(list)...)
	}
	require.ElementsMatch(t, calls, named, "name it as refused, argument-checked or harmless")

	f := program(false, false, false)
	for _, name := range slices.Sorted(maps.Keys(numbers)) {
		verdicts := map[uint32]bool{}
		const all = 0xffffffff
		for _, args := range [][6]uint32{{}, {1}, {unix.AF_INET, unix.SOCK_STREAM}, {0, unix.SOCK_DGRAM}, {all, all, all, all, all, all}, {2: setID, 3: setID}, {1: setID | unix.O_CREAT, 2: setID}} {
			verdicts[f.verdict(t, numbers[name], args)] = true
		}
		allows := verdicts[unix.SECCOMP_RET_ALLOW]
		refuses := len(verdicts) > 1 || !allows
		require.Equal(t, slices.Contains(strings.Fields(alwaysRefused), name), refuses && !allows, "%s is refused whatever its arguments are", name)
		require.Equal(t, slices.Contains(strings.Fields(byArguments), name), refuses && allows, "%s is refused by its arguments", name)
	}
}
