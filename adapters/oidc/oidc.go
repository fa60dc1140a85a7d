// Package oidc signs people in at an OpenID Connect provider, for access.Guard: the authorisation
// code flow with PKCE, state and nonce. The provider is called when somebody signs in and at no
// other time, so that losing it stops sign-ins by it and nothing else.
package oidc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	coreos "github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/signalbox-dev/signalbox/internal/defaults"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
)

// Options of a Provider. Issuer, ClientID and RedirectURL are required.
type Options struct {
	Issuer   string `env:"OIDC_ISSUER" with:"OIDC_CLIENT_ID" doc:"address of an OpenID Connect provider, to sign in at; needs PUBLIC_URL"`
	ClientID string `env:"OIDC_CLIENT_ID" doc:"of this server there; its redirect address is PUBLIC_URL and /dashboard/session/return"`

	ClientSecret secret.String `env:"OIDC_CLIENT_SECRET" doc:"of the client"`
	RedirectURL  string        // of the dashboard's page to which people come back, as they reach it
	NameClaim    string        `env:"OIDC_NAME_CLAIM" envDefault:"email" doc:"claim that names people"`
	GroupsClaim  string        `env:"OIDC_GROUPS_CLAIM" envDefault:"groups" doc:"claim that lists their groups"`
	TrustEmail   []string      `env:"OIDC_TRUST_EMAIL" doc:"domains, as acme.org, believed without email_verified: nobody picks an address"`
	Tenants      []string      `env:"OIDC_TENANTS" doc:"tenants (claim tid or hd) whose people may sign in; empty = all"`
	Scopes       []string
	Client       *http.Client // nil = one with a limit of 10 s
	Now          func() time.Time
}

// Provider is an access.Provider. It is safe for concurrent use.
type Provider struct {
	opt Options

	mu    sync.Mutex
	found *coreos.Provider // nil: it has not described itself yet
}

var _ access.Provider = (*Provider)(nil)

// New makes a Provider. It calls nobody.
func New(o Options) (*Provider, error) {
	if o.Issuer == "" || o.ClientID == "" || o.RedirectURL == "" {
		return nil, errors.New("oidc: Options.Issuer, ClientID and RedirectURL are required")
	}
	defaults.Fill(&o)
	if len(o.Scopes) == 0 {
		o.Scopes = []string{coreos.ScopeOpenID, "profile", "email"}
	}
	if o.Client == nil {
		o.Client = &http.Client{Timeout: 10 * time.Second}
	}
	return &Provider{opt: o}, nil
}

// describe reads the provider's description of itself, once.
func (p *Provider) describe(ctx context.Context) (*coreos.Provider, *oauth2.Config, error) {
	p.mu.Lock()
	found := p.found
	p.mu.Unlock()
	if found == nil {
		var err error
		// The context stays with what is found; only its client is meant.
		if found, err = coreos.NewProvider(coreos.ClientContext(context.WithoutCancel(ctx), p.opt.Client), p.opt.Issuer); err != nil {
			return nil, nil, fmt.Errorf("the provider %s: %w", p.opt.Issuer, err)
		}
		p.mu.Lock()
		p.found = found
		p.mu.Unlock()
	}
	return found, &oauth2.Config{
		ClientID: p.opt.ClientID, ClientSecret: p.opt.ClientSecret.Reveal(), Endpoint: found.Endpoint(),
		RedirectURL: p.opt.RedirectURL, Scopes: p.opt.Scopes,
	}, nil
}

// Begin implements access.Provider.
func (p *Provider) Begin(ctx context.Context, c access.Challenge) (string, error) {
	_, config, err := p.describe(ctx)
	if err != nil {
		return "", err
	}
	return config.AuthCodeURL(c.State, coreos.Nonce(c.Nonce), oauth2.S256ChallengeOption(c.Verifier)), nil
}

// Finish implements access.Provider.
func (p *Provider) Finish(ctx context.Context, code string, c access.Challenge) (none access.Person, err error) {
	found, config, err := p.describe(ctx)
	if err != nil {
		return none, err
	}
	given, err := config.Exchange(coreos.ClientContext(ctx, p.opt.Client), code, oauth2.VerifierOption(c.Verifier))
	if err != nil {
		return none, fmt.Errorf("oidc: the code is not exchanged: %w", err)
	}
	raw, _ := given.Extra("id_token").(string)
	token, err := found.Verifier(&coreos.Config{ClientID: p.opt.ClientID, Now: p.opt.Now}).Verify(ctx, raw)
	if err != nil {
		return none, fmt.Errorf("the provider's token: %w", err)
	}
	if token.Nonce != c.Nonce {
		return none, errors.New("oidc: the token is not for this sign-in: its nonce is another one")
	}
	var claims map[string]any
	if err := token.Claims(&claims); err != nil {
		return none, fmt.Errorf("the provider's token: %w", err)
	}
	return p.person(token, claims)
}

// person reads who it is: the issuer's subject. An address of e-mail that the provider does not call verified names
// nobody.
func (p *Provider) person(token *coreos.IDToken, claims map[string]any) (access.Person, error) {
	refuse := func(text string) (access.Person, error) {
		return access.Person{}, &access.Refusal{Status: http.StatusForbidden, Kind: "sign-in", Text: text}
	}
	if len(p.opt.Tenants) > 0 && !slices.ContainsFunc([]string{"tid", "hd"}, func(claim string) bool {
		tenant, _ := claims[claim].(string)
		return slices.Contains(p.opt.Tenants, tenant) // an empty one is not listed
	}) {
		return refuse("The identity provider signs you in for a tenant that is not listed here. ORCH_OIDC_TENANTS lists them.")
	}
	name, _ := claims[p.opt.NameClaim].(string)
	if name == "" || p.opt.NameClaim == "email" && !p.believes(name, claims["email_verified"]) {
		return refuse("The identity provider does not name you by a verified " + p.opt.NameClaim +
			" (email_verified must be true). Its administrator can, ORCH_OIDC_NAME_CLAIM names another claim, " +
			"or ORCH_OIDC_TRUST_EMAIL lists domains whose addresses nobody can choose at this provider.")
	}
	out := access.Person{Name: name, Subject: token.Issuer + "#" + token.Subject}
	switch groups := claims[p.opt.GroupsClaim].(type) {
	case string:
		out.Groups = []string{groups}
	case []any:
		for _, g := range groups {
			if text, ok := g.(string); ok {
				out.Groups = append(out.Groups, text)
			}
		}
	}
	return out, nil
}

// believes reports whether an address is the person's.
func (p *Provider) believes(address string, verified any) bool {
	at := strings.LastIndex(address, "@")
	return verified == true || verified == "true" ||
		slices.ContainsFunc(p.opt.TrustEmail, func(domain string) bool { return strings.EqualFold(domain, address[at+1:]) }) && at > 0
}
