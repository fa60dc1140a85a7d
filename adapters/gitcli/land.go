package gitcli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// What a repository without a git host needs of git itself. Of a Space only Repo,
// CloneURL and Main count here.

// anywhere is the place of a repository, of no task.
func (g *Git) anywhere(s work.Workspace) (checkout, error) {
	s.Branch, s.WorkItem = "signalbox/none", "none"
	return g.locate(s)
}

// Heads lists the branches of the remote, by name, with one call of it. A list without
// main is valid; one without any branch is an error, see remote.
func (g *Git) Heads(ctx context.Context, s work.Workspace) (map[string]string, error) {
	p, err := g.anywhere(s)
	if err != nil {
		return nil, err
	}
	return g.remoteHeads(ctx, p)
}

func (g *Git) remoteHeads(ctx context.Context, p checkout) (map[string]string, error) {
	out, err := g.remotely(ctx, p, "ls-remote", "--quiet", "--", p.CloneURL, "refs/heads/*")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", work.ErrRemote, err)
	}
	heads := map[string]string{}
	for line := range strings.Lines(out) {
		sha, ref, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if name, branch := strings.CutPrefix(ref, "refs/heads/"); ok && branch && commitID(sha) {
			heads[name] = sha
		}
	}
	if len(heads) == 0 {
		return nil, noBranchError(p)
	}
	return heads, nil
}

// noBranchError says that a remote has nothing to begin from.
func noBranchError(p checkout) error {
	text := "the remote of " + p.Repo + " lists no branch, not even " + p.Main + ": is it a git repository?"
	return fmt.Errorf("%w: %w", work.ErrRemote, &fault.Error{Text: text, Again: true})
}

// Contains returns as what a commit is in the history of tip, the head of a branch of the remote: as itself, or as the one
// that Land has made of it; empty when it is not. The mirror fetches what it does not have.
func (g *Git) Contains(ctx context.Context, s work.Workspace, tip, sha string) (as string, err error) {
	p, err := g.anywhere(s)
	if err := errors.Join(err, checkIDs(tip, sha)); err != nil {
		return "", err
	}
	if err := g.bring(ctx, p, tip); err != nil {
		return "", err
	}
	if err := g.bring(ctx, p, sha); err != nil {
		if fault.Retryable(err) {
			return "", err
		}
		return "", nil // nobody has it: all that tip stands on is in the mirror
	}
	return g.landed(ctx, p, tip, sha)
}

// squashed begins the line of a commit of main that says which one of a branch it was made of.
const squashed = "Signalbox-Squashed: "

// landed is Contains for commits that the mirror has. What a line claims counts only of a commit with the very tree,
// made on a main that the branch had.
func (g *Git) landed(ctx context.Context, p checkout, tip, sha string) (as string, err error) {
	if has, err := g.ancestor(ctx, p, sha, tip); err == nil && has {
		return sha, nil
	} else if err != nil {
		return "", err
	}
	tree, err := g.git(ctx, p.mirror, "rev-parse", "--verify", sha+"^{tree}")
	if err != nil {
		return "", err
	}
	out, err := g.git(ctx, p.mirror, "log", "--fixed-strings", "--grep="+squashed+sha, "--format=%H %T %P", tip, "^"+sha, "--")
	for line := range strings.Lines(out) {
		made := strings.Fields(line)
		if len(made) != 3 || made[1] != strings.TrimSpace(tree) {
			continue
		}
		if stood, err := g.ancestor(ctx, p, made[2], sha); err != nil || stood {
			return made[0], err
		}
	}
	return "", err
}

// bring fetches the head of a branch, when the mirror lacks it.
func (g *Git) bring(ctx context.Context, p checkout, tip string) error {
	defer g.lockMirror(ctx, p)()
	if err := g.makeMirror(ctx, p); err != nil {
		return err
	}
	if known, err := g.ref(ctx, p.mirror, tip); err != nil || known != "" {
		return err
	}
	if err := g.fetchMain(ctx, p); err != nil {
		return err
	}
	if known, err := g.ref(ctx, p.mirror, tip); err != nil || known != "" {
		return err
	}
	return g.fetch(ctx, p, tip)
}

// Land moves main of the remote forward to a commit that the remote has on some branch, or to one of its tree alone with
// a message; main that has it already stays. It returns where main has it. ErrMoved when main has commits that it lacks. The push
// is a plain one: git itself, at both ends, refuses what would not be a step forward from
// where main is at that moment, so that no force and no lease is needed.
func (g *Git) Land(ctx context.Context, s work.Workspace, sha, message string) (as string, err error) {
	p, err := g.anywhere(s)
	if err := errors.Join(err, checkIDs(sha)); err != nil {
		return "", err
	}
	if err := g.bring(ctx, p, sha); err != nil {
		return "", err
	}
	for range 3 {
		heads, err := g.remoteHeads(ctx, p)
		if err != nil {
			return "", err
		}
		seen := heads[p.Main]
		if as, err = g.mayLand(ctx, p, seen, sha); as != "" || err != nil {
			return as, err
		}
		if as = sha; message != "" {
			message = strings.TrimSpace(strings.ReplaceAll(message, "\x00", ""))
			if as, err = g.commitTree(ctx, p, sha, seen, message+"\n\n"+squashed+sha); err != nil {
				return "", err
			}
		}
		if err = g.pushMain(ctx, p, as); err == nil {
			return as, nil
		}
		if now, again := g.remoteHeads(ctx, p); again != nil || now[p.Main] == seen {
			return "", err // refused for another reason
		}
	}
	return "", fmt.Errorf("%w: %s is being pushed to by others", work.ErrMoved, p.Main)
}

// mayLand returns as what main, which is at seen, has a commit already; ErrMoved when it
// cannot step forward to it.
func (g *Git) mayLand(ctx context.Context, p checkout, seen, sha string) (as string, err error) {
	if seen == "" {
		return "", fmt.Errorf("%s has no branch %s", p.Repo, p.Main)
	}
	if err := g.bring(ctx, p, seen); err != nil {
		return "", err
	}
	if as, err = g.landed(ctx, p, seen, sha); as != "" || err != nil {
		return as, err
	}
	stands, err := g.ancestor(ctx, p, seen, sha)
	if err == nil && !stands {
		err = fmt.Errorf("%w: %s is at %.12s, which %.12s lacks", work.ErrMoved, p.Main, seen, sha)
	}
	return "", err
}

// checkedOut is in git's words when a push would move a branch under somebody's work.
const checkedOut = "branch is currently checked out"

// pushMain is the only function that pushes main.
func (g *Git) pushMain(ctx context.Context, p checkout, sha string) error {
	defer g.lockMirror(ctx, p)()
	_, err := g.remotely(ctx, p, "push", "--quiet", "--no-verify", "--", p.CloneURL, sha+":refs/heads/"+p.Main)
	if f := (*callError)(nil); errors.As(err, &f) && strings.Contains(f.Stderr, checkedOut) {
		return &fault.Error{Text: CheckedOut(p.Repo, p.Main)}
	}
	return err
}

// CheckedOut returns the message that main cannot be moved where people have it checked out, with
// what to do.
func CheckedOut(repo, main string) string {
	return fmt.Sprintf("%s is checked out in the repository of %s, and git moves no branch under somebody's work: "+
		"let clone_url name a bare clone (git clone --bare), check another branch out there, "+
		"or set receive.denyCurrentBranch to updateInstead in it", main, repo)
}

// MayPush makes a push of main that changes nothing, and that the remote may refuse: it
// is an error when the credential may not write there.
func (g *Git) MayPush(ctx context.Context, s work.Workspace) error {
	p, err := g.anywhere(s)
	if err != nil {
		return err
	}
	heads, err := g.remoteHeads(ctx, p)
	if err != nil {
		return err
	}
	if heads[p.Main] == "" {
		return fmt.Errorf("%s has no branch %s", p.Repo, p.Main)
	}
	if err := g.bring(ctx, p, heads[p.Main]); err != nil {
		return err
	}
	_, err = g.remotely(ctx, p,
		"push", "--quiet", "--dry-run", "--no-verify", "--", p.CloneURL, heads[p.Main]+":refs/heads/signalbox/may-push")
	return err
}

// RemoveBranch deletes a branch of the remote that is at a commit; one that is gone already is
// a success. ErrProtected for main, ErrMoved when the branch is elsewhere.
func (g *Git) RemoveBranch(ctx context.Context, s work.Workspace, branch, sha string) error {
	s.Branch, s.WorkItem = branch, "none"
	p, err := g.locate(s) // refuses protected branches
	if err != nil {
		return err
	}
	heads, err := g.remoteHeads(ctx, p)
	switch {
	case err != nil || heads[branch] == "":
		return err
	case heads[branch] != sha:
		return fmt.Errorf("%w: %s is at %.12s", work.ErrMoved, branch, heads[branch])
	}
	defer g.lockMirror(ctx, p)()
	if err := g.makeMirror(ctx, p); err != nil {
		return err
	}
	return g.moveRemote(ctx, p, "refs/heads/"+branch, sha, "")
}
