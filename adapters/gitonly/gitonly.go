// Package gitonly is the git host of repositories that have none: a path, or any URL that
// git clones from. What such a repository lacks it says (githost.Plain), and makes nothing
// up: there are no pull requests, no reviews, no webhooks, and no CI but what the service
// runs itself. A merge moves main forward to the very commit that was tested, or to one with its tree.
//
// Everything is read from git at the moment of the call; package gitcli is what it works
// with.
package gitonly

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Git lists what the host needs of git; gitcli.Git has it. Of a Space only Repo, CloneURL
// and Main count.
type Git interface {
	// Heads lists the branches of the remote, by name.
	Heads(ctx context.Context, s work.Workspace) (map[string]string, error)
	// Contains returns as what a commit is in the history of a branch's head: see githost.Plain.
	Contains(ctx context.Context, s work.Workspace, tip, sha string) (as string, err error)
	// Land moves main of the remote forward to a commit, or to one with its tree and a message, and returns
	// where main has it; work.ErrMoved when that is no step forward.
	Land(ctx context.Context, s work.Workspace, sha, message string) (as string, err error)
	// RemoveBranch deletes a branch of the remote that is at a commit; work.ErrMoved when it
	// is elsewhere.
	RemoveBranch(ctx context.Context, s work.Workspace, branch, sha string) error
}

// Host implements githost.Host, githost.Branches and githost.Plain. It is safe for
// concurrent use.
type Host struct {
	git   Git
	space func(repo string) (work.Workspace, bool)
}

// New makes a host. space finds a repository that is git and nothing else, by
// owner/name; it is looked at in every call.
func New(git Git, space func(repo string) (work.Workspace, bool)) *Host {
	return &Host{git: git, space: space}
}

// Registered finds the repositories of a registry that are git and nothing else, for New.
func Registered(projects *task.Projects) func(repo string) (work.Workspace, bool) {
	return func(repo string) (work.Workspace, bool) {
		p, ok := projects.ByRepo(repo)
		return work.Workspace{Repo: p.Repo, CloneURL: p.CloneURL, Main: p.Main}, ok && p.Plain()
	}
}

// Plain implements githost.Plain.
func (h *Host) Plain(repo string) bool {
	_, ok := h.space(repo)
	return ok
}

func (h *Host) find(repo string) (work.Workspace, error) {
	s, ok := h.space(repo)
	if !ok {
		return s, fmt.Errorf("%w: the repository %s", githost.ErrNotFound, repo)
	}
	return s, nil
}

// Heads implements githost.Plain.
func (h *Host) Heads(ctx context.Context, repo string) (map[string]string, error) {
	s, err := h.find(repo)
	if err != nil {
		return nil, err
	}
	return h.git.Heads(ctx, s)
}

// Contains implements githost.Plain.
func (h *Host) Contains(ctx context.Context, repo, tip, sha string) (as string, err error) {
	s, err := h.find(repo)
	if err != nil {
		return "", err
	}
	return h.git.Contains(ctx, s, tip, sha)
}

// Checks implements githost.Host: nobody reports any.
func (h *Host) Checks(context.Context, string, string, string) ([]githost.Check, error) {
	return nil, githost.ErrLacking
}

// Reviews implements githost.Host: there is nowhere to write one.
func (h *Host) Reviews(context.Context, string, string, string) ([]githost.Review, error) {
	return nil, githost.ErrLacking
}

// PullRequest implements githost.Host: there are none.
func (h *Host) PullRequest(context.Context, string, string, string) (githost.PullRequest, error) {
	return githost.PullRequest{}, githost.ErrLacking
}

// OpenPullRequest implements githost.Host: there are none.
func (h *Host) OpenPullRequest(context.Context, githost.NewPullRequest) (githost.PullRequest, error) {
	return githost.PullRequest{}, githost.ErrLacking
}

// Merge implements githost.Host.
func (h *Host) Merge(ctx context.Context, m githost.Merge) (string, error) {
	s, err := h.find(m.Repo)
	if err != nil {
		return "", err
	}
	if m.Base != s.Main {
		return "", fmt.Errorf("%w: %s is merged into %s alone", githost.ErrDenied, m.Repo, s.Main)
	}
	heads, err := h.git.Heads(ctx, s)
	if err != nil {
		return "", err
	}
	if heads[m.Base] == "" {
		return "", fmt.Errorf("%w: the branch %s of %s", githost.ErrNotFound, m.Base, m.Repo)
	}
	merged, err := h.git.Contains(ctx, s, heads[m.Base], m.HeadSHA)
	switch {
	case err != nil:
		return "", err
	case merged != "":
		return merged, nil
	case heads[m.Head] == "":
		return "", fmt.Errorf("%w: the branch %s of %s", githost.ErrNotFound, m.Head, m.Repo)
	case heads[m.Head] != m.HeadSHA:
		return "", fmt.Errorf("%w: %s is at %.12s, %.12s was judged", githost.ErrHeadMoved, m.Head, heads[m.Head], m.HeadSHA)
	}
	message := ""
	if m.Method == githost.MergeSquash {
		message = m.Title + "\n\n" + m.Body
	}
	landed, err := h.git.Land(ctx, s, m.HeadSHA, message)
	if errors.Is(err, work.ErrMoved) {
		behind := githost.PullRequest{Open: true, Readiness: githost.Readiness{Standing: githost.StandingBehind}}
		_, refused := behind.Refusal()
		return "", fmt.Errorf("%w (%s is at %.12s)", refused, m.Base, heads[m.Base])
	}
	return landed, err
}

// BranchesAt implements githost.Branches.
func (h *Host) BranchesAt(ctx context.Context, repo, sha string) (out []string, err error) {
	heads, err := h.Heads(ctx, repo)
	for name, at := range heads {
		if at == sha {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out, err
}

// DeleteBranch implements githost.Branches. Main stays, with work.ErrProtected.
func (h *Host) DeleteBranch(ctx context.Context, repo, branch string) error {
	s, err := h.find(repo)
	if err != nil {
		return err
	}
	heads, err := h.git.Heads(ctx, s)
	if err != nil {
		return err
	}
	return h.git.RemoveBranch(ctx, s, branch, heads[branch])
}
