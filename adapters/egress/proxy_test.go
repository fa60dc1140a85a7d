package egress_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/signalbox-dev/signalbox/adapters/agentcli"
	"github.com/signalbox-dev/signalbox/adapters/egress"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// TestMain lets the test's own program be a shim of agents.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "agent-shim" {
		os.Exit(agentcli.RunShim())
	}
	goleak.VerifyTestMain(m)
}

// names is a resolver; each look at a name takes the next of its addresses, and the last one
// stays.
type names map[string][]string

func (n names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	list := n[host]
	if len(list) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if len(list) > 1 {
		n[host] = list[1:]
	}
	var out []netip.Addr
	for text := range strings.SplitSeq(list[0], " ") {
		out = append(out, netip.MustParseAddr(text))
	}
	return out, nil
}

// open opens a proxy, with a client that uses it.
func open(t *testing.T, o egress.Options, entries ...string) (*egress.Proxy, *http.Client) {
	t.Helper()
	rules, err := egress.Parse(entries...)
	require.NoError(t, err)
	p, err := egress.Listen(rules, o)
	require.NoError(t, err)
	at, err := url.Parse(p.URL())
	require.NoError(t, err)
	tr := &http.Transport{Proxy: http.ProxyURL(at), TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} // #nosec G402 -- the test's own server
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		require.NoError(t, p.Close())
	})
	return p, &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// serve is a server that says what it was sent.
func serve(t *testing.T, secure bool) *httptest.Server {
	t.Helper()
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "http://192.0.2.1/", http.StatusFound)
			return
		}
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s %v %s", r.Method, r.Host, r.URL, r.Header["Proxy-Authorization"], body)
	}))
	if secure {
		srv.StartTLS()
	} else {
		srv.Start()
	}
	t.Cleanup(srv.Close)
	return srv
}

func get(t *testing.T, c *http.Client, address string) (int, string, error) {
	t.Helper()
	res, err := c.Get(address) //nolint:noctx // it ends with the test
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, string(body), nil
}

func hostOf(srv *httptest.Server) string { return srv.Listener.Addr().String() }

// What the list has is reached, through a tunnel and by plain HTTP; nothing else is.
func TestAllowList(t *testing.T) {
	t.Parallel()
	secure, plain, closed := serve(t, true), serve(t, false), serve(t, false)
	p, c := open(t, egress.Options{}, hostOf(secure), hostOf(plain))
	_, said, err := get(t, c, secure.URL+"/x?y=1")
	require.NoError(t, err)
	require.Equal(t, "GET "+hostOf(secure)+" /x?y=1 [] ", said)
	_, said, err = get(t, c, plain.URL+"/x?y=1")
	require.NoError(t, err)
	require.Equal(t, "GET "+hostOf(plain)+" /x?y=1 [] ", said, "the proxy's password is not passed on")
	require.Positive(t, p.Bytes())

	res, err := c.Post(plain.URL, "text/plain", strings.NewReader("body")) //nolint:noctx // it ends with the test
	require.NoError(t, err)
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, "POST "+hostOf(plain)+" / [] body", string(body))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, plain.URL, nil)
	require.NoError(t, err)
	res, err = c.Do(req)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, http.StatusMethodNotAllowed, res.StatusCode)
	status, _, err := get(t, c, plain.URL+"/away")
	require.NoError(t, err)
	require.Equal(t, http.StatusFound, status, "no redirect is followed")
	require.Empty(t, p.Refused())

	for range 2 {
		status, said, err = get(t, c, closed.URL)
		require.NoError(t, err)
		require.Equal(t, http.StatusForbidden, status)
		require.Contains(t, said, "not on the list")
	}
	_, _, err = get(t, c, "https://example.org/secret-path")
	require.ErrorContains(t, err, "Forbidden")
	require.Equal(t, []work.Refusal{{Host: hostOf(closed), Times: 2}, {Host: "example.org:443", Times: 1}}, p.Refused())
}

// A name is looked up once, and the address that was checked is dialled; what leads into this
// machine or its network is refused, unless the list has the address.
func TestAddresses(t *testing.T) {
	t.Parallel()
	var dialled []string
	dial := func(_ context.Context, _, address string) (net.Conn, error) {
		dialled = append(dialled, address)
		return nil, fmt.Errorf("%s is away", address)
	}
	hosts := names{
		"rebinds.example.org.": {"93.184.216.34", "127.0.0.1"}, "inner.example.org.": {"10.0.0.7"}, "mixed.example.org.": {"fd00:ec2::254 2606:2800:220:1::1"},
		"meta.example.org.": {"169.254.169.254"}, "wire.example.org.": {"168.63.129.16"}, "listed.example.org.": {"10.0.0.8"}, "a.b.wild.example.org.": {"::ffff:93.184.216.34"},
	}
	p, c := open(t, egress.Options{Resolver: hosts, Dial: dial},
		"rebinds.example.org", "inner.example.org", "mixed.example.org", "meta.example.org", "wire.example.org", "listed.example.org", "10.0.0.8:443", "*.wild.example.org", "gone.example.org")
	for host, want := range map[string]string{
		"rebinds.example.org": "93.184.216.34:443", "mixed.example.org": "[2606:2800:220:1::1]:443", "listed.example.org": "10.0.0.8:443", "10.0.0.8": "10.0.0.8:443",
		"A.b.Wild.example.org.": "93.184.216.34:443",
		"inner.example.org":     "", "meta.example.org": "", "wire.example.org": "", "wild.example.org": "", "xwild.example.org": "", "rebinds.example.org:22": "", "10.0.0.7": "", "[::1]": "",
		"169.254.169.254": "", "rebinds.example.org.evil.example": "",
	} {
		dialled = nil
		_, _, err := get(t, c, "https://"+host+"/")
		if want == "" {
			require.ErrorContains(t, err, "Forbidden", host)
			require.Empty(t, dialled, host)
			continue
		}
		require.ErrorContains(t, err, "Bad Gateway", host)
		require.Equal(t, []string{want}, dialled, host)
	}
	why := map[string]string{}
	for _, r := range p.Refused() {
		why[r.Host] = r.Why
	}
	require.Contains(t, why["meta.example.org:443"], "leads to an address of this machine or its network")
	require.Empty(t, why["wild.example.org:443"])
	before := len(p.Refused())
	_, _, err := get(t, c, "https://gone.example.org/")
	require.ErrorContains(t, err, "Bad Gateway")
	require.Len(t, p.Refused(), before, "a host that is away is not refused")
}

// Another run's proxy is of no use, and what is no request to a proxy is refused.
func TestSignIn(t *testing.T) {
	t.Parallel()
	srv := serve(t, false)
	p, _ := open(t, egress.Options{}, hostOf(srv))
	other, _ := open(t, egress.Options{}, hostOf(srv))
	at := func(u string) string {
		return strings.Replace(u, fmt.Sprint(":", other.Port()), fmt.Sprint(":", p.Port()), 1)
	}
	for _, proxy := range []string{at(other.URL()), fmt.Sprintf("http://127.0.0.1:%d", p.Port()), fmt.Sprintf("http://run:@127.0.0.1:%d", p.Port())} {
		u, err := url.Parse(proxy)
		require.NoError(t, err)
		c := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(u), DisableKeepAlives: true}}
		status, _, err := get(t, c, srv.URL)
		require.NoError(t, err)
		require.Equal(t, http.StatusProxyAuthRequired, status, proxy)
	}
	require.Empty(t, p.Refused())
	for line, want := range map[string]string{
		"GET / HTTP/1.1":                       "400 Bad Request",
		"GET ftp://example.org/ HTTP/1.1":      "400 Bad Request",
		"CONNECT example.org HTTP/1.1":         "403 Forbidden",
		"CONNECT example.org:99999 HTTP/1.1":   "403 Forbidden",
		"GET http://[::1%25lo]:80/ HTTP/1.1":   "403 Forbidden",
		"GET http://2130706433:80/ HTTP/1.1":   "403 Forbidden",
		"CONNECT exa\x01mple.org:443 HTTP/1.1": "400 Bad Request",
	} {
		require.Contains(t, send(t, p, line+"\r\nHost: x\r\n"+signed(p)+"\r\n"), want, line)
	}
}

// signed is the header by which the run signs in.
func signed(p *egress.Proxy) string {
	u, _ := url.Parse(p.URL())
	r := http.Request{Header: http.Header{}}
	password, _ := u.User.Password()
	r.SetBasicAuth(u.User.Username(), password)
	return "Proxy-Authorization: " + r.Header.Get("Authorization") + "\r\n"
}

// dialProxy connects to a proxy's port.
func dialProxy(t *testing.T, p *egress.Proxy) net.Conn {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", p.Port()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// send writes to a proxy, and returns the first line of its answer.
func send(t *testing.T, p *egress.Proxy, text string) string {
	t.Helper()
	c := dialProxy(t, p)
	_, err := io.WriteString(c, text)
	require.NoError(t, err)
	line, err := bufio.NewReader(c).ReadString('\n')
	require.NoError(t, err)
	return line
}

// echo is a server that sends back what it gets once the sender has ended.
func echo(t *testing.T) net.Listener {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				body, _ := io.ReadAll(c)
				_, _ = c.Write(body)
			}()
		}
	}()
	return l
}

// connect opens a tunnel; early is sent with the request.
func connect(t *testing.T, p *egress.Proxy, to, early string) (net.Conn, *bufio.Reader) {
	t.Helper()
	c := dialProxy(t, p)
	_, err := io.WriteString(c, "CONNECT "+to+" HTTP/1.1\r\nHost: x\r\n"+signed(p)+"\r\n"+early)
	require.NoError(t, err)
	r := bufio.NewReader(c)
	line, err := r.ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, "200")
	_, err = r.ReadString('\n')
	require.NoError(t, err)
	return c, r
}

// A tunnel has two directions that end by themselves, and loses nothing that came early.
func TestTunnel(t *testing.T) {
	t.Parallel()
	l := echo(t)
	p, _ := open(t, egress.Options{}, l.Addr().String())
	c, r := connect(t, p, l.Addr().String(), "early ")
	_, err := io.WriteString(c, strings.Repeat("x", 1<<20))
	require.NoError(t, err)
	require.NoError(t, c.(*net.TCPConn).CloseWrite())
	body, err := io.ReadAll(r)
	require.NoError(t, err)
	require.Equal(t, "early "+strings.Repeat("x", 1<<20), string(body))
	require.GreaterOrEqual(t, p.Bytes(), int64(2<<20))
}

// The connections of a run are bounded in number, in the bytes and the time of their headers,
// and in the time that nothing passes; the end of the run ends them.
func TestBounds(t *testing.T) {
	t.Parallel()
	l := echo(t)
	p, _ := open(t, egress.Options{Tunnels: 2, Header: 50 * time.Millisecond}, l.Addr().String())
	var held []*bufio.Reader
	for range 2 {
		_, r := connect(t, p, l.Addr().String(), "")
		held = append(held, r)
	}
	require.Contains(t, send(t, p, "CONNECT "+l.Addr().String()+" HTTP/1.1\r\nHost: x\r\n"+signed(p)+"\r\n"), "503")
	require.Contains(t, send(t, p, "GET / HTTP/1.1\r\nX: "+strings.Repeat("x", 64<<10)+"\r\n\r\n"), "431")
	slow := dialProxy(t, p)
	_, err := io.WriteString(slow, "GET / HT")
	require.NoError(t, err)
	_, err = io.ReadAll(slow)
	require.NoError(t, err, "what sends no header is closed")
	require.NoError(t, p.Close())
	for _, r := range held {
		_, _ = io.ReadAll(r) // it ends
	}

	p, _ = open(t, egress.Options{Idle: 30 * time.Millisecond}, l.Addr().String())
	_, r := connect(t, p, l.Addr().String(), "never ended")
	_, _ = io.ReadAll(r) // it ends
}

// Names of refused hosts are an agent's choice: bounded in number and length, of few characters.
func TestRefusedNames(t *testing.T) {
	t.Parallel()
	p, _ := open(t, egress.Options{})
	for i := range 70 {
		require.Contains(t, send(t, p, fmt.Sprintf("CONNECT h%d.example.org:443 HTTP/1.1\r\nHost: x\r\n%s\r\n", i, signed(p))), "403")
	}
	list := p.Refused()
	require.Len(t, list, 51)
	require.Equal(t, work.Refusal{Host: "other hosts", Times: 20}, list[50])
	p, _ = open(t, egress.Options{})
	send(t, p, "CONNECT <script>"+strings.Repeat("Ü", 200)+":443 HTTP/1.1\r\nHost: x\r\n"+signed(p)+"\r\n")
	send(t, p, "CONNECT x<b>"+strings.Repeat("X", 200)+":443 HTTP/1.1\r\nHost: x\r\n"+signed(p)+"\r\n")
	for _, r := range p.Refused() {
		require.NotContains(t, r.Host, "<")
		require.Less(t, len(r.Host), 110)
	}
}

// An answer that breaks off does not look like a whole one.
func TestBrokenAnswer(t *testing.T) {
	t.Parallel()
	var sent atomic.Bool
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "half")
		_ = http.NewResponseController(w).Flush()
		sent.Store(true)
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(srv.Close)
	_, c := open(t, egress.Options{}, hostOf(srv))
	res, err := c.Get(srv.URL) //nolint:noctx // it ends with the test
	if err == nil {
		_, err = io.ReadAll(res.Body)
		require.NoError(t, res.Body.Close())
	}
	require.Error(t, err)
	require.True(t, sent.Load())
}
