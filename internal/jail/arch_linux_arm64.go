package jail

import "golang.org/x/sys/unix"

const (
	auditArch = unix.AUDIT_ARCH_AARCH64
	otherABI  = 0 // there is none
)

// ofArch are refused system calls that only this architecture has.
func ofArch() []uint32 { return nil }

func modesOfArch() []filter { return nil }
