package app

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/adapters/oidc"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
	"github.com/signalbox-dev/signalbox/orchestrator/service"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
	"github.com/signalbox-dev/signalbox/orchestrator/web/limit"
)

// returnPath is where people come back to from the identity provider.
const returnPath = "/dashboard/session/return"

// AccessSettings say who may come in.
type AccessSettings struct {
	AdminToken    secret.String `env:"ADMIN_TOKEN" form:"long" doc:"administrator's token, 128 bits (openssl rand -hex 32); signalbox token makes others"`
	PublicRead    bool          `env:"PUBLIC_READ" envDefault:"false" doc:"everybody who reaches the server may read; false: from this machine alone where LISTEN is a loopback address, else with the right viewer"`
	PublicMetrics bool          `env:"PUBLIC_METRICS" envDefault:"false" doc:"everybody who reaches the server may read /metrics"`
	AccessRoles   access.Rules  `env:"ACCESS_ROLES" doc:"rights of people whom the identity provider or the proxy names, as group=role,user:name=role@owner/name+owner/name,*=viewer"`
}

func (s Settings) checkAccess(wrong func(name, format string, args ...any)) {
	if s.OIDC.Issuer != "" && s.PublicURL == "" {
		wrong("OIDC_ISSUER", "needs ORCH_PUBLIC_URL, where people come back to")
	}
	if strings.HasPrefix(s.Listen, service.SocketKind) && s.PublicURL == "" {
		wrong("PUBLIC_URL", "is missing: ORCH_LISTEN is a socket, at which people find the server by a proxy alone")
	}
	if s.Proxy.Groups != "" && s.Proxy.User == "" {
		wrong("PROXY_GROUPS_HEADER", "needs ORCH_PROXY_USER_HEADER")
	}
	if own := limit.UserOf(uint32(os.Getuid())); slices.ContainsFunc(s.Proxy.From, func(t limit.Trusted) bool { return t.User == own }) {
		wrong("PROXY_USERS_FROM", "has %s, the user of this server and of its agents: run the proxy as another one", own)
	}
	if s.Proxy.Secret.IsSet() && s.Proxy.User == "" {
		wrong("PROXY_SECRET", "needs ORCH_PROXY_USER_HEADER")
	}
	for _, domain := range s.OIDC.TrustEmail {
		if !strings.Contains(domain, ".") || strings.Contains(domain, "@") {
			wrong("OIDC_TRUST_EMAIL", "has %q, want domains, such as acme.org", domain)
		}
	}
	if people := s.OIDC.Issuer != "" || s.Proxy.User != ""; people != (len(s.AccessRoles) > 0) {
		wrong("ACCESS_ROLES", "gives rights to people whom ORCH_OIDC_ISSUER or ORCH_PROXY_USER_HEADER names, "+
			"so it is set when one of them is: *=viewer lets all of them read")
	}
}

// guard says who may do what.
func (s Settings) guard(store access.Store, log *slog.Logger) (*access.Guard, error) {
	o := access.Options{
		Store:         store,
		AdminToken:    s.AdminToken.Reveal(),
		Rules:         s.AccessRoles,
		Local:         access.IsLoopback(s.Listen),
		PublicRead:    s.PublicRead,
		PublicMetrics: s.PublicMetrics,
		Proxy:         s.Proxy,
		Log:           log,
	}
	if s.OIDC.Issuer != "" {
		with := s.OIDC
		with.RedirectURL, with.Client = strings.TrimSuffix(s.PublicURL, "/")+returnPath, s.client()
		p, err := oidc.New(with)
		if err != nil {
			return nil, err
		}
		o.Provider = p
	}
	return access.New(o), nil
}

// Client returns a client for the server that the settings describe, and its address: a socket's is of no host.
func (s Settings) Client() (c *http.Client, base string) {
	path, is := strings.CutPrefix(s.Listen, service.SocketKind)
	if !is {
		return http.DefaultClient, "http://" + s.Listen
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", path)
	}
	return &http.Client{Transport: &http.Transport{DialContext: dial}}, "http://localhost"
}

// OpenStore opens the database alone, as commands do that need nothing else. Close it.
func OpenStore(ctx context.Context, s Settings, log *slog.Logger) (Database, error) {
	v := &Service{Settings: s, Log: log}
	if err := v.openDatabase(ctx); err != nil {
		return nil, fmt.Errorf("the database cannot be opened: %w", err)
	}
	return v.DB, nil
}

// access says who may come in.
func (d *doctor) access(ctx context.Context, v *Service) {
	a := d.of("access")
	s := v.Settings
	made, err := v.DB.Tokens(ctx)
	if err != nil {
		a.Bad("%w", err)
		return
	}
	ways := []string{}
	if s.AdminToken.IsSet() {
		ways = append(ways, Prefix+"ADMIN_TOKEN")
	}
	if len(made) > 0 {
		ways = append(ways, fmt.Sprintf("%d named tokens (signalbox token list)", len(made)))
	}
	if s.OIDC.Issuer != "" {
		ways = append(ways, s.OIDC.Issuer)
	}
	if s.Proxy.User != "" {
		ways = append(ways, "the header "+s.Proxy.User)
	}
	if s.Proxy.SharesAddress() {
		a.Warn("each user of this machine may name anybody in %s: let the proxy use a unix socket (ORCH_LISTEN=unix:<path>, "+
			"ORCH_PROXY_USERS_FROM=uid:<its user>), or set ORCH_PROXY_SECRET and have it send that as X-Signalbox-Proxy", s.Proxy.User)
	}
	local := access.IsLoopback(s.Listen)
	switch {
	case len(ways) == 0:
		a.Warn("no token is made yet: the first start shows one, once; or signalbox token add <name> --role admin")
	default:
		a.OK("people are identified by %s", strings.Join(ways, ", "))
	}
	switch {
	case s.PublicRead:
		a.Warn("whoever reaches the server may read everything (ORCH_PUBLIC_READ)")
	case local:
		a.OK("reading is open on this machine, and needs the right viewer from elsewhere")
	}
	for _, t := range made {
		if !t.Live(time.Now()) {
			a.Warn("the token %s has expired: signalbox token revoke %s", t.Name, t.Name)
		}
	}
}
