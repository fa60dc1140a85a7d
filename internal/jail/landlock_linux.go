package jail

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// leastABI is the first version that covers moving, truncating and TCP.
const leastABI = 4

// Versions of Landlock that brought something.
const (
	abiDevices = 5 // ioctl of devices
	abiScopes  = 6 // signals, abstract unix sockets
)

// Rights of Landlock.
const (
	read    = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	devices = unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	write   = read | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_REFER |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK
	never   = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK
	ofFiles = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
		unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | devices
)

// landlockABI is the version of the kernel's Landlock; the error reports that it is too old or off.
func landlockABI() (int, error) {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	switch {
	case errno != 0:
		return 0, fmt.Errorf("the kernel has no Landlock, or it is switched off (lsm=): %w", errno)
	case abi < leastABI:
		return int(abi), fmt.Errorf("the kernel's Landlock is ABI %d, want at least %d (Linux 6.7): "+
			"older ones do not cover TCP ports", abi, leastABI)
	default:
		return int(abi), nil
	}
}

// ruleset is a set of rules that is being made.
type ruleset struct {
	fd   int
	mask uint64 // of the file rights that this kernel has
}

// portRule is the kernel's struct landlock_net_port_attr.
type portRule struct{ access, port uint64 }

const ruleOfPort = 2 // LANDLOCK_RULE_NET_PORT

// newRuleset turns a jail into the kernel's rules.
func newRuleset(j work.Jail, abi int) (r ruleset, err error) {
	attr := unix.LandlockRulesetAttr{
		Handled_access_fs: write | never, Handled_access_net: unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP,
	}
	size := unsafe.Offsetof(attr.Scoped)
	if abi >= abiDevices {
		attr.Handled_access_fs |= devices
	}
	if abi >= abiScopes {
		attr.Scoped, size = unix.LANDLOCK_SCOPE_SIGNAL|unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET, unsafe.Offsetof(attr.Quiet_access_fs)
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return r, fmt.Errorf("landlock_create_ruleset: %w", errno)
	}
	r = ruleset{fd: int(fd), mask: attr.Handled_access_fs}
	for _, name := range []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"} { // that every program may use
		err = errors.Join(err, r.path(name, read|unix.LANDLOCK_ACCESS_FS_WRITE_FILE|devices, 0))
	}
	for _, name := range j.Read {
		if away := r.path(name, read, 0); !errors.Is(away, os.ErrNotExist) && !errors.Is(away, os.ErrPermission) {
			err = errors.Join(err, away)
		}
	}
	for _, name := range j.Write { // a link could have been put there by an agent
		err = errors.Join(err, r.path(name, write, unix.O_NOFOLLOW))
	}
	return r, errors.Join(err, r.ports(j))
}

// path allows something beneath a file or directory.
func (r ruleset) path(name string, access uint64, flags int) error {
	fd, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC|flags, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: name, Err: err}
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return &os.PathError{Op: "stat", Path: name, Err: err}
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
	case unix.S_IFLNK:
		return &os.PathError{Op: "open", Path: name, Err: errors.New("is a symbolic link")}
	default:
		access &= ofFiles
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: access & r.mask, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE,
		uintptr(r.fd), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return &os.PathError{Op: "landlock_add_rule", Path: name, Err: errno}
	}
	return nil
}

// unprivileged is the first port that needs no privilege.
const unprivileged = 1024

// ports allows TCP ports. To take any free port is to take 0.
func (r ruleset) ports(j work.Jail) error {
	rules := []portRule{{unix.LANDLOCK_ACCESS_NET_BIND_TCP, 0}}
	for _, range_ := range j.Ports {
		for port := int(range_.First); port <= int(range_.Last); port++ {
			access := uint64(unix.LANDLOCK_ACCESS_NET_CONNECT_TCP)
			if port >= unprivileged {
				access |= unix.LANDLOCK_ACCESS_NET_BIND_TCP
			}
			if port > 0 && !slices.Contains(j.Closed, uint16(port)) {
				rules = append(rules, portRule{access, uint64(port)})
			}
		}
	}
	for i := range rules {
		_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), ruleOfPort, uintptr(unsafe.Pointer(&rules[i])), 0, 0, 0)
		if errno != 0 {
			return fmt.Errorf("landlock_add_rule of port %d: %w", rules[i].port, errno)
		}
	}
	runtime.KeepAlive(rules)
	return nil
}

// enforce puts the calling thread, and what it becomes, under the rules. It must have
// given up new privileges.
func (r ruleset) enforce() error {
	if r.fd < 0 {
		return nil // this kernel has none
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(r.fd), 0, 0); errno != 0 {
		return fmt.Errorf("landlock_restrict_self: %w", errno)
	}
	return unix.Close(r.fd)
}
