package egress

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/signalbox-dev/signalbox/internal/run"
)

// Bounds of the connections through a socket. What is behind it has closer ones.
const (
	socketConns = 256
	socketIdle  = time.Hour
)

// sockets are unix sockets that lead to ports of this machine's loopback, for a box with a
// network of its own.
type sockets struct {
	dir       string
	group     *run.Group
	listeners []net.Listener
}

func newSockets(log *slog.Logger) (*sockets, error) {
	dir, err := os.MkdirTemp("", "signalbox-out-") // a short name: those of sockets have 107 bytes at most
	if err != nil {
		return nil, err
	}
	return &sockets{dir: dir, group: run.New(context.Background(), log)}, nil
}

// lead makes the socket for a port.
func (s *sockets) lead(ctx context.Context, port uint16) (socket string, err error) {
	socket = filepath.Join(s.dir, strconv.Itoa(int(port)))
	l, err := (&net.ListenConfig{}).Listen(ctx, "unix", socket)
	if err != nil {
		return "", fmt.Errorf("%w (TMPDIR has to be short)", err)
	}
	s.listeners = append(s.listeners, l)
	s.group.Go("socket", func(ctx context.Context) {
		at := bounded{l, make(chan struct{}, socketConns)}
		for ctx.Err() == nil {
			if in, err := at.Accept(); err == nil {
				s.group.Go("relayed", func(ctx context.Context) { relayed(ctx, in, port, s.group.Go) })
			} else if errors.Is(err, net.ErrClosed) || run.Sleep(ctx, run.Real{}, 10*time.Millisecond) != nil {
				return
			}
		}
	})
	return socket, nil
}

func relayed(ctx context.Context, in net.Conn, port uint16, start func(string, func(context.Context))) {
	defer func() { _ = in.Close() }() // what was to be passed was
	out, err := (&net.Dialer{}).DialContext(ctx, "tcp4", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return
	}
	defer func() { _ = out.Close() }()
	defer context.AfterFunc(ctx, func() { _, _ = in.Close(), out.Close() })()
	both(in, out, eof{}, socketIdle, new(atomic.Int64), start)
}

// close ends the connections, and removes the sockets.
func (s *sockets) close() error {
	for _, l := range s.listeners {
		_ = l.Close() // nothing is owed to anybody
	}
	s.group.Stop()
	return os.RemoveAll(s.dir)
}
