package pgtest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
)

// Wire is a proxy in front of a server that cuts a connection at a chosen message from the client.
type Wire struct {
	server  atomic.Value // the address that connections go to
	Broken  sync.RWMutex // while it is locked nothing passes, and no connection ends
	Left    atomic.Int64 // messages from clients until the cut; below zero: none
	Deliver atomic.Int64 // whether the last message still arrives
	Late    chan func()  // lets it arrive, and the server have done with it
	Cuts    atomic.Int64
}

// Whether the last message of a connection arrives.
const (
	Never int64 = iota
	AtOnce
	Late
)

// NewWire puts a proxy before the server of a URL and returns the URL of it.
func NewWire(t TB, server string) (*Wire, string) {
	t.Helper()
	config, err := pgx.ParseConfig(server)
	if err != nil {
		t.Fatal(err)
	}
	w := &Wire{Late: make(chan func(), 1)}
	w.lead(server)
	w.Left.Store(-1)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	t.Cleanup(func() {
		_ = l.Close()
		select {
		case arrive := <-w.Late: // of a test that failed
			arrive()
		default:
		}
		wg.Wait()
	})
	wg.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { w.serve(client) })
		}
	})
	return w, fmt.Sprintf("postgres://%s:%s@%s/%s?sslmode=disable", config.User, config.Password, l.Addr(), config.Database)
}

// Failover makes a standby of the wire's server, kills that, and has connections go to the standby, which takes its place.
func (w *Wire) Failover(t TB, s *Server) (*Server, error) {
	standby, err := s.follow(t)
	if err != nil {
		return nil, err
	}
	err = s.Kill()
	for _, statement := range []string{
		`select pg_promote()`, `alter system reset synchronous_standby_names`, `select pg_reload_conf()`,
	} {
		err = errors.Join(err, standby.exec(statement))
	}
	w.lead(standby.URL("postgres"))
	return standby, err
}

// lead has connections from now on go to the server of a URL; one that cannot be read fails where it is dialled.
func (w *Wire) lead(server string) {
	to, _ := pgx.ParseConfig(server)
	if filepath.IsAbs(to.Host) {
		w.server.Store([2]string{"unix", filepath.Join(to.Host, fmt.Sprintf(".s.PGSQL.%d", to.Port))})
	} else {
		w.server.Store([2]string{"tcp", net.JoinHostPort(to.Host, fmt.Sprint(to.Port))})
	}
}

func (w *Wire) serve(client net.Conn) {
	w.await()
	at := w.server.Load().([2]string)
	server, err := net.Dial(at[0], at[1])
	if err != nil {
		_ = client.Close()
		return
	}
	var cut atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		defer func() { _ = client.Close() }()
		answer := make([]byte, 1<<16)
		for {
			n, err := server.Read(answer)
			w.await()
			if err != nil || cut.Load() {
				return
			}
			if _, err := client.Write(answer[:n]); err != nil {
				return
			}
		}
	})
	w.forward(client, server, &cut)
	wg.Wait()
}

// await waits until the wire is whole.
func (w *Wire) await() {
	w.Broken.RLock()
	defer w.Broken.RUnlock()
}

// forward sends what the client says on, until the cut.
func (w *Wire) forward(client, server net.Conn, cut *atomic.Bool) {
	defer func() { _ = server.Close() }()
	message := make([]byte, 1<<16)
	for {
		n, err := client.Read(message)
		w.await()
		if err != nil {
			return
		}
		if w.Left.Add(-1) == 0 {
			w.Cuts.Add(1)
			cut.Store(true)
			arrive := func() {
				_, _ = server.Write(message[:n])
				// The server works what it got off although nobody reads its answer.
				if half, ok := server.(interface{ CloseWrite() error }); ok {
					_ = half.CloseWrite()
					_, _ = io.Copy(io.Discard, server)
				}
			}
			switch w.Deliver.Load() {
			case AtOnce:
				arrive()
			case Late:
				_ = client.Close()
				let, arrived := make(chan struct{}), make(chan struct{})
				w.Late <- func() { close(let); <-arrived }
				<-let
				arrive()
				close(arrived)
			}
			return
		}
		if _, err := server.Write(message[:n]); err != nil {
			return
		}
	}
}
