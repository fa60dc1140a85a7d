package app

import (
	"context"
	"maps"
	"strings"

	"github.com/signalbox-dev/signalbox/adapters/gitonly"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// hosts is the git host of every repository: each call goes to where its repository is, as
// the registry says at that moment, under the name that it has there. Of plain ones gitonly
// is the host.
type hosts struct {
	*gitonly.Host
	projects *task.Projects
	named    map[string]GitHost
}

// at is the host of a repository, and the repository's name there.
func (h hosts) at(repo string) (orchestrator.Hosting, string) {
	p, ok := h.projects.ByRepo(repo)
	if host := h.named[p.HostName()]; ok && !p.Plain() && host != nil {
		return host, p.HostPath()
	}
	return h.Host, repo // which has no repository that is not registered
}

// Repository describes a repository as its host does; a plain one has none.
func (h hosts) Repository(ctx context.Context, repo string) (githost.Repository, error) {
	at, path := h.at(repo)
	if e, ok := at.(githost.Examiner); ok {
		return e.Repository(ctx, path)
	}
	return githost.Repository{}, githost.ErrLacking
}

func (h hosts) Checks(ctx context.Context, repo, base, sha string) ([]githost.Check, error) {
	at, path := h.at(repo)
	return at.Checks(ctx, path, base, sha)
}

func (h hosts) Reviews(ctx context.Context, repo, branch, base string) ([]githost.Review, error) {
	at, path := h.at(repo)
	return at.Reviews(ctx, path, branch, base)
}

func (h hosts) PullRequest(ctx context.Context, repo, branch, base string) (githost.PullRequest, error) {
	at, path := h.at(repo)
	return at.PullRequest(ctx, path, branch, base)
}

func (h hosts) OpenPullRequest(ctx context.Context, n githost.NewPullRequest) (githost.PullRequest, error) {
	at, path := h.at(n.Repo)
	n.Repo = path
	return at.OpenPullRequest(ctx, n)
}

func (h hosts) Merge(ctx context.Context, m githost.Merge) (string, error) {
	at, path := h.at(m.Repo)
	m.Repo = path
	return at.Merge(ctx, m)
}

func (h hosts) Comment(ctx context.Context, c githost.NewComment) error {
	at, path := h.at(c.Repo)
	c.Repo = path
	if d, ok := at.(githost.Commenter); ok {
		return d.Comment(ctx, c)
	}
	return githost.ErrLacking
}

func (h hosts) FailureLog(ctx context.Context, repo string, c githost.Check) (string, error) {
	at, path := h.at(repo)
	if d, ok := at.(githost.Details); ok {
		return d.FailureLog(ctx, path, c)
	}
	return "", nil
}

func (h hosts) Rerun(ctx context.Context, repo string, c githost.Check) error {
	at, path := h.at(repo)
	if d, ok := at.(githost.Rerunner); ok {
		return d.Rerun(ctx, path, c)
	}
	return githost.ErrLacking
}

func (h hosts) LineComments(ctx context.Context, repo, branch, base string) ([]githost.LineComment, error) {
	at, path := h.at(repo)
	if d, ok := at.(githost.Details); ok {
		return d.LineComments(ctx, path, branch, base)
	}
	return nil, nil
}

func (h hosts) BranchesAt(ctx context.Context, repo, sha string) ([]string, error) {
	at, path := h.at(repo)
	return at.BranchesAt(ctx, path, sha)
}

func (h hosts) DeleteBranch(ctx context.Context, repo, branch string) error {
	at, path := h.at(repo)
	return at.DeleteBranch(ctx, path, branch)
}

// tokenOf gives what git signs in with to a repository. An adapter may have it.
type tokenOf interface {
	Token(ctx context.Context, repo string) (string, error)
}

// gitTokens returns the tokens that git signs in with, by the beginning of clone URLs: where an
// app signs in, a token of its installation for the remote's repository.
func (v *Service) gitTokens() func(ctx context.Context, remote string) (map[string]string, error) {
	fixed, apps := map[string]string{}, map[string]tokenOf{}
	for _, n := range v.near {
		if client, ok := v.Hosts[n.Name].(tokenOf); ok && n.app {
			apps[n.CloneBase] = client
		} else if !n.isBoard {
			fixed[n.CloneBase] = n.token
		}
	}
	return func(ctx context.Context, remote string) (map[string]string, error) {
		out := maps.Clone(fixed)
		for base, client := range apps {
			path, ok := strings.CutPrefix(remote, base)
			if !ok { // it is for another host
				continue
			}
			token, err := client.Token(ctx, strings.TrimSuffix(strings.Trim(path, "/"), ".git"))
			if err != nil {
				return nil, err
			}
			out[base] = token
		}
		return out, nil
	}
}
