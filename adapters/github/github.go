// Package github talks to GitHub with go-github: CI results, reviews, pull
// requests, branches, and webhooks. GitHub Enterprise and the fake in
// githubtest are reached by another base address.
package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	gh "github.com/google/go-github/v60/github"

	"github.com/signalbox-dev/signalbox/githost"
)

// Options of a Client. Token is required; so is Secret for webhooks, unless
// Insecure.
type Options struct {
	BaseURL    string // of the REST API; empty = https://api.github.com/
	Token      string
	Secret     string // of the webhooks
	Insecure   bool   // take unsigned webhooks
	HTTPClient *http.Client
	Now        func() time.Time
}

// Client implements githost.Host, githost.Branches and githost.Receiver. It is
// safe for concurrent use.
type Client struct {
	opt Options
	api *gh.Client
}

// New checks the options. It does not call the network.
func New(o Options) (*Client, error) {
	if o.Token == "" {
		return nil, errors.New("github: Token is missing: a token that may read checks and write contents and pull requests")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	api := gh.NewClient(transport(o.HTTPClient)).WithAuthToken(o.Token)
	if o.BaseURL != "" {
		u, err := url.Parse(strings.TrimSuffix(o.BaseURL, "/") + "/")
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, errors.New("github: BaseURL must be the address of the REST API, such as https://github.example.org/api/v3/")
		}
		api.BaseURL = u
	}
	return &Client{opt: o, api: api}, nil
}

// Ping asks who the token belongs to.
func (c *Client) Ping(ctx context.Context) error {
	_, _, err := c.api.Users.Get(ctx, "")
	return c.convert("the token's account", err)
}

// split divides owner/name.
func split(repo string) (owner, name string, err error) {
	owner, name, ok := strings.Cut(repo, "/")
	if !ok || owner == "" || name == "" || strings.Contains(name, "/") {
		return "", "", fmt.Errorf("github: repository %q, want owner/name: %w", repo, githost.ErrNotFound)
	}
	return owner, name, nil
}

// Checks implements githost.Host: the newest status of every context and the
// newest run of every check.
func (c *Client) Checks(ctx context.Context, repo, sha string) ([]githost.Check, error) {
	owner, name, err := split(repo)
	if err != nil {
		return nil, err
	}
	var out []githost.Check
	opt := gh.ListOptions{PerPage: 100}
	for {
		combined, resp, err := c.api.Repositories.GetCombinedStatus(ctx, owner, name, sha, &opt)
		if err != nil {
			return nil, c.convert("the statuses of "+repo, err)
		}
		for _, s := range combined.Statuses {
			out = append(out, githost.Check{Name: s.GetContext(), State: stateOf(s.GetState()), Kind: "status", URL: s.GetTargetURL(), Note: s.GetDescription()})
		}
		if opt.Page = resp.NextPage; opt.Page == 0 {
			break
		}
	}
	runs := gh.ListCheckRunsOptions{Filter: gh.String("latest"), ListOptions: gh.ListOptions{PerPage: 100}}
	for {
		list, resp, err := c.api.Checks.ListCheckRunsForRef(ctx, owner, name, sha, &runs)
		if err != nil {
			return nil, c.convert("the checks of "+repo, err)
		}
		for _, r := range list.CheckRuns {
			out = append(out, githost.Check{
				Name: r.GetName(), State: conclusion(r.GetStatus(), r.GetConclusion()), Kind: "check_run", URL: r.GetHTMLURL(), Note: r.GetOutput().GetTitle(),
			})
		}
		if runs.Page = resp.NextPage; runs.Page == 0 {
			return out, nil
		}
	}
}

// Reviews implements githost.Host.
func (c *Client) Reviews(ctx context.Context, repo, branch string) ([]githost.Review, error) {
	pr, err := c.PullRequest(ctx, repo, branch)
	if errors.Is(err, githost.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	owner, name, err := split(repo)
	if err != nil {
		return nil, err
	}
	var out []githost.Review
	opt := gh.ListOptions{PerPage: 100}
	for {
		list, resp, err := c.api.PullRequests.ListReviews(ctx, owner, name, int(pr.Number), &opt)
		if err != nil {
			return nil, c.convert("the reviews of "+repo, err)
		}
		for _, r := range list {
			if state, ok := reviewState(r.GetState()); ok {
				out = append(out, githost.Review{Author: r.GetUser().GetLogin(), State: state, SHA: r.GetCommitID(), Body: r.GetBody(), At: r.GetSubmittedAt().Time})
			}
		}
		if opt.Page = resp.NextPage; opt.Page == 0 {
			slices.SortStableFunc(out, func(a, b githost.Review) int { return a.At.Compare(b.At) })
			return out, nil
		}
	}
}

// PullRequest implements githost.Host.
func (c *Client) PullRequest(ctx context.Context, repo, branch string) (githost.PullRequest, error) {
	owner, name, err := split(repo)
	if err != nil {
		return githost.PullRequest{}, err
	}
	list, _, err := c.api.PullRequests.List(ctx, owner, name, &gh.PullRequestListOptions{
		State: "all", Head: owner + ":" + branch, Sort: "created", Direction: "desc", ListOptions: gh.ListOptions{PerPage: 10},
	})
	if err != nil {
		return githost.PullRequest{}, c.convert("the pull requests of "+repo, err)
	}
	for _, pr := range list {
		if pr.GetHead().GetRef() == branch {
			return pullRequest(pr), nil
		}
	}
	return githost.PullRequest{}, fmt.Errorf("github: a pull request of %s in %s: %w", branch, repo, githost.ErrNotFound)
}

// OpenPullRequest implements githost.Host.
func (c *Client) OpenPullRequest(ctx context.Context, n githost.NewPullRequest) (githost.PullRequest, error) {
	owner, name, err := split(n.Repo)
	if err != nil {
		return githost.PullRequest{}, err
	}
	if pr, err := c.PullRequest(ctx, n.Repo, n.Head); err == nil && pr.Open {
		return pr, nil
	} else if err != nil && !errors.Is(err, githost.ErrNotFound) {
		return pr, err
	}
	pr, _, err := c.api.PullRequests.Create(ctx, owner, name, &gh.NewPullRequest{Title: &n.Title, Head: &n.Head, Base: &n.Base, Body: &n.Body})
	if err == nil {
		return pullRequest(pr), nil
	}
	if status(err) == http.StatusUnprocessableEntity { // made meanwhile, or there is nothing to merge
		if pr, again := c.PullRequest(ctx, n.Repo, n.Head); again == nil && pr.Open {
			return pr, nil
		}
	}
	return githost.PullRequest{}, c.convert("a pull request of "+n.Repo, err)
}

// Merge implements githost.Host. It makes a merge commit.
func (c *Client) Merge(ctx context.Context, m githost.Merge) (string, error) {
	owner, name, err := split(m.Repo)
	if err != nil {
		return "", err
	}
	res, _, err := c.api.PullRequests.Merge(ctx, owner, name, int(m.Number), "", &gh.PullRequestOptions{
		CommitTitle: m.Title, SHA: m.HeadSHA, MergeMethod: "merge",
	})
	if err == nil {
		return res.GetSHA(), nil
	}
	// Merged already? An earlier attempt may have got through.
	if code := status(err); code == http.StatusMethodNotAllowed || code == http.StatusConflict || code >= 500 || code == 0 {
		if pr, _, look := c.api.PullRequests.Get(ctx, owner, name, int(m.Number)); look == nil && pr.GetMerged() {
			return pr.GetMergeCommitSHA(), nil
		}
	}
	what := fmt.Sprintf("merging pull request %d of %s", m.Number, m.Repo)
	switch status(err) {
	case http.StatusConflict:
		return "", fmt.Errorf("%s: %w", what, githost.ErrHeadMoved)
	case http.StatusMethodNotAllowed:
		return "", fmt.Errorf("%s: %w", what, githost.ErrNotMergeable)
	default:
		return "", c.convert(what, err)
	}
}

// BranchesAt implements githost.Branches.
func (c *Client) BranchesAt(ctx context.Context, repo, sha string) ([]string, error) {
	owner, name, err := split(repo)
	if err != nil {
		return nil, err
	}
	list, _, err := c.api.Repositories.ListBranchesHeadCommit(ctx, owner, name, sha)
	if err != nil {
		return nil, c.convert("the branches of "+repo, err)
	}
	var out []string
	for _, b := range list {
		out = append(out, b.GetName())
	}
	return out, nil
}

// DeleteBranch implements githost.Branches.
func (c *Client) DeleteBranch(ctx context.Context, repo, branch string) error {
	owner, name, err := split(repo)
	if err != nil {
		return err
	}
	_, err = c.api.Git.DeleteRef(ctx, owner, name, "heads/"+branch)
	if code := status(err); code == http.StatusUnprocessableEntity || code == http.StatusNotFound {
		return nil
	}
	return c.convert("branch "+branch+" of "+repo, err)
}
