package access_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/secret"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access/accesstest"
	"github.com/signalbox-dev/signalbox/orchestrator/web/limit"
)

func TestMemoryConformance(t *testing.T) {
	accesstest.Run(t, func(*testing.T) (first, second access.Store) { s := access.NewMemory(); return s, s })
}

// rig is a guard with a clock.
type rig struct {
	*testing.T
	*access.Guard
	now time.Time
}

func open(t *testing.T, o access.Options) *rig {
	t.Helper()
	r := &rig{T: t, now: time.Date(2031, 5, 4, 8, 0, 0, 0, time.UTC)}
	o.Now = func() time.Time { return r.now }
	r.Guard = access.New(o)
	return r
}

// add makes a token.
func (r *rig) add(name, grant string, expires time.Time) string {
	r.Helper()
	g, err := access.ParseGrant(grant)
	require.NoError(r, err)
	token, secret, err := access.NewToken(name, g, r.now, expires)
	require.NoError(r, err)
	_, err = r.Store.AddToken(r.Context(), token)
	require.NoError(r, err)
	return secret
}

// request is one from a peer, with headers in pairs.
func request(peer string, header ...string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/dash/x", nil)
	r.RemoteAddr = peer + ":4711"
	for pair := range slices.Chunk(header, 2) {
		r.Header.Set(pair[0], pair[1])
	}
	return r
}

// status is that of a refusal, or 0.
func status(err error) int {
	var no *access.Refusal
	if errors.As(err, &no) {
		return no.Status
	}
	return 0
}

func TestRoles(t *testing.T) {
	t.Parallel()
	for i, role := range access.Roles() {
		for k, other := range access.Roles() {
			require.Equal(t, i >= k, role.Includes(other), "%s %s", role, other)
		}
		require.True(t, role.Includes(access.Everybody))
	}
	require.False(t, access.Role("").Includes(access.Viewer))
	require.False(t, access.Everybody.Includes(access.Viewer))
	require.False(t, access.Admin.Includes("king"))
	p := access.Principal{Grants: []access.Grant{{Role: access.Operator, Repos: []string{"acme/app"}}, {Role: access.Viewer, Repos: []string{"acme/web"}}}}
	require.True(t, p.May(access.Operator, "ACME/app"))
	require.False(t, p.May(access.Operator, "acme/web"))
	require.False(t, p.May(access.Viewer, ""), "not in all")
	require.True(t, p.MaySomewhere(access.Operator))
	require.False(t, access.Principal{}.MaySomewhere(access.Viewer))
	for text, want := range map[string]string{"king": "no role", "viewer@": "want owner/name", "viewer@app": "want owner/name", "viewer@a/b+/c": "want owner/name"} {
		_, err := access.ParseGrant(text)
		require.ErrorContains(t, err, want, text)
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	r := open(t, access.Options{AdminToken: "of the settings"})
	ann, old := r.add("ann", "operator@acme/app", time.Time{}), r.add("old", "admin", r.now.Add(time.Hour))
	bearer := func(token string) (access.Principal, error) {
		return r.Identify(request("192.0.2.1", "Authorization", "bearer "+token))
	}
	p, err := bearer(ann)
	require.NoError(t, err)
	require.Equal(t, "ann (token)", p.String())
	require.False(t, p.Shared)
	by := p.By(stage.ViaAPI)
	require.Len(t, by.Request, 16)
	by.Request = ""
	require.Equal(t, stage.Principal{Kind: stage.KindOperator, ID: "ann", Via: stage.ViaAPI, Proof: stage.ProofToken, From: "192.0.2.1"}, by)
	p, err = bearer("of the settings")
	require.NoError(t, err)
	require.True(t, p.May(access.Admin, "") && p.Shared)
	_, err = bearer(old)
	require.NoError(t, err)
	r.now = r.now.Add(time.Hour)
	_, err = bearer(old)
	require.Equal(t, http.StatusUnauthorized, status(err), "it has expired")
	_, err = r.Store.DropToken(t.Context(), "ann")
	require.NoError(t, err)
	_, err = bearer(ann)
	require.Equal(t, http.StatusUnauthorized, status(err), "it is revoked")
	for range 3 {
		_, err = bearer("guess")
	}
	require.Equal(t, http.StatusUnauthorized, status(err))
	_, err = bearer("guess")
	require.Equal(t, http.StatusTooManyRequests, status(err))
	_, err = bearer("of the settings")
	require.NoError(t, err, "the right one is not locked out")
	for _, name := range []string{"", "admin", "a b", "-x", strings.Repeat("x", 65)} {
		_, _, err := access.NewToken(name, access.Grant{Role: access.Viewer}, r.now, time.Time{})
		require.ErrorContains(t, err, "want letters", name)
	}
	_, secret, err := access.NewToken("x", access.Grant{Role: access.Viewer}, r.now, time.Time{})
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(secret), len("sbx_")+26, "130 bits in base 32")
}

// What a request may do that brings nothing depends on where it comes from, and on what is
// configured.
func TestNobody(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		o    access.Options
		r    *http.Request
		want string
	}{
		"here, nothing configured":    {access.Options{Local: true}, request("127.0.0.1"), " [viewer]"},
		"here by IPv6":                {access.Options{Local: true}, request("[::1]"), " [viewer]"},
		"here, with a token":          {access.Options{Local: true, AdminToken: "x"}, request("127.0.0.1"), " [viewer]"},
		"here, with a provider":       {access.Options{Local: true, Provider: &provider{}}, request("127.0.0.1"), " [viewer]"},
		"here, through a proxy":       {access.Options{Local: true}, request("127.0.0.1", "X-Forwarded-For", "192.0.2.1"), " []"},
		"here, by another name":       {access.Options{Local: true}, named(request("127.0.0.1"), "box.example.org"), " []"},
		"elsewhere, local listener":   {access.Options{Local: true}, request("192.0.2.1"), " []"},
		"here, listener for all":      {access.Options{}, request("127.0.0.1"), " []"},
		"elsewhere":                   {access.Options{AdminToken: "x"}, request("192.0.2.1"), " []"},
		"elsewhere, reading is open":  {access.Options{PublicRead: true}, request("192.0.2.1"), " [viewer]"},
		"a header of no proxy":        {access.Options{Proxy: proxy(), Rules: rules(t)}, request("192.0.2.1", "X-User", "ann"), " []"},
		"the proxy":                   {access.Options{Proxy: proxy(), Rules: rules(t)}, request("10.1.0.9", "X-User", "ann"), "ann [viewer]"},
		"the proxy, with groups":      {access.Options{Proxy: proxy(), Rules: rules(t)}, request("10.1.0.9", "X-User", "ann", "X-Groups", "a, devs"), "ann [operator@acme/app viewer]"},
		"the proxy names a group":     {access.Options{Proxy: proxy(), Rules: rules(t)}, request("10.1.0.9", "X-User", "devs"), "devs [viewer]"},
		"the proxy, one of the rules": {access.Options{Proxy: proxy(), Rules: rules(t)}, request("10.1.0.9", "X-User", "kim"), "kim [admin viewer]"},
		"the proxy, with its secret":  {access.Options{Proxy: secretive(), Rules: rules(t)}, request("10.1.0.9", "X-User", "ann", "X-Signalbox-Proxy", "of the proxy"), "ann [viewer]"},
		"its address, without it":     {access.Options{Proxy: secretive(), Rules: rules(t)}, request("10.1.0.9", "X-User", "ann"), " []"},
		"its address, with another":   {access.Options{Proxy: secretive(), Rules: rules(t)}, request("10.1.0.9", "X-User", "ann", "X-Signalbox-Proxy", "of the prox"), " []"},
		"the proxy names nobody":      {access.Options{Proxy: proxy(), Rules: rules(t)}, request("10.1.0.9"), " []"},
	} {
		p, err := open(t, c.o).Identify(c.r)
		require.NoError(t, err, name)
		require.Equal(t, c.want, fmt.Sprint(p.Name, " ", p.Grants), name)
	}
}

func named(r *http.Request, host string) *http.Request { r.Host = host; return r }

func proxy() access.Proxy {
	return access.Proxy{User: "X-User", Groups: "X-Groups", From: []limit.Trusted{{Prefix: netip.MustParsePrefix("10.1.0.0/16")}}}
}

func secretive() access.Proxy {
	p := proxy()
	p.Secret = secret.New("of the proxy")
	return p
}

// Others than the proxy can call from loopback addresses, also where a wider prefix has them.
func TestSharesAddress(t *testing.T) {
	t.Parallel()
	for prefix, shared := range map[string]bool{"127.0.0.1/32": true, "::1/128": true, "0.0.0.0/0": true, "127.8.0.0/16": true, "10.0.0.5/32": false, "fd00::/8": false} {
		p := access.Proxy{User: "X-User", From: []limit.Trusted{{Prefix: netip.MustParsePrefix(prefix)}}}
		require.Equal(t, shared, p.SharesAddress(), prefix)
		p.Secret = secret.New("of the proxy")
		require.False(t, p.SharesAddress(), prefix)
	}
}

func rules(t *testing.T) (out access.Rules) {
	t.Helper()
	require.NoError(t, out.UnmarshalText([]byte("devs=operator@acme/app,user:kim=admin,sub:42=releaser,*=viewer")))
	for _, wrong := range []string{"devs", "=viewer", "devs=king", "devs=viewer,"} {
		require.Error(t, new(access.Rules).UnmarshalText([]byte(wrong)), wrong)
	}
	return out
}

// The proxy is who has connected, whoever it says has sent the request.
func TestProxyBehindTheSender(t *testing.T) {
	t.Parallel()
	g := open(t, access.Options{Proxy: proxy(), Rules: rules(t)})
	var p access.Principal
	h := limit.Behind(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { p, _ = g.Identify(r) }), []limit.Trusted{{Prefix: netip.MustParsePrefix("10.1.0.0/16")}})
	h.ServeHTTP(httptest.NewRecorder(), request("10.1.0.9", "X-User", "ann", "X-Forwarded-For", "192.0.2.1"))
	require.Equal(t, "ann 192.0.2.1", p.Name+" "+p.From)
	h.ServeHTTP(httptest.NewRecorder(), request("192.0.2.1", "X-User", "ann", "X-Forwarded-For", "10.1.0.9"))
	require.Equal(t, " 192.0.2.1", p.Name+" "+p.From)
}

// Each refusal says what is missing and who can give it.
func TestRefusals(t *testing.T) {
	t.Parallel()
	r := open(t, access.Options{AdminToken: "x"})
	ann := access.Principal{Name: "ann", Via: access.ViaToken, Grants: []access.Grant{{Role: access.Viewer, Repos: []string{"acme/app"}}}}
	bea := access.Principal{Name: "bea", Via: access.ViaProvider}
	for text, err := range map[string]error{
		"This needs the right operator of acme/app, which ann (token) does not have. An administrator of the server can give it: signalbox token revoke and add.": r.Check(ann, access.Operator, "acme/app"),
		"This needs the right viewer of its repository, which ann (token)":                                                                                        r.Check(ann, access.Viewer, "acme/secret"),
		"This needs the right admin in all repositories, which bea (provider)":                                                                                    r.Check(bea, access.Admin, ""),
		"An administrator of the server can give it: ORCH_ACCESS_ROLES.":                                                                                          r.Check(bea, access.Admin, ""),
		"signalbox token add <name> --role viewer.":                                                                                                               r.Check(access.Principal{}, access.Viewer, ""),
		"This needs the right viewer in all repositories, and nobody is signed in. Sign in at the":                                                                r.Check(access.Principal{}, access.Viewer, ""),
	} {
		require.ErrorContains(t, err, text)
	}
	require.NoError(t, r.Check(ann, access.Viewer, "acme/app"))
	require.Equal(t, http.StatusForbidden, status(r.Check(ann, access.Viewer, "")))
	require.Equal(t, http.StatusUnauthorized, status(r.Check(access.Principal{}, access.Viewer, "")))
}

func ExampleGuard() {
	g := access.New(access.Options{AdminToken: "a secret of 128 bits"})
	mux, err := g.Mux(access.Table{
		Routes: []access.Route{{Method: "GET", Pattern: "/secrets", Needs: access.Viewer, Of: access.Every, Handler: http.NotFoundHandler()}},
		Refuse: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusForbidden)
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, token := range []string{"a secret of 128 bits", "a guess"} {
		r := httptest.NewRequest(http.MethodGet, "/secrets", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		fmt.Println(w.Code)
	}
	// Output:
	// 404
	// 403
}
