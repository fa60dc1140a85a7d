package gitcli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Take implements work.Workspaces.
func (g *Git) Take(ctx context.Context, s work.Workspace) (work.Tip, error) {
	p, err := g.locate(s)
	if err != nil {
		return work.Tip{}, err
	}
	tip, err := g.take(ctx, p)
	if err != nil {
		return tip, err
	}
	return tip, g.handOver(ctx, p, tip.SHA)
}

// grow puts a commit onto a branch beside its checkout, which moves in one step, and gives it to where other machines take it
// from. commit makes it from the branch's tip; none means that the branch has all of it already.
func (g *Git) grow(
	ctx context.Context, s work.Workspace, commit func(p checkout, before string) (tip string, err error),
) (tip work.Tip, err error) {
	p, err := g.locate(s)
	if err == nil {
		err = g.growLocked(ctx, p, commit)
	}
	if err == nil {
		tip, err = g.tip(ctx, p)
	}
	if err == nil {
		err = g.handOver(ctx, p, tip.SHA)
	}
	return tip, err
}

func (g *Git) growLocked(ctx context.Context, p checkout, commit func(p checkout, before string) (string, error)) error {
	defer g.lock(p.dir)()
	defer g.lockMirror(ctx, p)()
	if err := g.fetchHandover(ctx, p); err != nil {
		return err
	}
	before, err := g.head(ctx, p)
	if err != nil {
		return err
	}
	tip, err := commit(p, before)
	if err != nil || tip == "" {
		return err
	}
	if _, err = g.git(ctx, p.mirror, "update-ref", "refs/heads/"+p.Branch, tip, before); err != nil {
		return err
	}
	return p.passBy(tip)
}

// head is where the task's branch is in the mirror.
func (g *Git) head(ctx context.Context, p checkout) (string, error) {
	sha, err := g.ref(ctx, p.mirror, "refs/heads/"+p.Branch)
	if err == nil && sha == "" {
		err = fmt.Errorf("%s has no branch %s in the mirror", p.Repo, p.Branch)
	}
	return sha, err
}

// take brings the commits of a checkout into the mirror. While it reads what an
// agent has written it does not hold the mirror's lock.
func (g *Git) take(ctx context.Context, p checkout) (none work.Tip, err error) {
	defer g.lock(p.dir)()
	m, _ := p.readMark()
	own := p.heads().branch
	if !m.Whole || m.Behind || own == m.Taken {
		own = ""
	}
	if own != "" {
		if err := g.fetchOwn(ctx, p, m.Taken, own); err != nil {
			return none, err
		}
		if err := g.within(ctx, p, m, own); err != nil {
			return none, err
		}
		if err := g.checkCommits(ctx, p, m.Taken, own); err != nil {
			return none, err
		}
	}
	defer g.lockMirror(ctx, p)()
	before, err := g.ref(ctx, p.mirror, "refs/heads/"+p.Branch)
	if err != nil {
		return none, err
	}
	if own != "" && before != "" && before != m.Taken { // an agent may have made its own commits anew
		if follows, err := g.ancestor(ctx, p, before, own); err != nil || !follows { // others have pushed meanwhile: see Join
			return work.Tip{SHA: own, SameCode: []string{own}, Changed: true}, err
		}
	}
	if own != "" {
		if _, err := g.git(ctx, p.mirror, "update-ref", "refs/heads/"+p.Branch, own); err != nil {
			return none, err
		}
		m.Taken = own
		if err := p.writeMark(m); err != nil {
			return none, err
		}
	}
	tip, err := g.tip(ctx, p)
	tip.Changed = tip.SHA != before
	return tip, err
}

// Tip implements work.Mirror.
func (g *Git) Tip(ctx context.Context, s work.Workspace) (none work.Tip, err error) {
	p, err := g.locate(s)
	if err != nil {
		return none, err
	}
	if err := g.obtainLocked(ctx, p); err != nil {
		return none, err
	}
	if _, err := os.Stat(p.mirror); err != nil {
		return none, nil
	}
	return g.tip(ctx, p)
}

// historyMax bounds how far back commits with the same code are looked for.
const historyMax = 100

func (g *Git) tip(ctx context.Context, p checkout) (t work.Tip, err error) {
	if t.SHA, err = g.ref(ctx, p.mirror, "refs/heads/"+p.Branch); err != nil || t.SHA == "" {
		return t, err
	}
	if out, err := g.git(ctx, p.mirror, "merge-base", t.SHA, "refs/remotes/origin/"+p.Main); err == nil {
		t.Base = strings.TrimSpace(out)
	} else if exitCode(err) != 1 && exitCode(err) != 128 { // 128: main was never fetched
		return t, err
	}
	t.SameCode, err = g.sameCode(ctx, p, t)
	return t, err
}

// sameCode walks back from the tip over commits that change nothing but the
// task's own directory.
func (g *Git) sameCode(ctx context.Context, p checkout, t work.Tip) ([]string, error) {
	if p.Docs == "" {
		return []string{t.SHA}, nil
	}
	out, err := g.git(ctx, p.mirror, "rev-list", "--first-parent", fmt.Sprintf("--max-count=%d", historyMax), t.SHA)
	if err != nil {
		return nil, err
	}
	changed, err := g.git(ctx, p.mirror, "rev-list", "--first-parent", "--max-count=1", t.SHA, "--", ":(top,exclude,literal)"+p.Docs)
	if err != nil {
		return nil, err
	}
	same, code := strings.Fields(out), strings.TrimSpace(changed)
	if last := slices.IndexFunc(same, func(sha string) bool { return sha == code || sha == t.Base }); last >= 0 {
		same = same[:last+1]
	}
	return same, nil
}

// Push implements work.Workspaces. It and Drop change a remote's task branches, and
// nothing else; Land and RemoveBranch are for repositories without a git host.
func (g *Git) Push(ctx context.Context, s work.Workspace, sha, expected string) error {
	p, err := g.locate(s) // refuses protected branches
	if err := errors.Join(err, checkIDs(sha, cmp.Or(expected, sha))); err != nil {
		return err
	}
	if err := g.reach(ctx, p, sha); err != nil {
		return err
	}
	defer g.lockMirror(ctx, p)()
	for range 3 {
		seen, err := g.remote(ctx, p)
		if err != nil || seen == sha {
			return err
		}
		if err := g.mayReplace(ctx, p, seen, expected, sha); err != nil {
			return err
		}
		if err = g.moveRemote(ctx, p, "refs/heads/"+p.Branch, seen, sha); err == nil {
			return nil
		}
		if now, again := g.remote(ctx, p); again != nil || now == seen {
			return err // refused for another reason
		}
	}
	return fmt.Errorf("%w: %s is being pushed to by others", work.ErrMoved, p.Branch)
}

// Drop implements work.Workspaces.
func (g *Git) Drop(ctx context.Context, s work.Workspace, keep string) error {
	p, err := g.locate(s) // refuses protected branches
	if err != nil {
		return err
	}
	if err := checkBranch(keep); err != nil {
		return err
	}
	if err := g.obtainLocked(ctx, p); err != nil { // then less of what is there is known to be ours
		g.log(p).Warn("the newest commit of a task could not be fetched", "err", err)
	}
	done, err := g.caughtUpLocked(ctx, p) // the task may have ended meanwhile, so that it is not recorded
	if err != nil {
		return err
	}
	if err := g.Close(ctx, s); err != nil {
		return err
	}
	// Once more: what was taken may be of an attempt that was given up.
	if err := g.obtainLocked(ctx, p); err != nil {
		g.log(p).Debug("the newest commit of a task is not known", "err", err)
	}
	defer g.lockMirror(ctx, p)()
	if err := g.makeMirror(ctx, p); err != nil { // this service may never have worked on the repository
		return err
	}
	kept := keptRefs + keep
	tip, err := g.ref(ctx, p.mirror, "refs/heads/"+p.Branch)
	if err != nil {
		return err
	}
	if tip != "" {
		if err := g.keepAs(ctx, p, kept, tip); err != nil {
			return err
		}
	} else if tip, err = g.ref(ctx, p.mirror, kept); err != nil {
		return err
	}
	if tip == "" {
		if tip, err = g.begun(ctx, p); err != nil {
			return err
		}
		if tip != "" {
			if _, err := g.git(ctx, p.mirror, "update-ref", kept, tip); err != nil {
				return err
			}
		}
	}
	return g.dropRemote(ctx, p, tip, done.SHA)
}

// keptRefs begins the names of what Drop keeps.
const keptRefs = "refs/signalbox/kept/"

// keepAs puts the mirror's branch under another name.
func (g *Git) keepAs(ctx context.Context, p checkout, kept, tip string) error {
	if _, err := g.git(ctx, p.mirror, "update-ref", kept, tip); err != nil {
		return err
	}
	_, err := g.git(ctx, p.mirror, "update-ref", "-d", "refs/heads/"+p.Branch, tip)
	return err
}

// begun is the remote branch of a task that is not in this mirror, when it
// has nothing but the first commit: another replica has made that.
func (g *Git) begun(ctx context.Context, p checkout) (string, error) {
	seen, err := g.remote(ctx, p)
	if err != nil || seen == "" {
		return "", err
	}
	if err := errors.Join(g.fetchMain(ctx, p), g.fetchCommit(ctx, p)); err != nil {
		return "", err
	}
	out, err := g.git(ctx, p.mirror, "log", "-1", "--format=%P%n%B", seen)
	if err != nil {
		return "", err
	}
	parents, message, _ := strings.Cut(out, "\n")
	if strings.TrimSpace(message) != begin(p) || !commitID(parents) {
		return "", nil
	}
	if ours, err := g.ancestor(ctx, p, parents, "refs/remotes/origin/"+p.Main); err != nil || !ours {
		return "", err
	}
	return seen, nil
}

// dropRemote deletes the remote task branch when everything on it is ours.
func (g *Git) dropRemote(ctx context.Context, p checkout, tip, other string) error {
	seen, err := g.remote(ctx, p)
	if err != nil || seen == "" {
		return err
	}
	if seen != tip && seen != other {
		known, err := g.ref(ctx, p.mirror, seen)
		ours := false
		if err == nil && known != "" && tip != "" {
			ours, err = g.ancestor(ctx, p, seen, tip)
		}
		if err != nil {
			return err
		}
		if !ours {
			return fmt.Errorf("%w: %s is at %.12s and has commits that we do not know", work.ErrMoved, p.Branch, seen)
		}
	}
	return g.moveRemote(ctx, p, "refs/heads/"+p.Branch, seen, "")
}

// moveRemote pushes a ref of the remote from where it was seen to a commit; empty is where there is none.
func (g *Git) moveRemote(ctx context.Context, p checkout, ref, seen, sha string) error {
	_, err := g.remotely(ctx, p, "push", "--quiet", "--no-verify", "--force-with-lease="+ref+":"+seen, "--", p.CloneURL, sha+":"+ref)
	return err
}

// mayReplace reports whether what is on the remote may be replaced by sha.
func (g *Git) mayReplace(ctx context.Context, p checkout, seen, expected, sha string) error {
	if seen == expected {
		return nil
	}
	if seen == "" {
		return fmt.Errorf("%w: %s", work.ErrRemoved, p.Branch)
	}
	ok, err := g.contains(ctx, p, sha, seen) // not where the mirror, which has all of sha, lacks it
	back, failed := g.contains(ctx, p, expected, seen)
	if err = errors.Join(err, failed); err == nil && (!ok || back) { // what a person has taken off the branch stays off
		err = fmt.Errorf("%w: %s is at %.12s and has commits that we do not know", work.ErrMoved, p.Branch, seen)
	}
	return err
}

// Close implements work.Workspaces.
func (g *Git) Close(ctx context.Context, s work.Workspace) error {
	p, err := g.locate(s)
	if err != nil {
		return err
	}
	_, err = g.take(ctx, p)
	if ctx.Err() != nil { // there may be commits that are not taken yet
		return ctx.Err()
	}
	if err != nil { // its repository is spoilt: what was taken before stays
		g.log(p).Warn("the last commits of a workspace could not be taken", "err", err)
	}
	g.forget(ctx, p)
	defer g.lock(p.dir)()
	return g.clear(p)
}
