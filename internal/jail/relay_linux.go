package jail

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/signalbox-dev/signalbox/internal/run"
)

// relay makes this process, which is in the box and not in the rest of the jail, the relay of
// its jail: until the program of the stage ends, which another process becomes, ports of the
// box's loopback lead to sockets outside. It returns the program's exit code.
func (s Stage) relay() (int, error) {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil { // its memory and files are nobody else's
		return 0, err
	}
	signal.Ignore(syscall.SIGTERM) // as the box does: it ends after the program
	g := run.New(context.Background(), nil)
	for _, r := range s.Jail.Relays {
		l, err := (&net.ListenConfig{}).Listen(g.Context(), "tcp4", fmt.Sprintf("127.0.0.1:%d", r.Port))
		if err != nil {
			return 0, fmt.Errorf("the way out at port %d: %w", r.Port, err)
		}
		g.Go("relay", func(context.Context) { relayAll(g, l, r.Socket) })
	}
	s.Jail.Relays, s.Jail.Cgroup = nil, "" // the group is that of the whole box
	p, err := Start(s, &os.ProcAttr{Files: []*os.File{nil, os.Stdout, os.Stderr}, Env: os.Environ()})
	if err != nil {
		return 0, err
	}
	state, err := p.Wait()
	if err != nil {
		return 0, err
	}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal()), nil
	}
	return state.ExitCode(), nil // the tunnels end with this process
}

// relayMax is how many connections a relay has at a time; the proxy behind it has fewer.
const relayMax = 256

func relayAll(g *run.Group, l net.Listener, socket string) {
	places := make(chan struct{}, relayMax)
	for {
		places <- struct{}{}
		in, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // it has run out of files, or the connection has ended already
			<-places
			_ = run.Sleep(g.Context(), run.Real{}, 10*time.Millisecond)
			continue
		}
		g.Go("tunnel", func(context.Context) {
			defer func() { <-places }()
			defer func() { _ = in.Close() }()
			out, err := (&net.Dialer{}).DialContext(g.Context(), "unix", socket)
			if err != nil {
				return
			}
			defer func() { _ = out.Close() }()
			join(g, in, out)
		})
	}
}

// join copies in both directions until both have ended.
func join(g *run.Group, in, out net.Conn) {
	copied := func(to, from net.Conn) {
		if _, err := io.Copy(to, from); err != nil {
			_, _ = to.Close(), from.Close()
			return
		}
		if half, ok := to.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
	}
	var both sync.WaitGroup
	both.Add(1)
	g.Go("answers", func(context.Context) {
		defer both.Done()
		copied(in, out)
	})
	copied(out, in)
	both.Wait()
}
