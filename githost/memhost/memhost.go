// Package memhost is a git host in memory: the double of package githost. It
// has branches by name and head, and no files. It passes the suite in
// githost/hosttest.
package memhost

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator/fault/memfault"
)

// Host implements githost.Host, githost.Branches, githost.Details, githost.Commenter
// and githost.Plain in memory. Its calls
// can be made to fail.
type Host struct {
	memfault.Switch

	// History reports whether a commit of a plain repository is in the history of
	// another, when it is set; else a commit stands on what its branch was at, or main.
	History func(tip, sha string) bool

	mu       sync.Mutex
	branches map[string]map[string]string // repo → branch → head
	checks   map[string][]githost.Check   // by commit
	required map[string][]string          // checks, by repo and branch
	failures map[string]string            // by name of the check
	lines    map[string][]githost.LineComment
	comments []githost.NewComment
	reviews  map[string][]githost.Review // by repo and branch
	pulls    map[string][]githost.PullRequest
	merges   int
	conflict map[string]bool // heads that cannot be merged
	plain    map[string]bool
	parents  map[string]string
	squashed map[string]string // what commits of the host were made of
}

// New makes a host without repositories.
func New() *Host {
	return &Host{
		branches: map[string]map[string]string{},
		checks:   map[string][]githost.Check{},
		required: map[string][]string{},
		failures: map[string]string{},
		lines:    map[string][]githost.LineComment{},
		reviews:  map[string][]githost.Review{},
		pulls:    map[string][]githost.PullRequest{},
		conflict: map[string]bool{},
		plain:    map[string]bool{},
		parents:  map[string]string{},
		squashed: map[string]string{},
	}
}

// Push moves a branch, making repository and branch if there are none.
func (h *Host) Push(repo, branch, sha string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.branches[repo] == nil {
		h.branches[repo] = map[string]string{}
	}
	if _, known := h.parents[sha]; !known {
		h.parents[sha] = cmp.Or(h.branches[repo][branch], h.branches[repo]["main"])
	}
	h.branches[repo][branch] = sha
}

// SetChecks replaces the CI results of a commit.
func (h *Host) SetChecks(sha string, checks ...githost.Check) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.checks[sha] = checks
}

// Require makes the rules of a branch demand checks of what goes into it.
func (h *Host) Require(repo, base string, names ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.required[repo+" "+base] = names
}

// Self is the account that the host takes the service for.
const Self = "signalbox"

// AddReview adds a review to a branch. Its Own and Opener are the host's to say.
func (h *Host) AddReview(repo, branch string, r githost.Review) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r.ID = strconv.Itoa(len(h.reviews[repo+" "+branch]) + 1)
	h.reviews[repo+" "+branch] = append(h.reviews[repo+" "+branch], r)
}

// Conflict makes a head impossible to merge.
func (h *Host) Conflict(sha string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.conflict[sha] = true
}

// ChangePull changes the newest pull request of a branch into main, or else into another, as people do at a host.
func (h *Host) ChangePull(repo, branch string, change func(*githost.PullRequest)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change(h.pull(repo, branch, "main"))
}

// Merges counts the merges that were made.
func (h *Host) Merges() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.merges
}

// enter locks, and reports what the call is to fail with.
func (h *Host) enter(ctx context.Context, call string) (leave func(), err error) {
	h.mu.Lock()
	return h.mu.Unlock, h.Failure(ctx, call)
}

// enterHost is enter of a call that a plain repository does not have.
func (h *Host) enterHost(ctx context.Context, call, repo string) (leave func(), err error) {
	if leave, err = h.enter(ctx, call); err == nil && h.plain[repo] {
		err = githost.ErrLacking
	}
	return leave, err
}

// Checks implements githost.Host.
func (h *Host) Checks(ctx context.Context, repo, base, sha string) ([]githost.Check, error) {
	leave, err := h.enterHost(ctx, "Checks", repo)
	defer leave()
	if err != nil {
		return nil, err
	}
	list := append([]githost.Check(nil), h.checks[sha]...)
	demanded := h.required[repo+" "+base]
	for i, c := range list {
		list[i].Optional = len(demanded) > 0 && !slices.Contains(demanded, c.Name)
	}
	for _, name := range demanded {
		if !slices.ContainsFunc(list, func(c githost.Check) bool { return c.Name == name }) {
			note := "demanded by the rules of " + base
			list = append(list, githost.Check{Name: name, State: githost.CheckExpected, Kind: "required", Note: note})
		}
	}
	return list, nil
}

// Reviews implements githost.Host.
func (h *Host) Reviews(ctx context.Context, repo, branch, base string) ([]githost.Review, error) {
	leave, err := h.enterHost(ctx, "Reviews", repo)
	defer leave()
	if err != nil {
		return nil, err
	}
	pr := h.pull(repo, branch, base)
	if pr == nil {
		return nil, nil
	}
	out := append([]githost.Review(nil), h.reviews[repo+" "+branch]...)
	for i := range out {
		out[i].Own, out[i].Opener = out[i].Author == Self, out[i].Author == pr.Author
	}
	return out, nil
}

// pull finds what PullRequest returns.
func (h *Host) pull(repo, branch, base string) *githost.PullRequest {
	if pr := h.find(repo, func(p githost.PullRequest) bool { return p.HeadRef == branch && p.BaseRef == base }); pr != nil {
		return pr
	}
	return h.find(repo, func(p githost.PullRequest) bool { return p.HeadRef == branch })
}

// find looks for the newest pull request of a branch, its head refreshed.
func (h *Host) find(repo string, match func(githost.PullRequest) bool) *githost.PullRequest {
	list := h.pulls[repo]
	for i := len(list) - 1; i >= 0; i-- {
		if !match(list[i]) {
			continue
		}
		if head, ok := h.branches[repo][list[i].HeadRef]; ok && list[i].Open {
			list[i].HeadSHA = head
		}
		return &list[i]
	}
	return nil
}

// PullRequest implements githost.Host.
func (h *Host) PullRequest(ctx context.Context, repo, branch, base string) (githost.PullRequest, error) {
	leave, err := h.enterHost(ctx, "PullRequest", repo)
	defer leave()
	if err != nil {
		return githost.PullRequest{}, err
	}
	if pr := h.pull(repo, branch, base); pr != nil {
		return *pr, nil
	}
	return githost.PullRequest{}, githost.ErrNotFound
}

// OpenPullRequest implements githost.Host.
func (h *Host) OpenPullRequest(ctx context.Context, n githost.NewPullRequest) (githost.PullRequest, error) {
	leave, err := h.enterHost(ctx, "OpenPullRequest", n.Repo)
	defer leave()
	if err != nil {
		return githost.PullRequest{}, err
	}
	head, ok := h.branches[n.Repo][n.Head]
	if !ok {
		return githost.PullRequest{}, githost.ErrNotFound
	}
	if pr := h.find(n.Repo, func(p githost.PullRequest) bool { return p.HeadRef == n.Head && p.BaseRef == n.Base && p.Open }); pr != nil {
		return *pr, nil
	}
	number := int64(len(h.pulls[n.Repo]) + 1)
	pr := githost.PullRequest{
		Number: number, URL: fmt.Sprintf("https://host.example.org/%s/pull/%d", n.Repo, number), Open: true,
		HeadRef: n.Head, HeadSHA: head, BaseRef: n.Base, Author: Self,
	}
	h.pulls[n.Repo] = append(h.pulls[n.Repo], pr)
	return pr, nil
}

// Merge implements githost.Host.
func (h *Host) Merge(ctx context.Context, m githost.Merge) (string, error) {
	leave, err := h.enter(ctx, "Merge")
	defer leave()
	if err != nil {
		return "", err
	}
	if h.plain[m.Repo] {
		return h.forward(m)
	}
	pr := h.find(m.Repo, func(p githost.PullRequest) bool { return p.Number == m.Number })
	switch {
	case pr == nil:
		return "", githost.ErrNotFound
	case pr.Merged:
		return pr.MergeSHA, nil
	case pr.HeadSHA != m.HeadSHA:
		return "", githost.ErrHeadMoved
	case h.conflict[pr.HeadSHA]:
		return "", githost.ErrNotMergeable
	}
	if why, refused := pr.Refusal(); !pr.Open || pr.Draft || pr.Standing != "" {
		return "", fmt.Errorf("%s: %w", why, refused)
	}
	sum := sha256.Sum256([]byte(pr.HeadSHA + pr.BaseRef))
	pr.Open, pr.Merged, pr.MergeSHA = false, true, hex.EncodeToString(sum[:20])
	h.branches[m.Repo][pr.BaseRef] = pr.MergeSHA
	h.merges++
	return pr.MergeSHA, nil
}

// BranchesAt implements githost.Branches.
func (h *Host) BranchesAt(ctx context.Context, repo, sha string) ([]string, error) {
	leave, err := h.enter(ctx, "BranchesAt")
	defer leave()
	if err != nil {
		return nil, err
	}
	var out []string
	for name, head := range h.branches[repo] {
		if head == sha {
			out = append(out, name)
		}
	}
	if _, known := h.parents[sha]; len(out) == 0 && !known {
		return nil, githost.ErrNotFound
	}
	return out, nil
}

// DeleteBranch implements githost.Branches.
func (h *Host) DeleteBranch(ctx context.Context, repo, branch string) error {
	leave, err := h.enter(ctx, "DeleteBranch")
	defer leave()
	if err != nil {
		return err
	}
	delete(h.branches[repo], branch)
	for i, pr := range h.pulls[repo] { // as hosts do
		if pr.HeadRef == branch {
			h.pulls[repo][i].Open = false
		}
	}
	return nil
}
