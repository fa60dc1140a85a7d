// Package gitea talks to Gitea (1.22 and newer) and Forgejo (7 and newer) by their REST
// interface, which is one: CI results, reviews, pull requests, branches, and webhooks.
// forgetest has a double of such a server.
//
// CI is commit statuses alone: Gitea Actions report as statuses too. A merge is made in
// the style that the repository allows.
package gitea

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/golang-lru/v2/expirable"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/defaults"
	"github.com/signalbox-dev/signalbox/internal/restclient"
	"github.com/signalbox-dev/signalbox/orchestrator/signature"
)

// Options of a Client. BaseURL and Token are required; so is one of Secrets for
// webhooks, unless Insecure.
type Options struct {
	BaseURL    string // of the server, such as https://git.example.org
	Token      string
	Secrets    signature.Secrets // of the webhooks
	Insecure   bool              // take unsigned webhooks while there are no Secrets
	HTTPClient *http.Client
	Now        func() time.Time
	// Comparing is for how long a pull request may be shown as not mergeable until it counts
	// as one that conflicts: while its branches are compared it looks the same. 0 = 20 s;
	// less = no time at all.
	Comparing time.Duration
}

// Bounds of what is kept in mind, so that a crowd of strangers does not make a request with every review: for how long, and
// of how many.
const (
	knownFor = 5 * time.Minute
	knownMax = 1000
)

// Client implements githost.Host, githost.Branches, githost.Receiver, githost.Examiner, githost.Details and githost.Commenter.
// It is safe for concurrent use.
type Client struct {
	*edge

	opt  Options
	base *url.URL
	rest *restclient.Client

	self        atomic.Pointer[string] // the token's account; nil until it has answered
	permissions *expirable.LRU[string, permission]
	names       githost.Names
	comparing   *expirable.LRU[string, time.Time] // since when a pull request was not mergeable yet
	sights      *expirable.LRU[string, sighted]   // of base branches, by repository and branch
}

// New checks the options. It does not call the network.
func New(o Options) (*Client, error) {
	if o.Token == "" {
		return nil, errors.New("gitea: Token is missing: a token with the scopes write:repository and read:user")
	}
	base := strings.TrimSuffix(strings.TrimSuffix(o.BaseURL, "/"), "/api/v1")
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return nil, errors.New("gitea: BaseURL must be the address of the server, such as https://git.example.org")
	}
	defaults.Fill(&o)
	o.Comparing = cmp.Or(o.Comparing, comparingMax)
	c := &Client{
		edge: restclient.NewEdge(scheme, o.Secrets, o.Insecure), opt: o, base: u,
		permissions: expirable.NewLRU[string, permission](knownMax, nil, 0),
		comparing:   expirable.NewLRU[string, time.Time](knownMax, nil, 0),
		sights:      expirable.NewLRU[string, sighted](knownMax, nil, 0),
	}
	client := restclient.Transport(o.HTTPClient)
	client.Transport = renaming{client.Transport, &c.names}
	c.rest = &restclient.Client{
		Service: service, Base: base + "/api/v1", HTTP: client, Now: o.Now, Refuse: refuse,
		Sign: func(r *http.Request, _ string) { r.Header.Set("Authorization", "token "+o.Token) },
	}
	return c, nil
}

// Ping reads the account of the token.
func (c *Client) Ping(ctx context.Context) error {
	_, err := c.me(ctx)
	return err
}

// me is the login of the token's account.
func (c *Client) me(ctx context.Context) (string, error) {
	const what = "the token's account"
	var me user
	if err := c.get(ctx, what, "/user", &me); err != nil {
		return "", err
	}
	if me.Login == "" {
		return "", unreadable(what)
	}
	return me.Login, nil
}

// repoPath is the path of a repository.
func repoPath(repo string) (string, error) {
	_, _, err := restclient.SplitRepo(service, repo)
	return inRepoPrefix + repo, err
}

// commitPath is repoPath for a call that names a commit too.
func commitPath(repo, sha string) (string, error) {
	_, _, err := restclient.SplitRepoAt(service, repo, sha)
	return inRepoPrefix + repo, err
}

// branchPath is the path of a branch, whose slashes stay.
func branchPath(repo, branch string) (string, error) {
	if branch == "" || strings.Contains(branch, "..") {
		return "", fmt.Errorf("gitea: branch %q is not a name: %w", branch, githost.ErrNotFound)
	}
	at, err := repoPath(repo)
	return at + "/branches/" + escape(branch), err
}

// escape escapes a path for a URL, but for its slashes.
func escape(path string) string {
	parts := strings.Split(path, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return strings.Join(parts, "/")
}
