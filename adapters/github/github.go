// Package github talks to GitHub with go-github: CI results, reviews, pull
// requests, branches, and webhooks. GitHub Enterprise and the fake in
// forgetest are reached by another base address.
package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	gh "github.com/google/go-github/v60/github"
	"github.com/hashicorp/golang-lru/v2/expirable"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/defaults"
	"github.com/signalbox-dev/signalbox/internal/restclient"
	"github.com/signalbox-dev/signalbox/orchestrator/signature"
)

// Options of a Client. Token or App is required; so is one of Secrets for webhooks,
// unless Insecure.
type Options struct {
	BaseURL    string // of the REST API; empty = https://api.github.com/
	Token      string
	App        *App              // signs in in the place of Token
	Secrets    signature.Secrets // of the webhooks
	Insecure   bool              // take unsigned webhooks while there are no Secrets
	HTTPClient *http.Client
	Now        func() time.Time
}

// Bounds of what is kept in mind: rules change seldom, and each look at CI needs them; and a crowd of strangers must not use up
// the token's limit with every review.
const (
	knownFor = 5 * time.Minute
	knownMax = 1000
)

// Client implements githost.Host, githost.Branches and githost.Receiver. It is
// safe for concurrent use.
type Client struct {
	*edge

	opt Options
	api *gh.Client

	app   *app         // nil: a token is used
	files *http.Client // without the token

	self        atomic.Pointer[string] // the token's account; nil until it has answered
	permissions *expirable.LRU[string, permission]
	rules       *expirable.LRU[string, knownRules] // of branches, by repository and branch
	names       githost.Names
}

// New checks the options. It does not call the network.
func New(o Options) (*Client, error) {
	if o.Token == "" && o.App == nil {
		return nil, errors.New("github: Token is missing: a token that may read checks and write contents and pull requests")
	}
	defaults.Fill(&o)
	c := &Client{
		edge: restclient.NewEdge(scheme, o.Secrets, o.Insecure), opt: o, files: plain(o.HTTPClient),
		permissions: expirable.NewLRU[string, permission](knownMax, nil, 0),
		rules:       expirable.NewLRU[string, knownRules](knownMax, nil, 0),
	}
	if o.App == nil {
		c.api = gh.NewClient(restclient.Transport(o.HTTPClient)).WithAuthToken(o.Token)
	} else if err := c.signInAsApp(*o.App); err != nil {
		return nil, err
	}
	if o.BaseURL != "" {
		u, err := url.Parse(strings.TrimSuffix(o.BaseURL, "/") + "/")
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
			return nil, errors.New("github: BaseURL must be the address of the REST API, such as https://github.example.org/api/v3/")
		}
		c.api.BaseURL = u
		if c.app != nil {
			c.app.api.BaseURL = u
		}
	}
	return c, nil
}

// Ping reads the account of the token, or the app.
func (c *Client) Ping(ctx context.Context) error {
	if c.app != nil {
		_, _, err := c.app.api.Apps.Get(ctx, "")
		return c.convert(ctx, "the app", err)
	}
	_, _, err := c.api.Users.Get(ctx, "")
	return c.convert(ctx, "the token's account", err)
}

// send makes a request that go-github has no call for, or none that reads enough.
func (c *Client) send(ctx context.Context, api *gh.Client, what, method, path string, in, out any) (*gh.Response, error) {
	req, err := api.NewRequest(method, path, in)
	if err != nil {
		return nil, fmt.Errorf("github: %s: %w", what, err)
	}
	resp, err := api.Do(ctx, req, out)
	return resp, c.convert(ctx, what, err)
}

func split(repo string) (owner, name string, err error) { return restclient.SplitRepo(service, repo) }

func splitAt(repo, sha string) (owner, name string, err error) {
	return restclient.SplitRepoAt(service, repo, sha)
}

// unknownCommit makes a read's 422 what it means: there is no such commit.
func unknownCommit(err error) error {
	if e := (*Error)(nil); errors.As(err, &e) && e.Status == http.StatusUnprocessableEntity {
		e.Cause = githost.ErrNotFound
	}
	return err
}

// pagesMax is more pages than anybody has.
const pagesMax = 30

// next goes to the next page. Pages that lead back, or never end, are an error: what is
// missing could be what failed.
func next(page *int, resp *gh.Response) (more bool, err error) {
	if resp.NextPage == 0 {
		return false, nil
	}
	if resp.NextPage <= *page || resp.NextPage > pagesMax {
		what := fmt.Sprintf("page %d of a list leads to page %d", max(*page, 1), resp.NextPage)
		return false, &Error{Service: service, Status: http.StatusOK, What: what, Again: true}
	}
	*page = resp.NextPage
	return true, nil
}

// BranchesAt implements githost.Branches.
func (c *Client) BranchesAt(ctx context.Context, repo, sha string) ([]string, error) {
	owner, name, err := splitAt(repo, sha)
	if err != nil {
		return nil, err
	}
	list, _, err := c.api.Repositories.ListBranchesHeadCommit(ctx, owner, name, sha)
	if err != nil {
		return nil, unknownCommit(c.convert(ctx, "the branches of "+repo, err))
	}
	if list == nil {
		return nil, unreadable("the branches of " + repo)
	}
	var out []string
	for _, b := range list {
		out = append(out, b.GetName())
	}
	return out, nil
}

// DeleteBranch implements githost.Branches. One that GitHub keeps, such as a
// protected branch, is ErrDenied.
func (c *Client) DeleteBranch(ctx context.Context, repo, branch string) error {
	owner, name, err := split(repo)
	if err != nil {
		return err
	}
	if branch == "" || strings.Contains(branch, "..") {
		return fmt.Errorf("github: branch %q is not a name", branch)
	}
	what := "branch " + branch + " of " + repo
	_, err = c.api.Git.DeleteRef(ctx, owner, name, "heads/"+branch)
	switch status(err) {
	case http.StatusNotFound:
		return nil
	case http.StatusUnprocessableEntity: // gone already, or kept
	default:
		return c.convert(ctx, what, err)
	}
	ref, _, err := c.api.Git.GetRef(ctx, owner, name, "heads/"+branch)
	if err == nil && ref.GetRef() == "" {
		return unreadable(what)
	}
	if err == nil {
		return fmt.Errorf("github: %s: GitHub keeps it: %w", what, githost.ErrDenied)
	}
	if err = c.convert(ctx, what, err); errors.Is(err, githost.ErrNotFound) {
		return nil
	}
	return err
}
