package service

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/web/limit"
)

// SocketKind begins an address that is the path of a unix socket.
const SocketKind = "unix:"

// Listen listens at a TCP address, or at a unix socket. A socket that nobody serves any more is replaced; every user of the
// machine may connect, and the kernel says which one it is.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	var lc net.ListenConfig
	path, is := strings.CutPrefix(address, SocketKind)
	if !is {
		return lc.Listen(ctx, "tcp", address)
	}
	var d net.Dialer
	if c, err := d.DialContext(ctx, "unix", path); err == nil {
		_ = c.Close() // it was a look
		return nil, fmt.Errorf("%s is served already", path)
	}
	if at, err := os.Lstat(path); err == nil && at.Mode()&os.ModeSocket != 0 {
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	l, err := lc.Listen(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o666); err != nil { //nolint:gosec // rights are those of tokens, and of users who are named
		_ = l.Close()
		return nil, err
	}
	return l, nil
}

// withPeer marks the requests of a unix socket with the user who has connected.
func withPeer(ctx context.Context, c net.Conn) context.Context {
	if uid, ok := peerOf(c); ok {
		return limit.WithUser(ctx, uid)
	}
	return ctx
}
