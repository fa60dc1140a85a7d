package gitea

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/signalbox-dev/signalbox/githost"
)

// user is an account. Accounts of people and of other programs look alike; those of the
// server itself, such as that of its Actions, have ids below zero.
type user struct {
	ID    int64
	Login string
}

// ghost is the id of deleted accounts.
const ghost = -1

func (u user) bot() bool { return u.ID < ghost }

// end is the head or the base of a pull request.
type end struct {
	Label  string // the branch, also when it is gone; its ref is refs/pull/… then
	SHA    string
	RepoID int64 `json:"repo_id"`
	Repo   struct {
		Name string `json:"full_name"`
	} `json:"repo"`
}

type pull struct {
	Number    int64
	URL       string `json:"html_url"`
	State     string
	User      user
	Merged    bool
	MergeSHA  string `json:"merge_commit_sha"`
	Draft     bool   // older servers do not say it
	Mergeable bool
	MergeBase string `json:"merge_base"`
	Head      end
	Base      end
}

func (p pull) open() bool { return p.State == "open" }

// here reports whether the branch is in the repository itself. A branch of a fork may have
// the name of one of ours. Ids stay when a repository is renamed.
func (p pull) here() bool { return p.Head.RepoID == p.Base.RepoID }

func (p pull) convert() githost.PullRequest {
	out := githost.PullRequest{
		Number: p.Number, URL: p.URL, Open: p.open(), Merged: p.Merged,
		HeadRef: p.Head.Label, HeadSHA: p.Head.SHA, BaseRef: p.Base.Label, Author: p.User.Login,
	}
	if out.Draft = p.Draft; p.Merged {
		out.MergeSHA = p.MergeSHA
	}
	return out
}

// pullsMax is how many of a repository's newest pull requests are looked at. An older one
// that is open is found when another is opened in its place.
const pullsMax = 1000

// PullRequest implements githost.Host. Gitea does not find one by its branch alone: the
// newest are listed.
func (c *Client) PullRequest(ctx context.Context, repo, branch, base string) (githost.PullRequest, error) {
	p, err := c.find(ctx, repo, branch, base, "all")
	if err != nil || !p.open() {
		return p.convert(), err
	}
	c.names.Learn(repo, p.Base.Repo.Name, p.Base.RepoID)
	return c.ready(ctx, repo, p)
}

// ready adds the readiness of an open pull request. That it is mergeable means that its branches do not conflict; those of one that
// is not may have yet to be compared.
func (c *Client) ready(ctx context.Context, repo string, p pull) (githost.PullRequest, error) {
	out := p.convert()
	b, err := c.protection(ctx, repo, p.Base.Label)
	if errors.Is(err, githost.ErrNotFound) || errors.Is(err, githost.ErrDenied) {
		return out, nil
	}
	if err != nil || b.Approvals == 0 {
		return out, err
	}
	list, err := c.reviewsOf(ctx, repo, p)
	if out.Required, out.Approved = b.Approvals, githost.Approvals(list); out.Approved < out.Required {
		out.Standing = githost.StandingBlocked
	}
	return out, err
}

// find looks for the newest pull request of a branch into a base, or, among all, for the newest into another.
func (c *Client) find(ctx context.Context, repo, branch, base, state string) (out pull, err error) {
	at, err := repoPath(repo)
	if err != nil {
		return pull{}, err
	}
	var other pull
	seen := 0
	newest := int64(0) // the list begins with it
	err = list(ctx, c, "the pull requests of "+repo, at+"/pulls", url.Values{"state": {state}}, func(rows []pull) bool {
		for _, p := range rows {
			switch fits := p.Head.Label == branch && p.here() && (state == "all" || p.open()); {
			case fits && p.Base.Label == base && p.Number > out.Number:
				out = p
			case fits && state == "all" && p.Number > other.Number:
				other = p
			}
		}
		again := newest == rows[0].Number
		newest = max(newest, rows[0].Number)
		seen += len(rows)
		return out.Number == 0 && !again && seen < pullsMax
	})
	if out.Number == 0 {
		out = other
	}
	switch {
	case err != nil:
		return pull{}, err
	case out.Number == 0:
		return pull{}, fmt.Errorf("gitea: a pull request of %s in %s: %w", branch, repo, githost.ErrNotFound)
	case out.open(): // the list's head comes a moment after a push
		return c.pull(ctx, "the pull requests of "+repo, repo, out.Number)
	}
	return out, nil
}

// OpenPullRequest implements githost.Host. What is open already into the same
// base is returned.
func (c *Client) OpenPullRequest(ctx context.Context, n githost.NewPullRequest) (none githost.PullRequest, err error) {
	at, err := repoPath(n.Repo)
	if err != nil {
		return none, err
	}
	var made pull
	what := "a pull request of " + n.Repo
	in := map[string]string{"title": n.Title, "body": n.Body, "head": n.Head, "base": n.Base}
	err = c.call(ctx, what, http.MethodPost, at+"/pulls", in, &made)
	var e *Error
	switch {
	case err == nil && made.Number == 0:
		return none, unreadable(what)
	case err == nil:
		return made.convert(), nil
	case !errors.As(err, &e) || e.Status != http.StatusConflict:
		return none, err
	}
	found, look := c.find(ctx, n.Repo, n.Head, n.Base, "open") // it was there already
	if errors.Is(look, githost.ErrNotFound) {
		return none, err
	}
	return found.convert(), look
}

// pull reads one by its number. Reading makes Gitea compare its branches, if it has put
// that off.
func (c *Client) pull(ctx context.Context, what, repo string, number int64) (pull, error) {
	at, err := repoPath(repo)
	if err != nil {
		return pull{}, err
	}
	var p pull
	if err := c.get(ctx, what, at+"/pulls/"+strconv.FormatInt(number, 10), &p); err != nil {
		return pull{}, err
	}
	if p.Number == 0 {
		return pull{}, unreadable(what)
	}
	return p, nil
}
