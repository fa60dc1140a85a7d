package githost

import (
	"context"
	"fmt"

	"github.com/signalbox-dev/signalbox/orchestrator/fault"
)

// Plain is a host some repositories of which are git and nothing else: no pull requests
// and no reviews, no checks, and no webhooks. A caller that needs one of
// these looks here first; a host that does not implement it lacks nothing.
//
// Of a plain repository PullRequest, OpenPullRequest, Reviews and Checks fail with
// ErrLacking. Merge moves the base forward to the head, so that what lands is that very commit, or by MergeSquash one
// commit with the head's tree; it fails with ErrBehind when the base has commits that the head lacks.
type Plain interface {
	Branches
	// Plain reports whether a repository is git and nothing else.
	Plain(repo string) bool
	// Heads lists the commits of a plain repository's branches, by name.
	Heads(ctx context.Context, repo string) (map[string]string, error)
	// Contains returns as what a commit is in the history of tip, the head of a branch: as itself, or as the one that
	// Merge has made of it; empty when it is not.
	Contains(ctx context.Context, repo, tip, sha string) (as string, err error)
}

// ErrBehind is the ErrNotMergeable of a head that lacks commits of the base.
var ErrBehind = fmt.Errorf("%w: its base has commits that it lacks", ErrNotMergeable)

// ErrLacking means that a repository has no host that could do what was called.
var ErrLacking error = &fault.Error{Text: "githost: the repository is git alone: it has no pull requests, reviews or checks"}

// PlainOf is the host as that of a plain repository; ok is false for a repository that
// lacks nothing.
func PlainOf(h any, repo string) (p Plain, ok bool) {
	p, ok = h.(Plain)
	return p, ok && p.Plain(repo)
}

// Landed returns as what the base of a plain repository has a commit, so that it is merged, by whichever way; empty
// when it has not. What others have squashed, or rebased on the way, cannot be seen so.
func Landed(ctx context.Context, p Plain, repo, base, sha string) (as string, err error) {
	heads, err := p.Heads(ctx, repo)
	if err != nil || sha == "" {
		return "", err
	}
	if heads[base] == "" {
		return "", fmt.Errorf("%w: the branch %s of %s", ErrNotFound, base, repo)
	}
	return p.Contains(ctx, repo, heads[base], sha)
}
