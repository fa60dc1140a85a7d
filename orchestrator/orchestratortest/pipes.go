package orchestratortest

import (
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// pipes is a listener whose connections keep nothing: a client that does not read blocks
// its writer.
type pipes struct {
	conns chan net.Conn
	once  sync.Once
	ended chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.ended:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.ended) }); return nil }
func (p *pipes) Addr() net.Addr { return nil }

// Serve puts a real HTTP server before a handler, inside the bubble of t; dial connects to
// it. A client that does not read blocks the server's writing at once.
func Serve(t *testing.T, h http.Handler) (dial func() net.Conn) {
	p := &pipes{conns: make(chan net.Conn), ended: make(chan struct{})}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute, WriteTimeout: time.Minute}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = srv.Serve(p) }()
	t.Cleanup(func() { _ = srv.Close(); <-ended })
	return func() net.Conn {
		here, there := net.Pipe()
		t.Cleanup(func() { _ = here.Close() })
		p.conns <- there
		return here
	}
}
