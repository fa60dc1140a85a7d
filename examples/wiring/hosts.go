package wiring

import (
	"context"

	"github.com/signalbox-dev/signalbox/adapters/gitonly"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// hosts is the git host of every repository: each call goes to where its repository is, as
// the registry says at that moment. Of plain ones gitonly is the host.
type hosts struct {
	*gitonly.Host
	github orchestrator.Hosting // nil: there is no token, and no repository that needs one
}

// everyHost is what the parts of the service need of the hosts.
type everyHost interface {
	orchestrator.Hosting
	githost.Plain
	githost.Details
	githost.Commenter
}

// plainSpace finds a repository that has no git host.
func plainSpace(projects *task.Projects) func(repo string) (work.Workspace, bool) {
	return func(repo string) (work.Workspace, bool) {
		p, ok := projects.ByRepo(repo)
		return work.Workspace{Repo: p.Repo, CloneURL: p.CloneURL, Main: p.Main}, ok && p.Plain()
	}
}

func (h hosts) of(repo string) orchestrator.Hosting {
	if h.github == nil || h.Plain(repo) {
		return h.Host
	}
	return h.github
}

// Checks implements githost.Host.
func (h hosts) Checks(ctx context.Context, repo, base, sha string) ([]githost.Check, error) {
	return h.of(repo).Checks(ctx, repo, base, sha)
}

// Reviews implements githost.Host.
func (h hosts) Reviews(ctx context.Context, repo, branch string) ([]githost.Review, error) {
	return h.of(repo).Reviews(ctx, repo, branch)
}

// PullRequest implements githost.Host.
func (h hosts) PullRequest(ctx context.Context, repo, branch string) (githost.PullRequest, error) {
	return h.of(repo).PullRequest(ctx, repo, branch)
}

// OpenPullRequest implements githost.Host.
func (h hosts) OpenPullRequest(ctx context.Context, n githost.NewPullRequest) (githost.PullRequest, error) {
	return h.of(n.Repo).OpenPullRequest(ctx, n)
}

// Merge implements githost.Host.
func (h hosts) Merge(ctx context.Context, m githost.Merge) (string, error) {
	return h.of(m.Repo).Merge(ctx, m)
}

// Comment implements githost.Commenter.
func (h hosts) Comment(ctx context.Context, c githost.NewComment) error {
	if d, ok := h.of(c.Repo).(githost.Commenter); ok {
		return d.Comment(ctx, c)
	}
	return githost.ErrLacking
}

// FailureLog implements githost.Details.
func (h hosts) FailureLog(ctx context.Context, repo string, c githost.Check) (string, error) {
	if d, ok := h.of(repo).(githost.Details); ok {
		return d.FailureLog(ctx, repo, c)
	}
	return "", nil
}

// LineComments implements githost.Details.
func (h hosts) LineComments(ctx context.Context, repo, branch string) ([]githost.LineComment, error) {
	if d, ok := h.of(repo).(githost.Details); ok {
		return d.LineComments(ctx, repo, branch)
	}
	return nil, nil
}

// BranchesAt implements githost.Branches.
func (h hosts) BranchesAt(ctx context.Context, repo, sha string) ([]string, error) {
	return h.of(repo).BranchesAt(ctx, repo, sha)
}

// DeleteBranch implements githost.Branches.
func (h hosts) DeleteBranch(ctx context.Context, repo, branch string) error {
	return h.of(repo).DeleteBranch(ctx, repo, branch)
}
