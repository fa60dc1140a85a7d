package github

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	gh "github.com/google/go-github/v60/github"
	"github.com/hashicorp/golang-lru/v2/expirable"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/restclient"
)

// App is a GitHub App by which a Client signs in, in the place of a token: each installation of
// it gives tokens that last an hour.
type App struct {
	ID           string // its App ID or client ID
	Key          string // its private key, PEM
	Installation int64  // 0 = that of each repository is looked up
}

// Bounds of what the app signs.
const (
	proofTime  = 9 * time.Minute // GitHub takes at most ten
	clockSlack = time.Minute
	renewAhead = 5 * time.Minute // before the end of a token
)

// app gives the tokens of the installations.
type app struct {
	App
	key *rsa.PrivateKey
	api *gh.Client // signs in as the app itself

	tokens *expirable.LRU[string, *gh.InstallationToken] // by owner/name in small letters
}

// newApp reads the key.
func newApp(a App) (*app, error) {
	block, _ := pem.Decode([]byte(strings.ReplaceAll(a.Key, `\n`, "\n")))
	if a.ID == "" || block == nil {
		return nil, errors.New("github: App wants an ID, and as Key the private key in PEM that GitHub gives for download")
	}
	key, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	if err != nil {
		parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		rsaKey, ok := parsed.(*rsa.PrivateKey)
		if err != nil || !ok {
			return nil, errors.New("github: App.Key is no RSA private key")
		}
		key = rsaKey
	}
	return &app{
		App: a, key: key, tokens: expirable.NewLRU[string, *gh.InstallationToken](knownMax, nil, 0),
	}, nil
}

// proof is a JSON web token that proves the app to GitHub, for some minutes.
func (a *app) proof(now time.Time) (string, error) {
	claims, err := json.Marshal(map[string]any{
		"iat": now.Add(-clockSlack).Unix(),
		"exp": now.Add(proofTime - clockSlack).Unix(),
		"iss": a.ID,
	})
	if err != nil {
		return "", err
	}
	encode := base64.RawURLEncoding.EncodeToString
	text := encode([]byte(`{"alg":"RS256","typ":"JWT"}`)) + "." + encode(claims)
	sum := sha256.Sum256([]byte(text))
	signed, err := rsa.SignPKCS1v15(rand.Reader, a.key, crypto.SHA256, sum[:])
	return text + "." + encode(signed), err
}

// signInAsApp makes the clients that sign in as the app, and as its installations.
func (c *Client) signInAsApp(a App) (err error) {
	if c.app, err = newApp(a); err != nil {
		return err
	}
	c.app.api = c.signed(bearer{token: func(*http.Request) (string, error) { return c.app.proof(c.opt.Now()) }})
	c.api = c.signed(bearer{
		token: func(r *http.Request) (string, error) {
			if repo := c.repoOf(r); repo != "" {
				return c.installationToken(r.Context(), repo)
			}
			return "", &Error{Service: service, What: "an app has no account", Cause: githost.ErrDenied}
		},
		refused: func(r *http.Request) { c.app.tokens.Remove(strings.ToLower(c.repoOf(r))) },
	})
	return nil
}

// signed makes a client whose requests are signed.
func (c *Client) signed(by bearer) *gh.Client {
	to := restclient.Transport(c.opt.HTTPClient)
	by.next = to.Transport
	to.Transport = by
	return gh.NewClient(to)
}

// bearer is a transport that signs each request. With refused, one that is refused is sent again by another token: GitHub
// may end one before its time, and its clock may be ahead of ours.
type bearer struct {
	next    http.RoundTripper
	token   func(*http.Request) (string, error)
	refused func(*http.Request)
}

// RoundTrip implements http.RoundTripper.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.send(r)
	if err != nil || resp.StatusCode != http.StatusUnauthorized || b.refused == nil {
		return resp, err
	}
	_ = resp.Body.Close() // nobody reads it
	b.refused(r)
	return b.send(r)
}

func (b bearer) send(r *http.Request) (*http.Response, error) {
	token, err := b.token(r)
	if err != nil {
		return nil, err
	}
	out := r.Clone(r.Context())
	out.Header.Set("Authorization", "Bearer "+token)
	if r.GetBody != nil {
		out.Body, _ = r.GetBody() // of bytes, which does not fail
	}
	return b.next.RoundTrip(out)
}

// repoOf is the repository that a request is about; empty when it is about none.
func (c *Client) repoOf(r *http.Request) string {
	parts := strings.SplitN(strings.TrimPrefix(r.URL.Path, c.api.BaseURL.Path), "/", 4)
	if len(parts) < 3 || parts[0] != "repos" {
		about, _ := r.Context().Value(aboutRepo{}).(string)
		return about
	}
	return parts[1] + "/" + parts[2]
}

// installationToken gives a token of the installation for a repository, which lasts some minutes at least.
func (c *Client) installationToken(ctx context.Context, repo string) (string, error) {
	a, key := c.app, strings.ToLower(repo)
	if known, ok := a.tokens.Get(key); ok && c.opt.Now().Before(known.GetExpiresAt().Add(-renewAhead)) {
		return known.GetToken(), nil
	}
	id, err := c.installation(ctx, repo) // each time: the app may have been installed anew, or the repository be another owner's
	if err != nil {
		return "", err
	}
	fresh, _, err := a.api.Apps.CreateInstallationToken(ctx, id, &gh.InstallationTokenOptions{})
	if err = c.convert(ctx, "a token of the app's installation", err); err != nil {
		return "", err
	}
	if fresh.GetToken() == "" {
		return "", unreadable("a token of the app's installation")
	}
	a.tokens.Add(key, fresh)
	return fresh.GetToken(), nil
}

// installation is the installation of the app that sees a repository.
func (c *Client) installation(ctx context.Context, repo string) (int64, error) {
	a := c.app
	if a.Installation != 0 {
		return a.Installation, nil
	}
	owner, name, err := split(repo)
	if err != nil {
		return 0, err
	}
	found, _, err := a.api.Apps.FindRepositoryInstallation(ctx, owner, name)
	if err = c.convert(ctx, "the app's installation for "+repo, err); err != nil {
		return 0, err
	}
	if found.GetID() == 0 {
		return 0, unreadable("the app's installation for " + repo)
	}
	return found.GetID(), nil
}

// Token gives what git signs in with to a repository, which lasts some minutes at least.
func (c *Client) Token(ctx context.Context, repo string) (string, error) {
	if c.app == nil {
		return c.opt.Token, nil
	}
	return c.installationToken(ctx, repo)
}

// Rights reads the name of the app and the permissions that it lacks to work on a repository; none where the Client signs
// in with a token, whose rights GitHub does not show.
func (c *Client) Rights(ctx context.Context, repo string) (app string, lacks []string, err error) {
	if c.app == nil {
		return "", nil, nil
	}
	owner, name, err := split(repo)
	if err != nil {
		return "", nil, err
	}
	var got struct {
		Slug        string            `json:"app_slug"`
		Permissions map[string]string `json:"permissions"`
	}
	what, path := "the app's installation for "+repo, fmt.Sprintf("repos/%s/%s/installation", owner, name)
	if _, err := c.send(ctx, c.app.api, what, http.MethodGet, path, nil, &got); err != nil {
		return "", nil, err
	}
	for right, want := range map[string]string{ // that the service needs
		"checks": "read", "statuses": "read", "actions": "read", "metadata": "read",
		"contents": "write", "pull_requests": "write", "issues": "write",
	} {
		if have := got.Permissions[right]; have != want && have != "write" && have != "admin" {
			lacks = append(lacks, right+" ("+want+")")
		}
	}
	slices.Sort(lacks)
	return got.Slug, lacks, nil
}
