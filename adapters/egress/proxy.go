package egress

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/signalbox-dev/signalbox/internal/defaults"
	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Options of a Proxy. The zero value is usable.
type Options struct {
	Resolver resolver      // nil = that of the system
	Dial     dial          // of addresses that were checked; nil = the system's network
	Tunnels  int           `envDefault:"64"`  // requests and tunnels at a time
	Idle     time.Duration `envDefault:"5m"`  // a tunnel through which nothing passes for so long is closed
	Header   time.Duration `envDefault:"10s"` // that a request may take to be read
	Log      *slog.Logger  // nil discards
}

// resolver looks up the addresses of a name. net.Resolver is one.
type resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// dial connects to an address and a port.
type dial func(ctx context.Context, network, address string) (net.Conn, error)

// Bounds of what a proxy takes.
const (
	headerMax  = 32 << 10 // bytes
	connectMax = 20 * time.Second
	answerMax  = 2 * time.Minute // to the beginning of an answer
	spare      = 16              // connections beyond Tunnels: they are refused with an answer
)

// user is the name by which a run signs in at its proxy.
const user = "run"

// proxy is the way out of one execution. Its methods are safe for concurrent use.
type proxy struct {
	rules   Rules
	opt     Options
	token   string
	port    uint16
	busy    chan struct{} // a place for each request and tunnel
	passed  atomic.Int64
	refused refusals
	group   *run.Group
	server  *http.Server
	plain   *http.Transport
}

// listen opens a proxy on a port of 127.0.0.1. Close ends it.
func listen(rules Rules, o Options) (*proxy, error) {
	if o.Resolver == nil {
		o.Resolver = net.DefaultResolver
	}
	if o.Dial == nil {
		o.Dial = (&net.Dialer{}).DialContext
	}
	defaults.Fill(&o)
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("egress: %w", err)
	}
	p := &proxy{
		rules: rules, opt: o, token: rand.Text(),
		port:  uint16(l.Addr().(*net.TCPAddr).Port), //nolint:forcetypeassert,gosec // of a listener of TCP
		busy:  make(chan struct{}, o.Tunnels),
		group: run.New(context.Background(), o.Log),
	}
	p.plain = &http.Transport{
		DialContext: p.dial, ResponseHeaderTimeout: answerMax, MaxResponseHeaderBytes: headerMax,
		IdleConnTimeout: o.Idle, DisableCompression: true,
	}
	p.server = &http.Server{
		Handler: p, ReadHeaderTimeout: o.Header, IdleTimeout: o.Idle, MaxHeaderBytes: headerMax,
		ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
	}
	p.group.Go("egress", func(context.Context) {
		if err := p.server.Serve(bounded{l, make(chan struct{}, o.Tunnels+spare)}); !errors.Is(err, http.ErrServerClosed) {
			o.Log.Warn("a run has no way out any more", "err", err)
		}
	})
	return p, nil
}

// URL is the proxy's address with what signs in at it.
func (p *proxy) URL() string { return fmt.Sprintf("http://%s:%s@127.0.0.1:%d", user, p.token, p.port) }

// Port is the TCP port at which the proxy listens.
func (p *proxy) Port() uint16 { return p.port }

// Refused lists the hosts that were refused, the first one first.
func (p *proxy) Refused() []work.Refusal { return p.refused.all() }

// Bytes is how many have passed, both ways.
func (p *proxy) Bytes() int64 { return p.passed.Load() }

// Close ends all tunnels, and waits for that.
func (p *proxy) Close() error {
	err := p.server.Close()
	p.group.Stop()
	p.plain.CloseIdleConnections()
	return err
}

// ServeHTTP serves CONNECT, and what http registries are read by.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !p.signedIn(r) {
		w.Header().Set("Proxy-Authenticate", `Basic realm="signalbox"`)
		http.Error(w, "signalbox: this proxy is another run's, or the password in its address was left out", http.StatusProxyAuthRequired)
		return
	}
	select {
	case p.busy <- struct{}{}:
		defer func() { <-p.busy }()
	default:
		http.Error(w, fmt.Sprintf("signalbox: this run has %d connections already", p.opt.Tunnels), http.StatusServiceUnavailable)
		return
	}
	switch {
	case r.Method == http.MethodConnect:
		p.tunnel(w, r)
	case r.URL.Scheme != "http" || r.URL.Host == "":
		const want = "signalbox: this is a proxy: want CONNECT, or a request with the whole address of an http server"
		http.Error(w, want, http.StatusBadRequest)
	case r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodPost:
		http.Error(w, "signalbox: want GET, HEAD or POST, or CONNECT", http.StatusMethodNotAllowed)
	default:
		p.forward(w, r)
	}
}

func (p *proxy) signedIn(r *http.Request) bool {
	text, ok := strings.CutPrefix(r.Header.Get("Proxy-Authorization"), "Basic ")
	given, err := base64.StdEncoding.DecodeString(text)
	return ok && err == nil && subtle.ConstantTimeCompare(given, []byte(user+":"+p.token)) == 1
}

// refusedError reports that a host may not be reached.
type refusedError struct{ host, why string }

func (e *refusedError) Error() string {
	why := cmp.Or(e.why, "it is not on the list of hosts that this run may reach (egress in the project registry)")
	return fmt.Sprintf("signalbox: %s: %s", clean(e.host), why)
}

// unlisted explains the refusal of a host whose name is allowed.
const unlisted = "its name leads to an address of this machine or its network, which the list would have to name itself"

// addresses are those that a host may be reached at.
func (p *proxy) addresses(ctx context.Context, hostport string) (out []netip.AddrPort, err error) {
	host, text, err := net.SplitHostPort(hostport)
	port, errPort := strconv.ParseUint(text, 10, 16)
	if err != nil || errPort != nil || port == 0 || host == "" {
		return nil, &refusedError{hostport, "it is no host with a port"}
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if address, err := netip.ParseAddr(host); err == nil {
		if address = address.Unmap(); !p.rules.listed(address, uint16(port)) {
			return nil, &refusedError{hostport, ""}
		}
		return []netip.AddrPort{netip.AddrPortFrom(address, uint16(port))}, nil
	}
	if !p.rules.named(host, uint16(port)) {
		return nil, &refusedError{hostport, ""}
	}
	found, err := p.opt.Resolver.LookupNetIP(ctx, "ip", host+".") // no search domains
	if err != nil {
		return nil, err
	}
	for _, address := range found {
		if address = address.Unmap(); public(address) && !metadata(address) || p.rules.listed(address, uint16(port)) {
			out = append(out, netip.AddrPortFrom(address, uint16(port)))
		}
	}
	if len(out) == 0 {
		return nil, &refusedError{hostport, unlisted}
	}
	return out, nil
}

// dial connects to a host, if it is allowed: to an address that was checked, so that no second
// look at its name leads elsewhere.
func (p *proxy) dial(ctx context.Context, _, hostport string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectMax)
	defer cancel()
	list, err := p.addresses(ctx, hostport)
	if refused := new(refusedError); errors.As(err, &refused) {
		p.refused.add(refused.host, refused.why)
	}
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, at := range list {
		c, err := p.opt.Dial(ctx, "tcp", at.String())
		if err == nil {
			return c, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// fail answers a request whose host was not reached.
func fail(w http.ResponseWriter, err error) {
	if refused := new(refusedError); errors.As(err, &refused) {
		http.Error(w, refused.Error(), http.StatusForbidden)
		return
	}
	http.Error(w, "signalbox: the host does not answer: "+err.Error(), http.StatusBadGateway)
}
