package github

import (
	"cmp"
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
	"net/url"
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
	now func() time.Time

	installations *expirable.LRU[string, int64] // by owner/name in small letters
	tokens        *expirable.LRU[int64, *gh.InstallationToken]
}

// newApp reads the key.
func newApp(a App, now func() time.Time) (*app, error) {
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
		App: a, key: key, now: now,
		installations: expirable.NewLRU[string, int64](knownMax, nil, 0),
		tokens:        expirable.NewLRU[int64, *gh.InstallationToken](knownMax, nil, 0),
	}, nil
}

// proof is a JSON web token that proves the app to GitHub, for some minutes.
func (a *app) proof() (string, error) {
	now := a.now()
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
	if c.app, err = newApp(a, c.opt.Now); err != nil {
		return err
	}
	with := func(token func(*http.Request) (string, error)) *gh.Client {
		to := restclient.Transport(c.opt.HTTPClient)
		to.Transport = bearer{to.Transport, token}
		return gh.NewClient(to)
	}
	c.app.api = with(func(*http.Request) (string, error) { return c.app.proof() })
	c.api = with(func(r *http.Request) (string, error) {
		about, _ := r.Context().Value(aboutRepo{}).(string)
		repo := cmp.Or(about, repoOf(c.api.BaseURL, r.URL.Path))
		if repo == "" {
			return "", errNoRepo
		}
		return c.installationToken(r.Context(), repo)
	})
	return nil
}

// bearer is a transport that signs each request.
type bearer struct {
	next  http.RoundTripper
	token func(*http.Request) (string, error)
}

// RoundTrip implements http.RoundTripper.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	token, err := b.token(r)
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+token)
	return b.next.RoundTrip(r)
}

// repoOf is the repository that a path of the API is about; empty when it is about none.
func repoOf(base *url.URL, path string) string {
	parts := strings.SplitN(strings.TrimPrefix(path, base.Path), "/", 4)
	if len(parts) < 3 || parts[0] != "repos" {
		return ""
	}
	return parts[1] + "/" + parts[2]
}

// installationToken gives a token of the installation for a repository, which lasts some minutes at least.
func (c *Client) installationToken(ctx context.Context, repo string) (string, error) {
	id, err := c.installation(ctx, repo)
	if err != nil {
		return "", err
	}
	a := c.app
	if known, ok := a.tokens.Get(id); ok && a.now().Before(known.GetExpiresAt().Add(-renewAhead)) {
		return known.GetToken(), nil
	}
	fresh, _, err := a.api.Apps.CreateInstallationToken(ctx, id, &gh.InstallationTokenOptions{})
	if err = c.convert(ctx, "a token of the app's installation", err); err != nil {
		a.installations.Remove(strings.ToLower(repo)) // the app may have been installed anew
		return "", err
	}
	if fresh.GetToken() == "" {
		return "", unreadable("a token of the app's installation")
	}
	a.tokens.Add(id, fresh)
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
	if id, ok := a.installations.Get(strings.ToLower(repo)); ok {
		return id, nil
	}
	found, _, err := a.api.Apps.FindRepositoryInstallation(ctx, owner, name)
	if err = c.convert(ctx, "the app's installation for "+repo, err); err != nil {
		return 0, err
	}
	if found.GetID() == 0 {
		return 0, unreadable("the app's installation for " + repo)
	}
	a.installations.Add(strings.ToLower(repo), found.GetID())
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

// errNoRepo means that a request is about no repository: an installation has no account.
var errNoRepo error = &Error{Service: service, What: "an app has no account", Cause: githost.ErrDenied}
