package jail

import "golang.org/x/sys/unix"

const (
	auditArch = unix.AUDIT_ARCH_X86_64
	// otherABI is the first number of the x32 system calls, which are those of the table
	// under other numbers.
	otherABI = 0x40000000
)

// ofArch are refused system calls that only this architecture has.
func ofArch() []uint32 { return []uint32{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT} }

// modesOfArch are the checked ways to give a mode that only this architecture has.
func modesOfArch() []filter {
	return []filter{
		without(unix.SYS_CHMOD, 1, setID, unix.EPERM), without(unix.SYS_CREAT, 1, setID, unix.EPERM),
		without(unix.SYS_MKNOD, 1, setID, unix.EPERM), without(unix.SYS_MKDIR, 1, setID, unix.EPERM),
		opens(unix.SYS_OPEN, 1),
	}
}
