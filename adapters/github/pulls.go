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

// PullRequest implements githost.Host.
func (c *Client) PullRequest(ctx context.Context, repo, branch string) (githost.PullRequest, error) {
	return c.find(ctx, repo, branch, "", "all")
}

// find looks for the newest pull request of a branch into a base (empty = any).
func (c *Client) find(ctx context.Context, repo, branch, base, state string) (githost.PullRequest, error) {
	owner, name, err := split(repo)
	if err != nil {
		return githost.PullRequest{}, err
	}
	list, _, err := c.api.PullRequests.List(ctx, owner, name, &gh.PullRequestListOptions{
		State: state, Head: owner + ":" + branch, Base: base, Sort: "created", Direction: "desc", ListOptions: gh.ListOptions{PerPage: 100},
	})
	if err != nil {
		return githost.PullRequest{}, c.convert(ctx, "the pull requests of "+repo, err)
	}
	if list == nil {
		return githost.PullRequest{}, unreadable("the pull requests of " + repo)
	}
	for _, pr := range list { // GitHub ignores a filter that it cannot read
		if ours(pr, repo) && pr.GetHead().GetRef() == branch && (base == "" || pr.GetBase().GetRef() == base) {
			return pullRequest(pr), nil
		}
	}
	return githost.PullRequest{}, fmt.Errorf("github: a pull request of %s in %s: %w", branch, repo, githost.ErrNotFound)
}

// ours reports whether a pull request's branch is in the repository itself. A
// branch of a fork may have the name of one of ours.
func ours(pr *gh.PullRequest, repo string) bool {
	return strings.EqualFold(pr.GetHead().GetRepo().GetFullName(), repo)
}

// OpenPullRequest implements githost.Host. What is open already into the same
// base is returned.
func (c *Client) OpenPullRequest(ctx context.Context, n githost.NewPullRequest) (githost.PullRequest, error) {
	owner, name, err := split(n.Repo)
	if err != nil {
		return githost.PullRequest{}, err
	}
	if pr, err := c.find(ctx, n.Repo, n.Head, n.Base, "open"); !errors.Is(err, githost.ErrNotFound) {
		return pr, err
	}
	pr, _, err := c.api.PullRequests.Create(ctx, owner, name, &gh.NewPullRequest{Title: &n.Title, Head: &n.Head, Base: &n.Base, Body: &n.Body})
	if err == nil && pr.GetNumber() == 0 {
		return githost.PullRequest{}, unreadable("a pull request of " + n.Repo)
	}
	if err == nil {
		return pullRequest(pr), nil
	}
	refused := c.convert(ctx, "a pull request of "+n.Repo, err)
	if status(err) != http.StatusUnprocessableEntity {
		return githost.PullRequest{}, refused
	}
	found, err := c.find(ctx, n.Repo, n.Head, n.Base, "open") // made meanwhile, or there is nothing to merge
	if errors.Is(err, githost.ErrNotFound) {
		return githost.PullRequest{}, refused
	}
	return found, err
}

// Merge implements githost.Host. Where no method is named it makes a merge commit or, if the
// repository does not allow that, a squashed one or a rebased one. A refusal by a rule of the
// repository is ErrDenied, with GitHub's words: only people can do something about it.
func (c *Client) Merge(ctx context.Context, m githost.Merge) (string, error) {
	owner, name, err := split(m.Repo)
	if err != nil {
		return "", err
	}
	if m.HeadSHA == "" { // GitHub would merge whatever is there
		return "", fmt.Errorf("github: merging pull request %d: no head commit is named: %w", m.Number, githost.ErrHeadMoved)
	}
	merge := func(method githost.MergeMethod) (*gh.PullRequestMergeResult, error) {
		res, _, err := c.api.PullRequests.Merge(ctx, owner, name, int(m.Number), "", &gh.PullRequestOptions{
			CommitTitle: m.Title, SHA: m.HeadSHA, MergeMethod: string(method),
		})
		return res, err
	}
	what := fmt.Sprintf("merging pull request %d of %s", m.Number, m.Repo)
	res, err := merge(cmp.Or(m.Method, githost.MergeCommit))
	if m.Method == githost.MergeAny && status(err) == http.StatusMethodNotAllowed && errorContains(err, "merge commits are not allowed", "must not contain merge commits") {
		if method := c.method(ctx, owner, name); method != githost.MergeAny {
			res, err = merge(method)
		}
	}
	if err == nil && res.GetSHA() == "" {
		return "", unreadable(what)
	}
	if err == nil {
		return res.GetSHA(), nil
	}
	switch code := status(err); {
	case code == http.StatusConflict:
		return c.refused(ctx, m, what+": "+message(err), githost.ErrHeadMoved)
	case code == http.StatusMethodNotAllowed && errorContains(err, "not allowed on this repository", "must not contain merge commits", "merge queue", "approving review", "rule violations"):
		return c.refused(ctx, m, what+": "+message(err), githost.ErrDenied)
	case code == http.StatusMethodNotAllowed:
		return c.refused(ctx, m, what+": "+message(err), githost.ErrNotMergeable)
	case code == http.StatusUnprocessableEntity: // the same, of other servers and of some rules
		return c.refused(ctx, m, what, c.convert(ctx, what, err))
	case code == 0 || code >= 500: // it may have got through
		if pr, _, look := c.api.PullRequests.Get(ctx, owner, name, int(m.Number)); look == nil && pr.GetMerged() {
			return pr.GetMergeCommitSHA(), nil
		}
	}
	return "", c.convert(ctx, what, err)
}

// method is how a repository takes pull requests that takes no merge commits; empty =
// it does not say.
func (c *Client) method(ctx context.Context, owner, name string) githost.MergeMethod {
	r, _, err := c.api.Repositories.Get(ctx, owner, name)
	switch {
	case err != nil:
		return githost.MergeAny
	case r.GetAllowSquashMerge():
		return githost.MergeSquash
	case r.GetAllowRebaseMerge():
		return githost.MergeRebase
	default:
		return githost.MergeAny
	}
}

// errorContains reports whether GitHub's words have one of some texts in them. They alone distinguish
// the causes of a merge's 405.
func errorContains(err error, texts ...string) bool {
	said := strings.ToLower(message(err))
	return slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(said, t) })
}

// refused looks why a merge was refused: it may be made already, the head may
// have moved, or GitHub may not have compared the branches yet.
func (c *Client) refused(ctx context.Context, m githost.Merge, what string, why error) (string, error) {
	owner, name, err := split(m.Repo)
	if err != nil {
		return "", err
	}
	got, _, err := c.api.PullRequests.Get(ctx, owner, name, int(m.Number))
	if err != nil {
		return "", c.convert(ctx, what, err) // nothing is known
	}
	if got.GetNumber() == 0 {
		return "", unreadable(what)
	}
	pr := pullRequest(got)
	switch {
	case pr.Merged:
		return pr.MergeSHA, nil
	case pr.HeadSHA != m.HeadSHA:
		why = githost.ErrHeadMoved
	case errors.Is(why, githost.ErrNotMergeable) && pr.Open && undecided(got.GetMergeableState()):
		return "", &Error{Status: http.StatusMethodNotAllowed, what: what + ": GitHub has yet to compare the branches", again: true}
	}
	if e := (*Error)(nil); errors.As(why, &e) { // it says what and why
		return "", why
	}
	return "", fmt.Errorf("%s: %w", what, why)
}

// undecided reports a state that is no reason to refuse: it is being computed,
// or the base moved in between and all is well now.
func undecided(mergeableState string) bool {
	return mergeableState == "unknown" || mergeableState == "clean"
}
