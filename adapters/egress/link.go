package egress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"

	"github.com/signalbox-dev/signalbox/adapters/agentcli"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Link gives each execution of an agent, and each check, a proxy of its own.
type Link struct {
	// Allowed are the entries (see Parse) of a role in a repository; no role: of checks and hooks.
	Allowed func(repo string, role stage.Role) []string
	// Served reports whether a vendor's API is reached by a gateway of models, and not by the
	// proxy; nil = none is.
	Served func(vendor string) bool
	// Pass are ports of 127.0.0.1 that agents reach beside the proxy, such as that of a gateway;
	// nil = none.
	Pass func() []uint16
	// Getenv reads the variables that say where a vendor's API is; nil = os.Getenv.
	Getenv  func(name string) string
	Options Options
}

// Way holds what an execution gets to go out by its proxy.
type Way struct {
	Env   map[string]string
	Jail  work.Jail
	Proxy *proxy
	close func() error
}

// Close ends the proxy, and returns the hosts that were refused.
func (w Way) Close() ([]work.Refusal, error) {
	err := w.close()
	return w.Proxy.Refused(), err
}

// bases are the variables by which tools are told of another address of a vendor's API.
func bases() map[string]string {
	return map[string]string{"anthropic": "ANTHROPIC_BASE_URL", "openai": "OPENAI_BASE_URL", "google": "GOOGLE_GEMINI_BASE_URL"}
}

// Open implements agentcli.Link.
func (l *Link) Open(ctx context.Context, x agentcli.LinkedRun) (agentcli.Opened, error) {
	entries, pass := l.Allowed(x.Repo, x.Role), []uint16(nil)
	if l.Pass != nil {
		pass = l.Pass()
	}
	if l.Served == nil || !l.Served(x.Vendor) {
		getenv := l.Getenv
		if getenv == nil {
			getenv = os.Getenv
		}
		entries = slices.Concat(entries, ofVendor(x.Vendor))
		if entry, loopback, ok := ofURL(getenv(bases()[x.Vendor])); ok && loopback.IsValid() {
			pass = append(slices.Clone(pass), loopback.Port())
		} else if ok {
			entries = append(entries, entry)
		}
	}
	w, err := l.open(ctx, entries, pass, x.Jail)
	if err != nil {
		return agentcli.Opened{}, err
	}
	return agentcli.Opened{
		Env: w.Env, Jail: w.Jail,
		Look: func() agentcli.Seen { return agentcli.Seen{Refused: w.Proxy.Refused()} },
		Close: func() agentcli.Seen {
			refused, err := w.Close()
			l.log().Info("a run has used the network",
				"task", x.TaskID, "repo", x.Repo, "run", x.Run, "bytes", w.Proxy.Bytes(), "refused", len(refused), "err", err)
			return agentcli.Seen{Refused: refused}
		},
	}, nil
}

// Check opens the way out of a check or a hook of a repository, whose jail is j.
func (l *Link) Check(ctx context.Context, repo string, j *work.Jail) (Way, error) {
	return l.open(ctx, l.Allowed(repo, ""), nil, j)
}

func (l *Link) log() *slog.Logger {
	return cmp.Or(l.Options.Log, slog.New(slog.DiscardHandler))
}

// open opens a proxy; pass are ports of this machine's loopback that are to be reached too.
func (l *Link) open(ctx context.Context, entries []string, pass []uint16, j *work.Jail) (none Way, err error) {
	rules, err := Parse(entries...)
	if err != nil {
		return none, fmt.Errorf("egress: %w", err)
	}
	p, err := listen(rules, l.Options)
	if err != nil {
		return none, err
	}
	w := Way{Env: p.env(), Proxy: p, close: p.Close}
	var box *sockets
	if j != nil && j.Alone() {
		if box, err = newSockets(l.log()); err != nil {
			return none, fmt.Errorf("egress: %w", errors.Join(err, w.close()))
		}
		w.close = func() error { return errors.Join(p.Close(), box.close()) }
	}
	for _, port := range append([]uint16{p.Port()}, pass...) {
		w.Jail.Ports = append(w.Jail.Ports, work.Ports{First: port, Last: port})
		if box == nil {
			continue
		}
		socket, err := box.lead(ctx, port)
		if err != nil {
			return none, fmt.Errorf("egress: %w", errors.Join(err, w.close()))
		}
		w.Jail.Relays = append(w.Jail.Relays, work.Relay{Port: port, Socket: socket})
	}
	return w, nil
}

// env are the variables by which tools find the proxy. What they start themselves on this
// machine they reach without it.
func (p *proxy) env() map[string]string {
	out := map[string]string{"NODE_USE_ENV_PROXY": "1"}
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		out[name] = p.URL()
	}
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		out[name] = "localhost,127.0.0.1,::1"
	}
	return out
}
