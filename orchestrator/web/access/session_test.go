package access_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
)

// signIn begins a session and returns its cookie.
func (r *rig) signIn(token string, header ...string) *http.Cookie {
	r.Helper()
	w := httptest.NewRecorder()
	_, err := r.SignIn(w, request("192.0.2.1", header...), token, "/dash/")
	require.NoError(r, err)
	list := w.Result().Cookies()
	require.Len(r, list, 1)
	return list[0]
}

func (r *rig) with(c *http.Cookie, header ...string) access.Principal {
	r.Helper()
	req := request("192.0.2.1", header...)
	req.AddCookie(c)
	p, err := r.Identify(req)
	require.NoError(r, err)
	return p
}

// A session ends when it is not used for an hour, after twelve hours, and with its token.
func TestSessionEnds(t *testing.T) {
	t.Parallel()
	r := open(t, access.Options{})
	ann := r.add("ann", "operator", time.Time{})
	c := r.signIn(ann)
	require.Equal(t, "signalbox_session /dash/ false", fmt.Sprint(c.Name, " ", c.Path, " ", c.Secure))
	require.True(t, c.HttpOnly && c.SameSite == http.SameSiteStrictMode)
	list, err := r.Store.Sessions(t.Context())
	require.NoError(t, err)
	require.Equal(t, []access.Session{{ID: access.Hash(c.Value), Name: "ann", Via: access.ViaToken, Credential: access.Hash(ann), From: "192.0.2.1", Began: r.now, Seen: r.now}}, list)
	require.Equal(t, "ann", r.with(c).Name)
	r.now = r.now.Add(time.Hour)
	require.Empty(t, r.with(c).Name, "it was not used for an hour")
	c = r.signIn(ann)
	list, err = r.Store.Sessions(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 1, "the one before is removed")
	for range 14 {
		r.now = r.now.Add(50 * time.Minute)
		require.Equal(t, "ann", r.with(c).Name)
	}
	r.now = r.now.Add(20 * time.Minute)
	require.Empty(t, r.with(c).Name, "twelve hours are over")
	c = r.signIn(ann)
	_, err = r.Store.DropToken(t.Context(), "ann")
	require.NoError(t, err)
	require.Empty(t, r.with(c).Name)
	r.add("ann", "admin", time.Time{})
	require.Empty(t, r.with(c).Name, "another token of the name is another one")
}

// Over https a browser takes the cookie from this host alone, and the server no other.
func TestHostCookie(t *testing.T) {
	t.Parallel()
	r := open(t, access.Options{AdminToken: "x"})
	c := r.signIn("x", "X-Forwarded-Proto", "https")
	require.Equal(t, "__Host-signalbox_session / true", fmt.Sprint(c.Name, " ", c.Path, " ", c.Secure))
	require.Empty(t, c.Domain)
	require.Equal(t, "admin", r.with(c, "X-Forwarded-Proto", "https").Name)
	c.Name = "signalbox_session"
	require.Empty(t, r.with(c, "X-Forwarded-Proto", "https").Name, "a neighbour of the domain could have set it")
}

// Signing out ends the session wherever its cookie is, and all of a name when that is meant.
func TestSignOut(t *testing.T) {
	t.Parallel()
	r := open(t, access.Options{})
	ann, bea := r.add("ann", "viewer", time.Time{}), r.add("bea", "viewer", time.Time{})
	one, two, three, other := r.signIn(ann), r.signIn(ann), r.signIn(ann), r.signIn(bea)
	out := func(c *http.Cookie, all bool) {
		w, req := httptest.NewRecorder(), request("192.0.2.1")
		req.AddCookie(c)
		require.NoError(t, r.SignOut(w, req, "/dash/", all))
		require.Equal(t, -1, w.Result().Cookies()[0].MaxAge)
	}
	out(one, false)
	require.Empty(t, r.with(one).Name)
	require.Equal(t, "ann", r.with(two).Name)
	out(two, true)
	require.Empty(t, r.with(three).Name)
	require.Equal(t, "bea", r.with(other).Name)
	out(one, true)
	require.Equal(t, "bea", r.with(other).Name)
}

// provider signs one person in.
type provider struct {
	who  access.Person
	err  error
	asks []access.Challenge
}

func (p *provider) Begin(_ context.Context, c access.Challenge) (string, error) {
	p.asks = append(p.asks, c)
	return "https://id.example.org/?state=" + c.State, p.err
}

func (p *provider) Finish(_ context.Context, code string, c access.Challenge) (access.Person, error) {
	if p.err == nil && (code != "good" || c != p.asks[len(p.asks)-1]) {
		return access.Person{}, errors.New("invalid_grant")
	}
	return p.who, p.err
}

// back is a browser that comes from the provider with what it was sent away with.
func (r *rig) back(away *httptest.ResponseRecorder, query url.Values) (access.Principal, string, []*http.Cookie, error) {
	r.Helper()
	req := request("192.0.2.1")
	req.URL.RawQuery = query.Encode()
	for _, c := range away.Result().Cookies() {
		require.Equal(r, http.SameSiteLaxMode, c.SameSite)
		req.AddCookie(c)
	}
	w := httptest.NewRecorder()
	p, next, err := r.ComeBack(w, req, "/dash/")
	return p, next, w.Result().Cookies(), err
}

func TestProvider(t *testing.T) {
	t.Parallel()
	at := &provider{who: access.Person{Name: "ann", Groups: []string{"devs"}, Subject: "https://id.example.org#42"}}
	r := open(t, access.Options{Provider: at, Rules: rules(t), AdminToken: "x"})
	send := func() *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		require.NoError(t, r.SendAway(w, request("192.0.2.1"), "/dash/", "tasks/7?a=b.c"))
		return w
	}
	away := send()
	state := at.asks[0].State
	require.Equal(t, "https://id.example.org/?state="+state, away.Header().Get("Location"))
	p, next, got, err := r.back(away, url.Values{"code": {"good"}, "state": {state}})
	require.NoError(t, err)
	require.Equal(t, "ann (provider) tasks/7?a=b.c", p.String()+" "+next)
	session := got[len(got)-1]
	require.Equal(t, "[operator@acme/app releaser viewer]", fmt.Sprint(r.with(session).Grants))
	require.Equal(t, "https://id.example.org#42", r.with(session).By(stage.ViaDashboard).Subject)
	at.who.Subject = "https://id.example.org#43" // who has the name now is somebody else
	p, _, _, err = r.back(send(), url.Values{"code": {"good"}, "state": {at.asks[1].State}})
	require.NoError(t, err)
	require.Equal(t, "[operator@acme/app viewer]", fmt.Sprint(p.Grants))
	for name, query := range map[string]url.Values{
		"another state": {"code": {"good"}, "state": {"x"}}, "no state": {"code": {"good"}}, "no code": {"state": {state}}, "a wrong code": {"code": {"bad"}, "state": {state}},
	} {
		_, _, got, err := r.back(away, query)
		require.NotZero(t, status(err), name)
		require.Len(t, got, 1, name)
	}
	_, _, _, err = r.back(httptest.NewRecorder(), url.Values{"code": {"good"}, "state": {""}})
	require.Equal(t, http.StatusForbidden, status(err), "a browser that was not sent away")

	// A provider that is lost keeps nobody out who has a token, or a session.
	at.err = errors.New("no route")
	require.Equal(t, http.StatusBadGateway, status(r.SendAway(httptest.NewRecorder(), request("192.0.2.1"), "/dash/", "")))
	require.Equal(t, "ann", r.with(session).Name)
	require.Equal(t, "admin", r.with(r.signIn("x")).Name)

	// The rules are those of now.
	r.SetRules(nil)
	require.Empty(t, r.with(session).Grants)
	at.err = nil
	away = send()
	_, _, _, err = r.back(away, url.Values{"code": {"good"}, "state": {at.asks[len(at.asks)-1].State}})
	require.Equal(t, http.StatusForbidden, status(err), "who has no right does not come in")
}

// The first token is made once, and where there is no other way in.
func TestFirstToken(t *testing.T) {
	t.Parallel()
	r := open(t, access.Options{Local: true})
	secret, err := r.FirstToken(t.Context())
	require.NoError(t, err)
	p, err := r.ByToken(request("192.0.2.1"), secret)
	require.NoError(t, err)
	require.True(t, p.May(access.Admin, ""))
	secret, err = r.FirstToken(t.Context())
	require.NoError(t, err)
	require.Empty(t, secret)
	for _, o := range []access.Options{{AdminToken: "x"}, {Provider: &provider{}}, {Proxy: proxy()}} {
		secret, err := open(t, o).FirstToken(t.Context())
		require.NoError(t, err)
		require.Empty(t, secret)
	}
}
