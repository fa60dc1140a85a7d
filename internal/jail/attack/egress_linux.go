package attack

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/run"
)

// OnEgress are the attacks on a way out by a proxy, which HTTPS_PROXY names and whose list has
// the scene's host outside.
func OnEgress() []Attack {
	return []Attack{
		{"go past the proxy", Proxy, false, func(s Scene) error { return echoes("tcp4", s.Outside) }},
		{"go past the proxy by UDP", Proxy, false, func(s Scene) error { return echoes("udp4", s.Outside) }},
		{"reach a host that is not listed", Proxy, false, func(Scene) error { return through("unlisted.example.org:443", "") }},
		{"reach the service by the proxy", Proxy, false, func(s Scene) error { return through(fmt.Sprintf("127.0.0.1:%d", s.Port), "") }},
		{"reach this machine's cloud by the proxy", Proxy, false, func(Scene) error { return through("169.254.169.254:80", "") }},
		{"reach this machine by a name", Proxy, false, func(s Scene) error { return through(fmt.Sprintf("localhost:%d", s.Outside), "") }},
		{"use another run's proxy", Proxy, false, func(s Scene) error {
			return through(fmt.Sprintf("127.0.0.1:%d", s.Outside), "another's")
		}},
	}
}

// Honest returns what has to succeed there: a host that is listed.
func Honest() Attack {
	return Attack{Name: "reach a host that is listed", try: func(s Scene) error {
		return through(fmt.Sprintf("127.0.0.1:%d", s.Outside), "")
	}}
}

// word holds the text that is sent to the host outside.
const word = "out\n"

func echoes(network string, port int) error {
	c, err := net.Dial(network, fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	return answered(c, c)
}

func answered(c net.Conn, from io.Reader) error {
	back := make([]byte, len(word))
	err := c.SetDeadline(time.Now().Add(2 * time.Second))
	if err == nil {
		_, err = io.WriteString(c, word)
	}
	if err == nil {
		_, err = io.ReadFull(from, back)
	}
	return errors.Join(err, must(string(back) == word, "nothing came back"))
}

// through goes to a host by the proxy, with its password or another one.
func through(host, password string) error {
	proxy, err := url.Parse(os.Getenv("HTTPS_PROXY"))
	if err != nil || proxy.Host == "" {
		return ErrNotHere
	}
	c, err := net.Dial("tcp4", proxy.Host)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	own, _ := proxy.User.Password()
	password = cmp.Or(password, own)
	r := http.Request{Header: http.Header{}}
	r.SetBasicAuth(proxy.User.Username(), password)
	_, err = fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\nProxy-Authorization: %s\r\n\r\n",
		host, host, r.Header.Get("Authorization"))
	if err != nil {
		return err
	}
	in := bufio.NewReader(c)
	status, err := in.ReadString('\n')
	if err != nil || !strings.Contains(status, " 200 ") {
		return errors.Join(err, errors.New(strings.TrimSpace(status)))
	}
	if _, err := in.ReadString('\n'); err != nil {
		return err
	}
	return answered(c, in)
}

// echo sends back what it gets, at a listener and by UDP at the same port.
func echo(l *net.TCPListener) (end func(), err error) {
	packets, err := net.ListenPacket("udp4", l.Addr().String())
	if err != nil {
		return nil, err
	}
	g := run.New(context.Background(), nil)
	g.Go("echo", func(context.Context) {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			g.Go("answer", func(ctx context.Context) {
				defer func() { _ = c.Close() }()
				defer context.AfterFunc(ctx, func() { _ = c.Close() })()
				_, _ = io.Copy(c, c) // who is answered says so
			})
		}
	})
	g.Go("datagrams", func(context.Context) {
		buf := make([]byte, 64)
		for {
			n, from, err := packets.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = packets.WriteTo(buf[:n], from) // the same
		}
	})
	return func() {
		_, _ = l.Close(), packets.Close() // nothing is owed
		g.Stop()
	}, nil
}
