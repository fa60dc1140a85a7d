package gitcli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Adopt implements work.Adopter.
func (g *Git) Adopt(ctx context.Context, s work.Workspace, pushed string) (a work.Adopted, err error) {
	p, err := g.locate(s)
	if err != nil {
		return a, err
	}
	if pushed != "" && !commitID(pushed) || p.Head != "" && !commitID(p.Head) {
		return a, fmt.Errorf("%w: commit %q or %q", work.ErrBadName, pushed, p.Head)
	}
	defer g.lock(p.dir)()
	seen, err := g.remote(ctx, p)
	if err == nil && seen == "" && pushed != "" {
		err = fmt.Errorf("%w: %s", work.ErrRemoved, p.Branch)
	}
	if err != nil || seen == p.Head || seen == pushed || seen == "" {
		return a, err
	}
	if err := g.bringOthers(ctx, p, seen); err != nil {
		return a, err
	}
	if back, err := g.contains(ctx, p, pushed, seen); err != nil || back {
		return a, errors.Join(err, fmt.Errorf("%w: %s was set back to %.12s", work.ErrMoved, p.Branch, seen))
	}
	if has, err := g.contains(ctx, p, p.Head, seen); err != nil || has {
		return a, err
	}
	on, err := g.goesOn(ctx, p, seen, pushed)
	if err == nil && !on && p.Head != "" {
		tip, failed := g.rebased(ctx, p)
		if on, err = g.contains(ctx, p, seen, tip); on { // it was pushed, which no decision tells
			p.Head, pushed, a.Push.SHA = tip, tip, tip
		}
		err = errors.Join(failed, err)
	}
	if err != nil || seen == pushed {
		return a, err
	}
	if !on { // unless it is made here, and nothing is decided for it yet
		if on, err = g.contains(ctx, p, "refs/heads/"+p.Branch, seen); err == nil && !on {
			err = fmt.Errorf("%w: %s is at %.12s, which does not go on from where it was left", work.ErrMoved, p.Branch, seen)
		}
		return a, err
	}
	a.Push.SHA = seen
	if err := g.authors(ctx, p, pushed, &a); err != nil || a.Push.Commits == 0 && p.Head == "" { // nothing but our first commit
		return work.Adopted{}, err
	}
	return a, g.join(ctx, p, seen, &a)
}

// Join implements work.Adopter.
func (g *Git) Join(ctx context.Context, s work.Workspace, onto string) (a work.Adopted, err error) {
	p, err := g.locate(s)
	if err := errors.Join(err, checkIDs(onto, p.Head)); err != nil {
		return a, err
	}
	defer g.lock(p.dir)()
	for _, sha := range []string{p.Head, onto} {
		if err := g.reach(ctx, p, sha); err != nil {
			return a, err
		}
	}
	return a, g.join(ctx, p, onto, &a)
}

// bringOthers brings the head of the remote branch into the mirror, which gets main before, so that what comes
// from there counts for nobody's.
func (g *Git) bringOthers(ctx context.Context, p checkout, seen string) error {
	from, known, err := g.readyFor(ctx, p, seen)
	if err != nil || known {
		return err
	}
	return g.fetchOthers(ctx, p, from)
}

// readyFor prepares the mirror for a commit of others, and returns what to compare that with.
func (g *Git) readyFor(ctx context.Context, p checkout, seen string) (from string, known bool, err error) {
	defer g.lockMirror(ctx, p)()
	if err := errors.Join(g.makeMirror(ctx, p), g.fetchHandover(ctx, p)); err != nil {
		return "", false, err
	}
	if there, err := g.ref(ctx, p.mirror, seen); err != nil || there != "" {
		return "", err == nil, err
	}
	if err := g.fetchMain(ctx, p); err != nil {
		return "", false, err
	}
	if from = p.Head; from != "" {
		from, err = g.ref(ctx, p.mirror, from)
	}
	from = cmp.Or(from, "refs/remotes/origin/"+p.Main)
	return from, false, err
}

// contains reports whether the mirror has two commits, and the first has the second in its history.
func (g *Git) contains(ctx context.Context, p checkout, tip, sha string) (bool, error) {
	for _, one := range []string{tip, sha} {
		if one == "" {
			return false, nil
		}
		if there, err := g.ref(ctx, p.mirror, one); err != nil || there == "" {
			return false, err
		}
	}
	return g.ancestor(ctx, p, sha, tip)
}

// goesOn reports whether a commit stands on where the branch was left; on the branch's own first commit, where
// that is not known.
func (g *Git) goesOn(ctx context.Context, p checkout, seen, pushed string) (bool, error) {
	if pushed != "" {
		return g.contains(ctx, p, seen, pushed)
	}
	owner, err := g.owner(ctx, p, seen)
	return owner != "" && owner == p.Identity, err
}

// rebased finds what the task's commit was rebased to, here or by another replica.
func (g *Git) rebased(ctx context.Context, p checkout) (string, error) {
	if done, err := g.caughtUpLocked(ctx, p); err != nil || done.SHA != "" {
		return done.SHA, err
	}
	return g.ref(ctx, p.mirror, rebasedRef(p, p.Head))
}

// authors counts the commits of others, without those of main and the branch's first one, and lists who
// has made them.
func (g *Git) authors(ctx context.Context, p checkout, pushed string, a *work.Adopted) error {
	args := []string{"log", "--format=%an", "--invert-grep", "--grep=^" + trailer, a.Push.SHA, "^refs/remotes/origin/" + p.Main}
	for _, ours := range []string{p.Head, pushed} {
		if there, err := g.contains(ctx, p, ours, ours); err != nil {
			return err
		} else if there {
			args = append(args, "^"+ours)
		}
	}
	out, err := g.git(ctx, p.mirror, append(args, "--")...)
	for name := range strings.Lines(out) {
		a.Push.Commits++
		who := []rune(strings.TrimSpace(name))
		name = string(who[:min(len(who), work.AuthorMax)])
		if len(a.Push.Authors) < work.AuthorsMax && !slices.Contains(a.Push.Authors, name) {
			a.Push.Authors = append(a.Push.Authors, name)
		}
	}
	return err
}

// join puts the commits of the space's head on top of a commit of others, and the branch there. Those that
// conflict are kept.
func (g *Git) join(ctx context.Context, p checkout, onto string, a *work.Adopted) error {
	defer g.lockMirror(ctx, p)()
	a.SHA = onto
	known, err := g.contains(ctx, p, p.Head, p.Head) // a mirror that was lost may not have it
	behind, failed := g.contains(ctx, p, onto, p.Head)
	if err = errors.Join(err, failed); err == nil && known && !behind {
		err = g.putOnTop(ctx, p, onto, a)
	}
	if err != nil {
		return err
	}
	branch := "refs/heads/" + p.Branch
	if has, err := g.contains(ctx, p, branch, a.SHA); err != nil || has {
		return err
	}
	_, err = g.git(ctx, p.mirror, "update-ref", branch, a.SHA)
	return err
}

// putOnTop rebases the head of a space.
func (g *Git) putOnTop(ctx context.Context, p checkout, onto string, a *work.Adopted) error {
	if on, err := g.contains(ctx, p, p.Head, onto); err != nil || on {
		a.SHA = p.Head
		return err
	}
	tip, err := g.rebase(ctx, p, onto, p.Head)
	var conflict *work.Conflict
	switch {
	case errors.As(err, &conflict):
		a.Push.Conflicts = conflict.Files
		if a.Left, err = g.keepCommit(ctx, p, p.Head); err != nil {
			return err
		}
		a.Push.Left = a.Left.Ref
	case err != nil:
		return err
	default:
		a.SHA = tip
		if err := g.handOver(ctx, p, tip); err != nil {
			return err
		}
	}
	if m, there := p.readMark(); there && p.heads().branch == p.Head { // all of it is taken
		m.Taken = p.Head
		return p.writeMark(m)
	}
	return nil
}

// keepCommit keeps a commit as what an attempt has left.
func (g *Git) keepCommit(ctx context.Context, p checkout, sha string) (left work.Left, err error) {
	out, err := g.git(ctx, p.mirror, "for-each-ref", "--points-at="+sha, "--format=%(refname)", leftRefs+p.WorkItem+"/")
	if refs := strings.Fields(out); err != nil || len(refs) > 0 {
		return work.Left{Ref: strings.Join(refs[:min(1, len(refs))], ""), SHA: sha}, err
	}
	ref, err := g.nextLeft(ctx, p)
	if err == nil {
		_, err = g.git(ctx, p.mirror, "update-ref", ref, sha)
	}
	return work.Left{Ref: ref, SHA: sha}, err
}
