package egress

import (
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// bounded is a listener that has so many connections at a time as there are places.
type bounded struct {
	net.Listener
	places chan struct{}
}

func (b bounded) Accept() (net.Conn, error) {
	b.places <- struct{}{} // one that waits here ends with the connections that are closed
	c, err := b.Listener.Accept()
	if err != nil {
		<-b.places
		return nil, err
	}
	return &placed{Conn: c, leave: sync.OnceFunc(func() { <-b.places })}, nil
}

// placed is a connection that gives its place back.
type placed struct {
	net.Conn
	leave func()
}

func (p *placed) Close() error {
	defer p.leave()
	return p.Conn.Close()
}

// CloseWrite ends one direction.
func (p *placed) CloseWrite() error { return closeWrite(p.Conn) }

func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}

// tunnel serves CONNECT.
func (p *proxy) tunnel(w http.ResponseWriter, r *http.Request) {
	out, err := p.dial(r.Context(), "tcp", r.Host)
	if err != nil {
		fail(w, err)
		return
	}
	defer func() { _ = out.Close() }() // what was to be passed was
	in, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer func() { _ = in.Close() }()
	_ = in.SetDeadline(time.Time{}) // the server's
	if _, err := io.WriteString(in, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	defer context.AfterFunc(p.group.Context(), func() { _, _ = in.Close(), out.Close() })() // the proxy is closed
	early := io.LimitReader(buffered, int64(buffered.Reader.Buffered()))                    // sent before the answer
	both(in, out, early, p.opt.Idle, &p.passed, p.group.Go)
}

// both copies in both directions until both have ended, or nothing has passed for idle.
func both(in, out net.Conn, early io.Reader, idle time.Duration, passed *atomic.Int64, start func(string, func(context.Context))) {
	alive := func() {
		until := time.Now().Add(idle)
		_, _ = in.SetDeadline(until), out.SetDeadline(until)
	}
	alive()
	copied := func(to, from net.Conn, before io.Reader) {
		_, err := io.Copy(to, io.MultiReader(before, metered{from, alive, passed}))
		if err != nil { // the other direction has nobody left either
			_, _ = to.Close(), from.Close()
			return
		}
		_ = closeWrite(to) // else its own end ends it
	}
	ended := make(chan struct{})
	start("tunnel", func(context.Context) {
		defer close(ended)
		copied(in, out, eof{})
	})
	copied(out, in, early)
	<-ended
}

// eof has nothing to read.
type eof struct{}

func (eof) Read([]byte) (int, error) { return 0, io.EOF }

// metered counts what is read, and notes that it was.
type metered struct {
	io.Reader
	alive  func()
	passed *atomic.Int64
}

func (m metered) Read(b []byte) (int, error) {
	n, err := m.Reader.Read(b)
	if n > 0 {
		m.passed.Add(int64(n))
		m.alive()
	}
	return n, err
}

// dropHops removes the headers that are of one connection only, or this proxy's.
func dropHops(h http.Header) {
	for _, list := range h.Values("Connection") {
		for name := range strings.SplitSeq(list, ",") {
			h.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range []string{
		"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization",
		"Te", "Trailer", "Transfer-Encoding", "Upgrade",
	} {
		h.Del(name)
	}
}

// forward serves a request of plain HTTP. What the host answers is passed on, redirects too.
func (p *proxy) forward(w http.ResponseWriter, r *http.Request) {
	out := r.Clone(r.Context())
	out.RequestURI, out.Close, out.Host = "", false, ""
	out.URL = &url.URL{Scheme: "http", Host: r.URL.Host, Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: r.URL.RawQuery}
	dropHops(out.Header)
	out.Body = io.NopCloser(metered{r.Body, func() {}, &p.passed})
	if r.ContentLength == 0 {
		out.Body = http.NoBody
	}
	answer, err := p.plain.RoundTrip(out)
	if err != nil {
		fail(w, err)
		return
	}
	defer answer.Body.Close()
	dropHops(answer.Header)
	maps.Copy(w.Header(), answer.Header)
	w.WriteHeader(answer.StatusCode)
	to := http.NewResponseController(w)
	alive := func() { _ = to.SetWriteDeadline(time.Now().Add(p.opt.Idle)) }
	alive()
	idle := time.AfterFunc(p.opt.Idle, func() { _ = answer.Body.Close() })
	defer idle.Stop()
	_, err = io.Copy(flushing{w, to}, metered{answer.Body, func() { alive(); idle.Reset(p.opt.Idle) }, &p.passed})
	if err != nil && !errors.Is(err, context.Canceled) {
		panic(http.ErrAbortHandler) // half an answer is not to look like a whole one
	}
}

// flushing passes each piece on at once.
type flushing struct {
	io.Writer
	to *http.ResponseController
}

func (f flushing) Write(b []byte) (int, error) {
	n, err := f.Writer.Write(b)
	if err == nil {
		err = f.to.Flush()
	}
	return n, err
}
