package access

import (
	"context"
	"crypto/subtle"
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
	"github.com/signalbox-dev/signalbox/orchestrator/web/limit"
)

// Options of a Guard.
type Options struct {
	Store         Store    // nil = NewMemory
	AdminToken    string   // valid beside those of the store, as the token named admin; empty = none
	Rules         Rules    // rights of people that the provider or the proxy names; SetRules replaces them
	Provider      Provider // nil = none
	Proxy         Proxy    // the zero Proxy = none
	Local         bool     // the server listens on this machine alone: requests from here may read without a token
	PublicRead    bool     // everybody may read
	PublicMetrics bool     // everybody may read metrics
	Guesses       *limit.Guesses
	Now           func() time.Time // nil = time.Now
	NewID         func() string    // of requests; nil = Draw
	Log           *slog.Logger     // nil discards
}

// Guard identifies who sends requests, and judges what they may do. It is safe for concurrent use.
type Guard struct {
	Options
	rules atomic.Pointer[Rules] // in force
}

// New makes a Guard.
func New(o Options) *Guard {
	if o.Store == nil {
		o.Store = NewMemory()
	}
	if o.Guesses == nil {
		o.Guesses = new(limit.Guesses)
	}
	defaults.Fill(&o)
	if o.NewID == nil {
		o.NewID = func() string { return Draw()[:16] }
	}
	g := &Guard{Options: o}
	g.SetRules(o.Rules)
	return g
}

// SetRules replaces the rights of people: those who are signed in have the new ones at once.
func (g *Guard) SetRules(l Rules) { g.rules.Store(&l) }

// Refusal says why a request is not served, with the status and words of its answer.
type Refusal struct {
	Status int
	Kind   string // for machines
	Text   string
	Wait   time.Duration // until the next try; 0 = none
}

// Error is the text.
func (r *Refusal) Error() string { return r.Text }

// Header sets what goes with the answer.
func (r *Refusal) Header(h http.Header) {
	if r.Wait > 0 {
		h.Set("Retry-After", limit.RetryAfter(r.Wait))
	}
	if r.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="signalbox"`)
	}
}

// Number reads a number of a query, which is n without one. What is wrong with another is a Refusal.
func Number(r *http.Request, name string, n int64, wrong string, least, most int64) (int64, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return n, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least || n > most {
		return 0, &Refusal{Status: http.StatusBadRequest, Kind: "bad-parameter", Text: name + wrong}
	}
	return n, nil
}

// Identify returns who has sent a request: by its session, a proxy that is trusted, its token,
// or by where it comes from. Who says nothing is nobody; a wrong token is a Refusal.
func (g *Guard) Identify(r *http.Request) (Principal, error) {
	p, err := g.identify(r)
	return g.mark(r, p), err
}

// mark adds what the journal has of a request.
func (g *Guard) mark(r *http.Request, p Principal) Principal {
	p.From, p.Request = limit.Sender(r), g.NewID()
	return p
}

func (g *Guard) identify(r *http.Request) (Principal, error) {
	if p, ok, err := g.session(r); ok || err != nil {
		return p, err
	}
	if who, ok := g.Proxy.person(r); ok {
		return Principal{Name: who.Name, Via: viaProxy, Grants: g.rules.Load().grants(who)}, nil
	}
	if scheme, given, sent := strings.Cut(r.Header.Get("Authorization"), " "); sent && strings.EqualFold(scheme, "Bearer") {
		t, err := g.token(r, given)
		return principalOf(t), err
	}
	return g.nobody(r), nil
}

// ByToken identifies by a token that came otherwise than in the header, such as in a form.
func (g *Guard) ByToken(r *http.Request, given string) (Principal, error) {
	t, err := g.token(r, given)
	return g.mark(r, principalOf(t)), err
}

func principalOf(t Token) Principal {
	if t.Name == "" {
		return Principal{}
	}
	return Principal{Name: t.Name, Via: ViaToken, Shared: t.Name == adminName || t.Name == firstName, Grants: []Grant{t.Grant}}
}

// tokens are the valid ones, that of the settings too.
func (g *Guard) tokens(ctx context.Context) ([]Token, error) {
	kept, err := g.Store.Tokens(ctx)
	if err != nil {
		g.Log.Error("tokens cannot be read", "err", err)
		err = noStore()
	}
	var out []Token
	if g.AdminToken != "" {
		out = append(out, Token{Name: adminName, Hash: Hash(g.AdminToken), Grant: Grant{Role: Admin}})
	}
	for _, t := range kept {
		if t.Live(g.Now()) {
			out = append(out, t)
		}
	}
	return out, err
}

// noStore tells a person that the store does not answer.
func noStore() error {
	return &Refusal{Status: http.StatusServiceUnavailable, Kind: "store", Text: "The store does not answer. Try again in a moment."}
}

// tokenOf finds a valid token by its hash. That of the settings needs no store.
func (g *Guard) tokenOf(ctx context.Context, hash string) (found Token, err error) {
	all, err := g.tokens(ctx)
	for _, t := range all {
		if subtle.ConstantTimeCompare([]byte(t.Hash), []byte(hash)) == 1 {
			return t, nil
		}
	}
	return Token{}, err
}

// token finds the token that was sent, within what may be guessed.
func (g *Guard) token(r *http.Request, given string) (t Token, err error) {
	ok, wait := g.Guesses.Try(limit.Sender(r), g.Now(), func() bool {
		t, err = g.tokenOf(r.Context(), Hash(given))
		return t.Name != ""
	})
	switch {
	case wait > 0:
		return Token{}, &Refusal{
			Status: http.StatusTooManyRequests, Kind: "guesses", Wait: wait,
			Text: "Too many wrong tokens were sent. Wait before the next one.",
		}
	case err != nil:
		return Token{}, err
	case !ok:
		return Token{}, &Refusal{
			Status: http.StatusUnauthorized, Kind: "bad-token",
			Text: "This is no token of this server, or one that has expired or was revoked. " +
				"An administrator makes one: signalbox token add <name> --role <role>.",
		}
	}
	return t, nil
}

// nobody returns a sender who has said nothing: what is open to it depends on where it comes from.
func (g *Guard) nobody(r *http.Request) Principal {
	if g.PublicRead || g.Local && fromHere(r) {
		return Principal{Grants: []Grant{{Role: Viewer}}}
	}
	return Principal{}
}

// Check judges whether a principal has a right in a repository (empty = in all). The error is a
// Refusal that says which right is missing and who can give it.
func (g *Guard) Check(p Principal, need Role, repo string) error {
	if p.May(need, repo) {
		return nil
	}
	of := " in all repositories"
	switch {
	case repo != "" && p.Reads(repo):
		of = " of " + repo
	case repo != "":
		of = " of its repository"
	}
	return g.refusal(p, need, of)
}

func (g *Guard) refusal(p Principal, need Role, of string) error {
	if p.Name == "" {
		how := "Sign in at the dashboard, or send a token: Authorization: Bearer <token>."
		if g.Provider == nil && g.Proxy.User == "" {
			how += " The operator of the server has ORCH_ADMIN_TOKEN, " +
				"and makes others: signalbox token add <name> --role " + string(need) + "."
		}
		text := fmt.Sprintf("This needs the right %s%s, and nobody is signed in. %s", need, of, how)
		return &Refusal{Status: http.StatusUnauthorized, Kind: "sign-in", Text: text}
	}
	give := "signalbox token revoke and add"
	if p.Via != ViaToken {
		give = "ORCH_ACCESS_ROLES"
	}
	text := fmt.Sprintf("This needs the right %s%s, which %s does not have. "+
		"An administrator of the server can give it: %s.", need, of, p, give)
	return &Refusal{Status: http.StatusForbidden, Kind: "no-right", Text: text}
}

// fromHere reports whether a request comes from this machine itself, and through no proxy that
// says so.
func fromHere(r *http.Request) bool {
	for _, name := range []string{"X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip", "Forwarded", "Via"} {
		if r.Header.Get(name) != "" {
			return false
		}
	}
	return IsLoopback(r.RemoteAddr) && IsLoopback(r.Host)
}

// IsLoopback reports whether an address, with a port or without, is this machine's own.
func IsLoopback(address string) bool {
	host := address
	if name, _, err := net.SplitHostPort(address); err == nil {
		host = name
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && ip.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
}

// FirstToken makes the first token, of an administrator, where there is none and no other way to
// be identified. It returns what to show, once; empty: none was needed.
func (g *Guard) FirstToken(ctx context.Context) (secret string, err error) {
	kept, err := g.Store.Tokens(ctx)
	if err != nil || len(kept) > 0 || g.AdminToken != "" || g.Provider != nil || g.Proxy.User != "" {
		return "", err
	}
	t, secret, err := NewToken(firstName, Grant{Role: Admin}, g.Now(), time.Time{})
	added := false
	if err == nil {
		added, err = g.Store.AddToken(ctx, t)
	}
	if err != nil || !added { // another server was quicker
		return "", err
	}
	return secret, nil
}
