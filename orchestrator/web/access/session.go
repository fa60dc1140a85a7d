package access

import (
	"context"
	"crypto/subtle"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Ends of a session: when it was not used for so long, and in any case.
const (
	sessionIdle = time.Hour
	sessionEnd  = 12 * time.Hour
	touchEvery  = time.Minute // how exactly it is noted when a session was used
)

// Names of cookies. Over https they have the prefix by which browsers take them from this very
// host alone, for all its paths.
const (
	sessionCookie = "signalbox_session"
	loginCookie   = "signalbox_login"
	hostPrefix    = "__Host-"
	loginTime     = 10 * time.Minute // that a person has at the identity provider
)

// secure reports whether a request came by https, to this process or to a proxy before it. A
// client that lies makes its own cookies useless, and no other's.
func secure(r *http.Request) bool {
	return r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https"
}

func cookieName(r *http.Request, name string) string {
	if secure(r) {
		return hostPrefix + name
	}
	return name
}

// Cookie is a cookie for a path, over https for the host; age 0 removes it.
func Cookie(r *http.Request, name, value, path string, age time.Duration) *http.Cookie {
	c := &http.Cookie{
		Name: cookieName(r, name), Value: value, Path: path, MaxAge: int(age.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: secure(r),
	}
	if c.Secure {
		c.Path = "/"
	}
	if age <= 0 {
		c.MaxAge = -1
	}
	return c
}

// sent is a request's cookie of a name; empty = none.
func sent(r *http.Request, name string) string {
	c, err := r.Cookie(cookieName(r, name))
	if err != nil {
		return ""
	}
	return c.Value
}

// over reports whether a session has ended by time.
func (s Session) over(now time.Time) bool {
	return now.Sub(s.Seen) >= sessionIdle || now.Sub(s.Began) >= sessionEnd
}

// session finds who has signed in. ok: it has.
func (g *Guard) session(r *http.Request) (p Principal, ok bool, err error) {
	value, now := sent(r, sessionCookie), g.Now()
	if value == "" {
		return p, false, nil
	}
	s, found, err := g.Store.Session(r.Context(), Hash(value))
	switch {
	case err != nil:
		g.Log.Error("a session cannot be read", "err", err)
		return p, false, noStore()
	case !found || s.over(now):
		return p, false, nil
	}
	if s.Via == ViaProvider {
		grants := g.rules.Load().grants(Person{s.Name, s.Groups, s.Credential})
		p = Principal{Name: s.Name, Via: s.Via, Subject: s.Credential, Grants: grants}
	} else {
		t, err := g.tokenOf(r.Context(), s.Credential)
		if err != nil || t.Name == "" { // revoked, expired, or replaced in the settings
			return p, false, err
		}
		p = principalOf(t)
	}
	if now.Sub(s.Seen) >= touchEvery {
		if err := g.Store.TouchSession(r.Context(), s.ID, now); err != nil {
			g.Log.Warn("the use of a session is not noted", "err", err)
		}
	}
	return p, true, nil
}

// SignIn begins a session by a token; its cookie is for a path.
func (g *Guard) SignIn(w http.ResponseWriter, r *http.Request, given, path string) (Principal, error) {
	t, err := g.token(r, given)
	if err != nil {
		return Principal{}, err
	}
	p := g.mark(r, principalOf(t))
	return p, g.begin(w, r, Session{Name: t.Name, Via: ViaToken, Credential: t.Hash, From: p.From}, path)
}

// begin keeps a session and sends its cookie. Those that have ended are removed meanwhile.
func (g *Guard) begin(w http.ResponseWriter, r *http.Request, s Session, path string) error {
	value := Draw()
	s.ID, s.Began, s.Seen = Hash(value), g.Now(), g.Now()
	if err := g.Store.AddSession(r.Context(), s); err != nil {
		return err
	}
	err := g.drop(r.Context(), func(o Session) bool { return o.over(s.Began) })
	if err != nil {
		g.Log.Warn("sessions that have ended are not removed", "err", err)
	}
	g.Log.Info("a session has begun", "name", s.Name, "via", s.Via, "remote", s.From)
	http.SetCookie(w, Cookie(r, sessionCookie, value, path, sessionEnd))
	return nil
}

// drop ends the sessions that f selects.
func (g *Guard) drop(ctx context.Context, f func(Session) bool) error {
	all, err := g.Store.Sessions(ctx)
	var ids []string
	for _, s := range all {
		if f(s) {
			ids = append(ids, s.ID)
		}
	}
	if len(ids) == 0 {
		return err
	}
	return g.Store.DropSessions(ctx, ids...)
}

// SignOut ends the session of a request in every process that shares the store; with all, every
// session of the same name too.
func (g *Guard) SignOut(w http.ResponseWriter, r *http.Request, path string, all bool) error {
	http.SetCookie(w, Cookie(r, sessionCookie, "", path, 0))
	value := sent(r, sessionCookie)
	if value == "" {
		return nil
	}
	s, found, err := g.Store.Session(r.Context(), Hash(value))
	if err != nil || !found {
		return err
	}
	if !all {
		return g.Store.DropSessions(r.Context(), s.ID)
	}
	return g.drop(r.Context(), func(o Session) bool { return o.Name == s.Name && o.Via == s.Via })
}

// Provider signs people in elsewhere, such as an OpenID Connect provider. Its errors are those of
// the provider; a Refusal is for the person.
type Provider interface {
	// Begin is the address at which a person signs in.
	Begin(ctx context.Context, c Challenge) (address string, err error)
	// Finish exchanges the code that the person came back with.
	Finish(ctx context.Context, code string, c Challenge) (Person, error)
}

// Challenge ties an answer of the provider to the browser that was sent there, and to the
// process that has sent it: three secrets of 128 bits or more.
type Challenge struct{ State, Nonce, Verifier string }

// SendAway sends a browser to the provider; next is where it goes afterwards.
func (g *Guard) SendAway(w http.ResponseWriter, r *http.Request, path, next string) error {
	c := Challenge{Draw(), Draw(), Draw() + Draw()} // a verifier has 43 characters or more
	address, err := g.Provider.Begin(r.Context(), c)
	if err != nil {
		return g.away(err)
	}
	cookie := Cookie(r, loginCookie, strings.Join([]string{c.State, c.Nonce, c.Verifier, next}, "."), path, loginTime)
	cookie.SameSite = http.SameSiteLaxMode // the way back begins at the provider
	http.SetCookie(w, cookie)
	w.Header().Set("Location", address)
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

// away tells a person that a provider does not answer.
func (g *Guard) away(err error) error {
	if errors.As(err, new(*Refusal)) {
		return err
	}
	g.Log.Warn("the identity provider does not answer as it should", "err", err)
	return &Refusal{
		Status: http.StatusBadGateway, Kind: "provider",
		Text: "The identity provider does not answer. Sign in with a token meanwhile; the pipeline goes on.",
	}
}

// ComeBack begins the session of a person who comes from the provider. It returns where the
// person wanted to go.
func (g *Guard) ComeBack(w http.ResponseWriter, r *http.Request, path string) (p Principal, next string, err error) {
	part := strings.SplitN(sent(r, loginCookie), ".", 4)
	http.SetCookie(w, Cookie(r, loginCookie, "", path, 0))
	q := r.URL.Query()
	if len(part) != 4 || subtle.ConstantTimeCompare([]byte(part[0]), []byte(q.Get("state"))) != 1 || q.Get("code") == "" {
		return p, "", &Refusal{
			Status: http.StatusForbidden, Kind: "sign-in",
			Text: "This answer of the identity provider belongs to no sign-in of this browser, or came too late. Sign in again.",
		}
	}
	who, err := g.Provider.Finish(r.Context(), q.Get("code"), Challenge{part[0], part[1], part[2]})
	if err != nil {
		return p, "", g.away(err)
	}
	p = g.mark(r, Principal{Name: who.Name, Via: ViaProvider, Subject: who.Subject, Grants: g.rules.Load().grants(who)})
	if !p.MaySomewhere(Viewer) {
		return p, "", g.refusal(p, Viewer, "")
	}
	s := Session{Name: who.Name, Via: ViaProvider, Credential: who.Subject, Groups: slices.Clone(who.Groups), From: p.From}
	return p, part[3], g.begin(w, r, s, path)
}
