package app_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/app"
	"github.com/signalbox-dev/signalbox/internal/oidctest"
)

// visitor is a browser elsewhere, at the address that people reach the server by.
type visitor struct {
	*testing.T
	handler http.Handler
	cookies map[string]string
}

func (v *visitor) request(method, path string, header ...string) *httptest.ResponseRecorder {
	v.Helper()
	r := httptest.NewRequest(method, "https://box.example.org"+path, nil)
	for pair := range slices.Chunk(header, 2) {
		r.Header.Set(pair[0], pair[1])
	}
	for name, value := range v.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	w := httptest.NewRecorder()
	v.handler.ServeHTTP(w, r)
	for _, c := range w.Result().Cookies() {
		require.True(v, strings.HasPrefix(c.Name, "__Host-") && c.Secure && c.HttpOnly && c.Path == "/" && c.Domain == "", c.String())
		if v.cookies[c.Name] = c.Value; c.MaxAge < 0 {
			delete(v.cookies, c.Name)
		}
	}
	return w
}

// A stranger learns that the service lives; the first token opens the rest.
func TestAccessFromElsewhere(t *testing.T) {
	s := open(t, "ORCH_LISTEN=0.0.0.0:8080", "ORCH_HOSTS=box.example.org")
	v := &visitor{t, s.Handler, map[string]string{}}
	first, err := s.Access.FirstToken(t.Context())
	require.NoError(t, err)
	for path, want := range map[string][2]int{
		"/healthz": {200, 200}, "/readyz": {200, 200}, "/api/gps-tracks/health": {200, 200}, "/tasks": {401, 200}, "/queue": {401, 200}, "/events?after=x": {401, 400},
		"/metrics": {401, 200}, "/dashboard/": {401, 200}, "/dashboard/journal": {401, 200}, "/dashboard/nothing": {401, 404}, "/dashboard/assets/dash.css": {200, 200},
	} {
		stranger, known := v.request(http.MethodGet, path), v.request(http.MethodGet, path, "Authorization", "Bearer "+first)
		require.Equal(t, want, [2]int{stranger.Code, known.Code}, path)
		require.NotContains(t, stranger.Body.String(), "acme/app", path)
	}
	require.NotContains(t, v.request(http.MethodGet, "/readyz").Body.String(), "checks")
	require.Contains(t, v.request(http.MethodGet, "/readyz", "Authorization", "Bearer "+first).Body.String(), `"database": "ok"`)
	require.Equal(t, http.StatusUnauthorized, v.request(http.MethodPost, "/api/gps-tracks/cache/clear", "Authorization", "Bearer guess").Code)
	require.Less(t, v.request(http.MethodPost, "/api/gps-tracks/cache/clear", "Authorization", "Bearer "+first).Code, 300)
	said, _ := diagnosis(t, s, app.Examination{})
	require.Regexp(t, `ok +access +people are identified by 1 named tokens`, said)
	again, err := s.Access.FirstToken(t.Context())
	require.NoError(t, err)
	require.Empty(t, again)

	open := &visitor{t, open(t, "ORCH_LISTEN=0.0.0.0:8080", "ORCH_HOSTS=box.example.org", "ORCH_PUBLIC_READ=true", "ORCH_PUBLIC_METRICS=true").Handler, map[string]string{}}
	for path, want := range map[string]int{"/tasks": 200, "/metrics": 200, "/dashboard/": 200} {
		require.Equal(t, want, open.request(http.MethodGet, path).Code, path)
	}
	require.Equal(t, http.StatusUnauthorized, open.request(http.MethodPost, "/tasks/1/retry").Code)
}

// People sign in at a provider, through real redirects; when it is lost, tokens let in.
func TestAccessByProvider(t *testing.T) {
	const token = "0123456789abcdef0123456789abcdef"
	provider, err := oidctest.New("box", "client-secret", map[string]any{"email": "ann@example.org", "email_verified": true, "groups": []string{"devs"}})
	require.NoError(t, err)
	at := httptest.NewServer(provider)
	defer at.Close()
	provider.Issuer = at.URL
	s := open(t, "ORCH_LISTEN=0.0.0.0:8080", "ORCH_HOSTS=box.example.org", "ORCH_PUBLIC_URL=https://box.example.org", "ORCH_ADMIN_TOKEN="+token,
		"ORCH_OIDC_ISSUER="+at.URL, "ORCH_OIDC_CLIENT_ID=box", "ORCH_OIDC_CLIENT_SECRET=client-secret", "ORCH_ACCESS_ROLES=devs=viewer@acme/app,ops=admin")
	v := &visitor{t, s.Handler, map[string]string{}}
	require.Contains(t, v.request(http.MethodGet, "/dashboard/").Body.String(), "Sign in with the identity provider")
	away := v.request(http.MethodGet, "/dashboard/session/provider?next=queue")
	require.Equal(t, http.StatusSeeOther, away.Code, away.Body)
	resp, err := (&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Get(away.Header().Get("Location"))
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	back, err := url.Parse(resp.Header.Get("Location"))
	require.NoError(t, err)
	require.Equal(t, "box.example.org", back.Host)
	arrived := v.request(http.MethodGet, back.RequestURI())
	require.Equal(t, http.StatusOK, arrived.Code, arrived.Body)
	require.Contains(t, arrived.Body.String(), `<meta http-equiv="refresh" content="0; url=../queue">`)
	require.Len(t, v.cookies, 1, "of the session alone")
	require.Contains(t, v.request(http.MethodGet, "/dashboard/queue").Body.String(), "ann@example.org")
	refused := v.request(http.MethodPost, "/dashboard/repos/unfreeze?repo=acme/app")
	require.Equal(t, http.StatusForbidden, refused.Code)
	require.Contains(t, refused.Body.String(), "the right releaser, which ann@example.org (provider) does not have")
	require.NotEqual(t, http.StatusOK, (&visitor{t, s.Handler, map[string]string{}}).request(http.MethodGet, back.RequestURI()).Code, "another browser")

	at.Close()
	lost := &visitor{t, s.Handler, map[string]string{}}
	require.Equal(t, http.StatusOK, v.request(http.MethodGet, "/dashboard/").Code, "a session goes on")
	require.Equal(t, http.StatusOK, lost.request(http.MethodGet, "/tasks", "Authorization", "Bearer "+token).Code)
	require.Equal(t, http.StatusSeeOther, v.request(http.MethodPost, "/dashboard/session/end").Code)
	require.Empty(t, v.cookies)
	require.Equal(t, http.StatusUnauthorized, v.request(http.MethodGet, "/dashboard/").Code)
}

func TestAccessSettings(t *testing.T) {
	for text, want := range map[string]string{
		"ORCH_OIDC_ISSUER=https://id":                                "ORCH_OIDC_ISSUER needs ORCH_PUBLIC_URL",
		"ORCH_OIDC_CLIENT_ID=x":                                      "ORCH_OIDC_ISSUER and ORCH_OIDC_CLIENT_ID must be set together",
		"ORCH_PROXY_USER_HEADER=X-User":                              "ORCH_PROXY_USER_HEADER and ORCH_PROXY_USERS_FROM must be set together",
		"ORCH_PROXY_GROUPS_HEADER=X-Groups":                          "ORCH_PROXY_GROUPS_HEADER needs",
		"ORCH_PROXY_SECRET=of-the-proxy-of-at-least-128-bits":        "ORCH_PROXY_SECRET needs",
		"ORCH_OIDC_TRUST_EMAIL=true":                                 `ORCH_OIDC_TRUST_EMAIL has "true", want domains`,
		"ORCH_ACCESS_ROLES=*=viewer":                                 "ORCH_ACCESS_ROLES gives rights to people",
		"ORCH_ACCESS_ROLES=devs=king":                                `ORCH_ACCESS_ROLES: "king" is no role`,
		"ORCH_PROXY_USER_HEADER=X ORCH_PROXY_USERS_FROM=10.0.0.5/32": "ORCH_ACCESS_ROLES gives rights to people",
		"ORCH_PROXY_USER_HEADER=X ORCH_PROXY_USERS_FROM=10.0.0.5/32 ORCH_ACCESS_ROLES=*=viewer": "",
	} {
		_, err := app.Load(strings.Fields(text))
		if want == "" {
			require.NoError(t, err, text)
			continue
		}
		require.ErrorContains(t, err, want, text)
	}
}
