package github

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	gh "github.com/google/go-github/v60/github"

	"github.com/signalbox-dev/signalbox/githost"
)

// PullRequest implements githost.Host. GitHub compares the branches of one that is read by its number alone.
func (c *Client) PullRequest(ctx context.Context, repo, branch, base string) (githost.PullRequest, error) {
	pr, err := c.find(ctx, repo, branch, base, "all")
	if err != nil || !pr.Open {
		return pr, err
	}
	return c.pull(ctx, repo, pr.Number)
}

// standings translates a mergeable_state. Of all others, such as blocked, unstable and has_hooks, a merge that is
// refused is a matter of people.
var standings = map[string]githost.Standing{
	"dirty": githost.StandingConflict, "behind": githost.StandingBehind, "unknown": githost.StandingUnknown, "clean": githost.StandingClean,
}

// look reads a pull request by its number.
func (c *Client) look(ctx context.Context, repo string, number int64) (none githost.PullRequest, err error) {
	owner, name, err := split(c.names.Now(repo))
	if err != nil {
		return none, err
	}
	what := fmt.Sprintf("pull request %d of %s", number, repo)
	got, _, err := c.api.PullRequests.Get(ctx, owner, name, int(number))
	if err != nil {
		return none, c.convert(ctx, what, err)
	}
	if got.GetNumber() == 0 {
		return none, unreadable(what)
	}
	pr := pullRequest(got)
	pr.Draft, pr.Standing = got.GetDraft(), cmp.Or(standings[got.GetMergeableState()], githost.StandingBlocked)
	return pr, nil
}

// pull is look, with what the rules of the base demand: a merge queue, and approvals where something is in the way.
func (c *Client) pull(ctx context.Context, repo string, number int64) (githost.PullRequest, error) {
	pr, err := c.look(ctx, repo, number)
	if err != nil || !pr.Open || pr.Draft {
		return pr, err
	}
	rules, err := c.Rules(ctx, repo, pr.BaseRef)
	pr.Queue = rules.Queue
	if err != nil || rules.Approvals == 0 || pr.Standing != githost.StandingBlocked {
		return pr, err
	}
	list, err := c.reviewsOf(ctx, repo, pr)
	pr.Required, pr.Owners, pr.Approved = rules.Approvals, rules.Owners, githost.Approvals(list)
	return pr, err
}

// find looks for the newest pull request of a branch into a base, or, among all, for the newest into another.
func (c *Client) find(ctx context.Context, repo, branch, base, state string) (none githost.PullRequest, err error) {
	owner, name, err := split(c.names.Now(repo))
	if err != nil {
		return none, err
	}
	list, _, err := c.api.PullRequests.List(ctx, owner, name, &gh.PullRequestListOptions{
		State: state, Head: owner + ":" + branch, Sort: "created", Direction: "desc", ListOptions: gh.ListOptions{PerPage: 100},
	})
	if err != nil {
		return none, c.convert(ctx, "the pull requests of "+repo, err)
	}
	if list == nil {
		return none, unreadable("the pull requests of " + repo)
	}
	var other *gh.PullRequest
	for _, pr := range list { // GitHub ignores a filter that it cannot read
		c.names.Learn(repo, pr.GetBase().GetRepo().GetFullName(), pr.GetBase().GetRepo().GetID())
		switch here := ours(pr, repo) && pr.GetHead().GetRef() == branch; {
		case here && pr.GetBase().GetRef() == base:
			return pullRequest(pr), nil
		case here && other == nil && state == "all":
			other = pr
		}
	}
	if other != nil {
		return pullRequest(other), nil
	}
	return none, fmt.Errorf("github: a pull request of %s in %s: %w", branch, repo, githost.ErrNotFound)
}

// ours reports whether a pull request's branch is in the repository itself, whatever that is called
// by now. A branch of a fork may have the name of one of ours.
func ours(pr *gh.PullRequest, repo string) bool {
	return strings.EqualFold(pr.GetHead().GetRepo().GetFullName(), cmp.Or(pr.GetBase().GetRepo().GetFullName(), repo))
}

// OpenPullRequest implements githost.Host. What is open already into the same
// base is returned.
func (c *Client) OpenPullRequest(ctx context.Context, n githost.NewPullRequest) (none githost.PullRequest, err error) {
	owner, name, err := split(n.Repo)
	if err != nil {
		return none, err
	}
	if pr, err := c.find(ctx, n.Repo, n.Head, n.Base, "open"); !errors.Is(err, githost.ErrNotFound) {
		return pr, err
	}
	asked := &gh.NewPullRequest{Title: &n.Title, Head: &n.Head, Base: &n.Base, Body: &n.Body}
	pr, _, err := c.api.PullRequests.Create(ctx, owner, name, asked)
	if err == nil && pr.GetNumber() == 0 {
		return none, unreadable("a pull request of " + n.Repo)
	}
	if err == nil {
		return pullRequest(pr), nil
	}
	refused := c.convert(ctx, "a pull request of "+n.Repo, err)
	if status(err) != http.StatusUnprocessableEntity {
		return none, refused
	}
	found, err := c.find(ctx, n.Repo, n.Head, n.Base, "open") // made meanwhile, or there is nothing to merge
	if errors.Is(err, githost.ErrNotFound) {
		return none, refused
	}
	return found, err
}

// Merge implements githost.Host. Where no method is named it makes a merge commit or, if the
// repository does not take that, a squashed one or a rebased one. What a refusal means is read in
// the pull request, never in GitHub's words, which are for people.
func (c *Client) Merge(ctx context.Context, m githost.Merge) (string, error) {
	owner, name, err := split(m.Repo)
	if err != nil {
		return "", err
	}
	if m.HeadSHA == "" { // GitHub would merge whatever is there
		return "", fmt.Errorf("github: merging pull request %d: no head commit is named: %w", m.Number, githost.ErrHeadMoved)
	}
	if m.Queue != "" {
		return c.mergeByQueue(ctx, owner, name, m)
	}
	merge := func(method githost.MergeMethod) (*gh.PullRequestMergeResult, error) {
		res, _, err := c.api.PullRequests.Merge(ctx, owner, name, int(m.Number), "", &gh.PullRequestOptions{
			CommitTitle: m.Title, SHA: m.HeadSHA, MergeMethod: string(method),
		})
		return res, err
	}
	what := fmt.Sprintf("merging pull request %d of %s", m.Number, m.Repo)
	res, err := merge(cmp.Or(m.Method, githost.MergeCommit))
	if m.Method == githost.MergeAny && status(err) == http.StatusMethodNotAllowed {
		for _, method := range c.methods(ctx, m) {
			if other, refused := merge(method); refused == nil {
				res, err = other, nil
				break
			}
		}
	}
	if err == nil && res.GetSHA() == "" {
		return "", unreadable(what)
	}
	if err == nil {
		return res.GetSHA(), nil
	}
	switch code := status(err); {
	case code == http.StatusConflict, code == http.StatusMethodNotAllowed, code == http.StatusUnprocessableEntity:
		return c.refused(ctx, m, what, err)
	case code == 0 || code >= 500: // it may have got through
		if pr, _, look := c.api.PullRequests.Get(ctx, owner, name, int(m.Number)); look == nil && pr.GetMerged() {
			return pr.GetMergeCommitSHA(), nil
		}
	}
	return "", c.convert(ctx, what, err)
}

// methods are the further ways of merging that a repository takes, when nothing of the pull request
// itself is known to be in the way: then a rule may forbid merge commits.
func (c *Client) methods(ctx context.Context, m githost.Merge) []githost.MergeMethod {
	owner, name, _ := strings.Cut(m.Repo, "/")
	pr, err := c.look(ctx, m.Repo, m.Number)
	if err != nil || !pr.Open || pr.Draft || pr.Standing != githost.StandingBlocked && pr.Standing != githost.StandingClean {
		return nil
	}
	return slices.DeleteFunc(c.allowed(ctx, owner, name), func(k githost.MergeMethod) bool { return k == githost.MergeCommit })
}

// allowed are the ways of merging that a repository shows that it takes.
func (c *Client) allowed(ctx context.Context, owner, name string) []githost.MergeMethod {
	r, _, _ := c.api.Repositories.Get(ctx, owner, name) // one that cannot be read shows none
	return methodsOf(r)
}

func methodsOf(r *gh.Repository) []githost.MergeMethod {
	shown := map[githost.MergeMethod]bool{
		githost.MergeCommit: r.GetAllowMergeCommit(),
		githost.MergeSquash: r.GetAllowSquashMerge(),
		githost.MergeRebase: r.GetAllowRebaseMerge(),
	}
	all := []githost.MergeMethod{githost.MergeCommit, githost.MergeSquash, githost.MergeRebase}
	return slices.DeleteFunc(all, func(k githost.MergeMethod) bool { return !shown[k] })
}

// refused reads in the pull request why a merge was refused: it may be made already, or the head
// may have moved.
func (c *Client) refused(ctx context.Context, m githost.Merge, what string, refusal error) (string, error) {
	pr, err := c.pull(ctx, m.Repo, m.Number)
	if pr.Number == 0 {
		return "", err // nothing is known
	}
	owner, name, _ := strings.Cut(m.Repo, "/")
	if m.Method != githost.MergeAny && pr.Standing == githost.StandingClean && !slices.Contains(c.allowed(ctx, owner, name), m.Method) {
		pr.Standing = githost.StandingBlocked
	}
	why, is := pr.Refusal()
	what = strings.TrimSuffix(what+": "+message(refusal)+": "+why, ": ")
	switch {
	case pr.Merged:
		return pr.MergeSHA, nil
	case pr.HeadSHA != m.HeadSHA, status(refusal) == http.StatusConflict:
		is = githost.ErrHeadMoved
	case is == nil:
		again := pr.Standing == githost.StandingUnknown
		return "", &Error{Service: service, Status: http.StatusMethodNotAllowed, What: what, Again: again}
	}
	return "", fmt.Errorf("github: %s: %w", what, is)
}
