package oidc_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/oidc"
	"github.com/signalbox-dev/signalbox/internal/oidctest"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
)

// rig is a provider with its server.
func rig(t *testing.T, change func(*oidc.Options)) (*oidctest.Server, *oidc.Provider, *httptest.Server) {
	t.Helper()
	server, err := oidctest.New("signalbox", "secret", map[string]any{"email": "ann@example.org", "email_verified": true, "groups": []string{"devs", "ops"}})
	require.NoError(t, err)
	at := httptest.NewServer(server)
	t.Cleanup(at.Close)
	server.Issuer = at.URL
	o := oidc.Options{Issuer: at.URL, ClientID: "signalbox", ClientSecret: secret.New("secret"), RedirectURL: "https://box.example.org/dashboard/session/return"}
	if change != nil {
		change(&o)
	}
	p, err := oidc.New(o)
	require.NoError(t, err)
	return server, p, at
}

// visit is the browser at the provider: it returns the address that it is sent back to.
func visit(t *testing.T, address string) url.Values {
	t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Get(address)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusSeeOther, resp.StatusCode)
	back, err := resp.Location()
	require.NoError(t, err)
	require.Equal(t, "box.example.org", back.Host)
	return back.Query()
}

func challenge() access.Challenge {
	return access.Challenge{State: access.Draw(), Nonce: access.Draw(), Verifier: access.Draw() + access.Draw()}
}

func TestSignIn(t *testing.T) {
	server, p, _ := rig(t, nil)
	c := challenge()
	address, err := p.Begin(t.Context(), c)
	require.NoError(t, err)
	require.NotContains(t, address, c.Verifier)
	back := visit(t, address)
	require.Equal(t, c.State, back.Get("state"))
	_, err = p.Finish(t.Context(), back.Get("code"), access.Challenge{State: c.State, Nonce: c.Nonce, Verifier: c.Verifier + "x"})
	require.ErrorContains(t, err, "invalid_grant", "another verifier")
	for name, claims := range map[string]map[string]any{
		"nonce": {"email": "ann@example.org", "nonce": "another"}, "expired": {"email": "ann@example.org", "exp": 1},
		"different provider": {"email": "ann@example.org", "iss": "https://evil.example.org"}, "audience": {"email": "ann@example.org", "aud": "another"},
		"verified email": {"email": "ann@example.org", "email_verified": false}, "by a verified": {"sub": "1"},
		"email_verified must be true": {"email": "ann@example.org"}, "ORCH_OIDC_TRUST_EMAIL": {"email": "ann@example.org", "email_verified": "false"},
		"(email_verified": {"email": "ann@example.org", "email_verified": 0},
	} {
		server.Set(claims)
		_, err := p.Finish(t.Context(), visit(t, address).Get("code"), c)
		require.ErrorContains(t, err, name)
	}
	for text, claims := range map[string]map[string]any{
		"{ann@example.org [devs ops] 1}": {"email": "ann@example.org", "email_verified": true, "groups": []string{"devs", "ops"}},
		"{ann@example.org [devs] 1}":     {"email": "ann@example.org", "email_verified": "true", "groups": "devs"},
		"{ann@example.org [] 7}":         {"email": "ann@example.org", "email_verified": true, "groups": 7, "sub": "7"},
	} {
		server.Set(claims)
		who, err := p.Finish(t.Context(), visit(t, address).Get("code"), c)
		require.NoError(t, err)
		require.Equal(t, text, strings.Replace(fmt.Sprint(who), server.Issuer+"#", "", 1))
		require.Contains(t, who.Subject, server.Issuer+"#")
	}
}

// Addresses that nobody has verified are believed of listed domains alone, and people of listed tenants come in.
func TestTrust(t *testing.T) {
	server, p, _ := rig(t, func(o *oidc.Options) {
		o.TrustEmail, o.Tenants = []string{"acme.org"}, []string{"t-1", "acme.org"}
	})
	c := challenge()
	address, err := p.Begin(t.Context(), c)
	require.NoError(t, err)
	for name, claims := range map[string]map[string]any{
		"":              {"email": "ann@Acme.org", "tid": "t-1"},
		"an hd":         {"email": "ann@acme.org", "hd": "acme.org", "wrong": ""},
		"no tenant":     {"email": "ann@acme.org", "wrong": "ORCH_OIDC_TENANTS"},
		"another's":     {"email": "boss@acme.org", "tid": "t-2", "wrong": "ORCH_OIDC_TENANTS"},
		"another place": {"email": "boss@acme.org", "tenant": "t-1", "wrong": "ORCH_OIDC_TENANTS"},
		"a list":        {"email": "boss@acme.org", "tid": []string{"t-1"}, "wrong": "ORCH_OIDC_TENANTS"},
		"other domain":  {"email": "ann@evil.org", "tid": "t-1", "wrong": "ORCH_OIDC_TRUST_EMAIL"},
		"sub-domain":    {"email": "ann@x.acme.org", "tid": "t-1", "wrong": "ORCH_OIDC_TRUST_EMAIL"},
		"no address":    {"email": "acme.org", "tid": "t-1", "wrong": "ORCH_OIDC_TRUST_EMAIL"},
		"two of them":   {"email": "ann@acme.org@evil.org", "tid": "t-1", "wrong": "ORCH_OIDC_TRUST_EMAIL"},
	} {
		server.Set(claims)
		_, err := p.Finish(t.Context(), visit(t, address).Get("code"), c)
		if wrong, _ := claims["wrong"].(string); wrong != "" {
			require.ErrorContains(t, err, wrong, name)
			continue
		}
		require.NoError(t, err, name)
	}
}

// A provider that is away is looked for again at the next sign-in.
func TestAway(t *testing.T) {
	away := true
	_, p, _ := rig(t, func(o *oidc.Options) {
		o.Client = &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			if away {
				return nil, errors.New("no route")
			}
			return http.DefaultTransport.RoundTrip(r)
		})}
	})
	_, err := p.Begin(t.Context(), challenge())
	require.ErrorContains(t, err, "no route")
	away = false
	_, err = p.Begin(t.Context(), challenge())
	require.NoError(t, err)
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func Example() {
	_, err := oidc.New(oidc.Options{Issuer: "https://id.example.org", ClientID: "signalbox"})
	fmt.Println(err)
	// Output: oidc: Options.Issuer, ClientID and RedirectURL are required
}
