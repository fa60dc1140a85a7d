// Package modelgateway is an HTTP server on this machine between coding agents and the APIs of
// model vendors: Anthropic's Messages, OpenAI's Responses and Chat Completions, and Gemini's
// generateContent.
//
// An agent gets a token of its execution and the gateway's address in the place of the vendor's
// key (agentcli.Link). A request with the token of an execution that lives is forwarded under
// the key of the settings, if it is a call of a model, or one that lists them. What passes is
// metered: an execution is ended at its limit, in the middle of a stream too, and a vendor that
// refuses all requests is the trouble of its executions (work.Trouble).
//
// Nothing of a prompt or an answer is kept or logged, only counts.
package modelgateway

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/adapters/agentcli"
	"github.com/signalbox-dev/signalbox/internal/defaults"
	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Vendors, as agentcli names them.
const (
	Anthropic = "anthropic"
	OpenAI    = "openai"
	Google    = "google"
)

// Vendor is an account at a vendor of models.
type Vendor struct {
	Key secret.String
	URL string // of its API, without a version; empty: the vendor's own
}

// Options of a Gateway. Vendors is required.
type Options struct {
	Vendors map[string]Vendor         // by name; one without a key is not served
	Prices  map[string]agentcli.Price // of models, or of agents by name
	Client  http.RoundTripper         // nil: one of the gateway's own
	Log     *slog.Logger              // nil discards
	Now     func() time.Time          // nil: time.Now
}

// Gateway implements agentcli.Link. It is safe for concurrent use.
type Gateway struct {
	opt     Options
	vendors map[string]*vendor // by prefix of their routes
	server  *http.Server
	address *net.TCPAddr
	serving *run.Group

	mu     sync.Mutex
	runs   map[[sha256.Size]byte]*execution // by the hash of their token
	closed map[account]closing
}

// New checks the options. It serves nothing before Listen.
func New(o Options) (*Gateway, error) {
	defaults.Fill(&o)
	if o.Client == nil {
		own := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // it is one
		own.DisableCompression = true
		o.Client = own
	}
	g := &Gateway{opt: o, vendors: map[string]*vendor{}, runs: map[[sha256.Size]byte]*execution{}, closed: map[account]closing{}}
	for name, account := range o.Vendors {
		v, known := vendorNamed(name)
		if !known {
			return nil, fmt.Errorf("modelgateway: Options.Vendors has %q, want %s, %s or %s", name, Anthropic, OpenAI, Google)
		}
		if !account.Key.IsSet() {
			continue
		}
		base, err := url.Parse(cmp.Or(account.URL, v.home))
		if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
			return nil, fmt.Errorf("modelgateway: Options.Vendors: the URL of %s is %q, want an address such as %s",
				name, account.URL, v.home)
		}
		base.Path = cmp.Or(base.Path, "/")
		v.base, v.key = base, account.Key
		g.vendors[v.prefix] = &v
	}
	if len(g.vendors) == 0 {
		return nil, errors.New("modelgateway: Options.Vendors has no key: nothing could be forwarded")
	}
	return g, nil
}

// Listen serves at a TCP address until Close; port 0 is any free one. It is called once, before
// the first execution.
func (g *Gateway) Listen(ctx context.Context, address string) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("modelgateway: %w", err)
	}
	g.address, _ = l.Addr().(*net.TCPAddr)
	g.server = &http.Server{
		Handler: g, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(g.opt.Log.Handler(), slog.LevelDebug),
	}
	g.serving = run.New(context.WithoutCancel(ctx), g.opt.Log)
	g.serving.Go("model gateway", func(context.Context) {
		if err := g.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			g.opt.Log.Error("the model gateway has ended", "err", err)
		}
	})
	return nil
}

// Close ends the server and all requests.
func (g *Gateway) Close() error {
	if g.server == nil {
		return nil
	}
	err := g.server.Close()
	g.serving.Stop()
	if own, ok := g.opt.Client.(*http.Transport); ok {
		own.CloseIdleConnections()
	}
	return err
}

// Address is where it listens.
func (g *Gateway) Address() string { return g.address.String() }

// URL is where agents reach it.
func (g *Gateway) URL() string {
	at := *g.address
	if at.IP.IsUnspecified() {
		at.IP = net.IPv4(127, 0, 0, 1)
	}
	return "http://" + at.String()
}

// Vendors are the names of those that are served.
func (g *Gateway) Vendors() (names []string) {
	for _, name := range []string{Anthropic, OpenAI, Google} {
		if v, _ := vendorNamed(name); g.vendors[v.prefix] != nil {
			names = append(names, name)
		}
	}
	return names
}

// Priced reports whether the cost of a vendor's models is known: of one, as a tool calls it, or of
// the vendor's most costly one.
func (g *Gateway) Priced(vendor, tool, model string) bool {
	_, known := g.cost(tool, vendor, work.Usage{Model: model})
	return known
}

// errContainer is about a container that has a network of its own.
var errContainer = errors.New("modelgateway: the gateway listens at this machine's loopback address, " +
	"which a container does not reach: set ORCH_EGRESS=allow-list, which leads there, or ORCH_JAIL_NETWORK=host, " +
	"or let ORCH_MODEL_GATEWAY be this machine's address in the containers' network")

// Open implements agentcli.Link. An execution of a vendor that is not served gets nothing.
func (g *Gateway) Open(_ context.Context, x agentcli.LinkedRun) (none agentcli.Opened, err error) {
	served := g.servedTo(x)
	if len(served) == 0 {
		return agentcli.Opened{Close: func() agentcli.Seen { return agentcli.Seen{} }}, nil
	}
	if g.server == nil {
		return none, errors.New("modelgateway: Listen was not called: no agent would reach the gateway")
	}
	if j := x.Jail; j != nil && j.Box.Kind == work.BoxContainer && j.Box.Network != "host" && !j.Proxied && g.address.IP.IsLoopback() {
		return none, errContainer
	}
	token := rand.Text()
	e := newExecution(g, x)
	key := sha256.Sum256([]byte(token))
	g.mu.Lock()
	defer g.mu.Unlock()
	g.runs[key] = e
	port := uint16(g.address.Port) //nolint:gosec // of a listener
	o := equip(x, g.URL(), token, served)
	o.Jail.Ports = []work.Ports{{First: port, Last: port}}
	o.Look = e.seen
	o.Close = func() agentcli.Seen {
		g.mu.Lock()
		delete(g.runs, key)
		g.mu.Unlock()
		e.end()
		return e.seen()
	}
	return o, nil
}

// servedTo are the vendors whose calls of an execution go through the gateway: of a known tool
// its own.
func (g *Gateway) servedTo(x agentcli.LinkedRun) (served []string) {
	for _, name := range g.Vendors() {
		if x.Tool != "antigravity" && x.Tool != "agy" && (x.Vendor == "" || x.Vendor == name) {
			served = append(served, name)
		}
	}
	return served
}

// find is the execution of a token.
func (g *Gateway) find(token string) *execution {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.runs[sha256.Sum256([]byte(token))]
}
