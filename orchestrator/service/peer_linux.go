package service

import (
	"net"
	"syscall"
)

// peerOf returns the user at the other end of a unix socket; false: it is none, or the kernel does not say.
func peerOf(c net.Conn) (uid uint32, ok bool) {
	u, is := c.(*net.UnixConn)
	if !is {
		return 0, false
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return 0, false
	}
	var cred *syscall.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) {
		cred, failed = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if err != nil || failed != nil {
		return 0, false
	}
	return cred.Uid, true
}
