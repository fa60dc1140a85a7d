package gitcli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// CatchUp implements work.Rebaser. The rebase is made beside the mirror, so that neither a crash nor a conflict
// leaves anything half done where agents work.
func (g *Git) CatchUp(ctx context.Context, s work.Workspace, always bool) (none work.CaughtUp, err error) {
	p, err := g.locate(s)
	if err != nil {
		return none, err
	}
	defer g.lock(p.dir)()
	defer g.lockMirror(ctx, p)()
	if err := g.fetchHandover(ctx, p); err != nil {
		return none, err
	}
	if err := g.fetchMain(ctx, p); err != nil {
		return none, err
	}
	if done, err := g.caughtUp(ctx, p); err != nil || done.SHA != "" {
		return done, errors.Join(err, p.passBy(done.SHA))
	}
	head, err := g.head(ctx, p)
	if err != nil {
		return none, err
	}
	base, err := g.ref(ctx, p.mirror, "refs/remotes/origin/"+p.Main)
	if err != nil {
		return none, err
	}
	straight, err := g.standsOn(ctx, p, base, head, always)
	if err != nil {
		return none, err
	}
	tip := head
	if !straight {
		if tip, err = g.rebase(ctx, p, base, head); err != nil {
			return none, err
		}
		if other, err := g.handOverOnto(ctx, p, tip); err != nil || other.SHA != "" {
			return other, errors.Join(err, p.passBy(other.SHA))
		}
		both := fmt.Sprintf("update %s %s\nupdate refs/heads/%s %s %s\n", rebasedRef(p, head), tip, p.Branch, tip, head)
		if _, err := g.run(ctx, call{repo: p.mirror, stdin: both, args: []string{"update-ref", "--stdin"}}); err != nil {
			return none, err
		}
	}
	return work.CaughtUp{SHA: tip, Base: base}, p.passBy(tip)
}

// standsOn reports whether a branch has all of main, and no merges when it is to
// be straight.
func (g *Git) standsOn(ctx context.Context, p checkout, base, head string, straight bool) (bool, error) {
	ok, err := g.ancestor(ctx, p, base, head)
	if err != nil || !ok || !straight {
		return ok, err
	}
	merges, err := g.merges(ctx, p, base, head)
	return !merges, err
}

func (g *Git) merges(ctx context.Context, p checkout, base, head string) (bool, error) {
	found, err := g.git(ctx, p.mirror, "rev-list", "--merges", "--max-count=1", base+".."+head)
	return found != "", err
}

// rebase makes the commits of head anew on base and returns the new tip; what its merges have changed by themselves is a
// commit on top. It has a repository and a checkout of its own, which hold no file of the branch but attributes: line ends
// that these change, and names that no disk takes, are in nobody's way.
func (g *Git) rebase(ctx context.Context, p checkout, base, head string) (tip string, err error) {
	dir, err := os.MkdirTemp(g.opt.Root, quarantined)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, g.remove(dir)) }()
	in := call{repo: filepath.Join(dir, ".git"), tree: dir, env: []string{"GIT_OBJECT_DIRECTORY=" + filepath.Join(p.mirror, "objects")}}
	err = writeAll(map[string]string{
		filepath.Join(in.repo, "HEAD"):                    "ref: refs/heads/own\n",
		filepath.Join(in.repo, "refs/heads/own"):          head + "\n",
		filepath.Join(in.repo, "config"):                  "[core]\n\tsparseCheckout = true\n",
		filepath.Join(in.repo, "info", "sparse-checkout"): ".gitattributes\n",
	})
	if err != nil {
		return "", err
	}
	in.args = []string{"read-tree", "--reset", "-u", head}
	if _, err := g.run(ctx, in); err != nil {
		return "", err
	}
	in.args = []string{"rebase", base}
	if _, failed := g.run(ctx, in); failed != nil {
		in.args = []string{"diff", "--name-only", "--diff-filter=U", "-z"}
		out, err := g.run(ctx, in)
		if err == nil && out != "" {
			return "", &work.Conflict{Base: base, Files: strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")}
		}
		return "", failed
	}
	in.args = []string{"rev-parse", "HEAD", "HEAD^{tree}"}
	out, err := g.run(ctx, in)
	if err != nil {
		return "", err
	}
	tip, tree, _ := strings.Cut(strings.TrimSpace(out), "\n")
	if merges, err := g.merges(ctx, p, base, head); err != nil || !merges {
		return tip, err
	}
	whole, err := g.mergeTree(ctx, p, base, head, base)
	if err != nil || whole == tree {
		return tip, err
	}
	return g.commitTree(ctx, p, whole, tip, p.WorkItem+": what merges have changed")
}

// passBy marks the checkout as one that the mirror's branch has gone on without, if
// it has. The next attempt begins at the branch.
func (p checkout) passBy(tip string) error {
	m, there := p.readMark()
	if !there || tip == "" || m.Taken == tip {
		return nil
	}
	m.Behind = true
	return p.writeMark(m)
}

// MainTip implements work.Rebaser.
func (g *Git) MainTip(ctx context.Context, s work.Workspace) (string, error) {
	p, err := g.locate(s)
	if err != nil {
		return "", err
	}
	p.Branch = p.Main
	sha, err := g.remote(ctx, p)
	if err == nil && sha == "" {
		err = fmt.Errorf("%s has no branch %s", p.Repo, p.Main)
	}
	return sha, err
}

// SameTree implements work.Rebaser.
func (g *Git) SameTree(ctx context.Context, s work.Workspace, a, b string) (bool, error) {
	p, err := g.locate(s)
	if err := errors.Join(err, checkIDs(a, b)); err != nil {
		return false, err
	}
	for _, sha := range []string{a, b} {
		if err := g.reach(ctx, p, sha); err != nil {
			return false, err
		}
	}
	defer g.lockMirror(ctx, p)()
	if err := g.fetchMain(ctx, p); err != nil {
		return false, err
	}
	out, err := g.git(ctx, p.mirror, "rev-parse", a+"^{tree}", b+"^{tree}")
	trees := strings.Fields(out)
	return len(trees) == 2 && trees[0] == trees[1], err
}

// TryMerge implements work.Rebaser. When main was where is what the commits say that it was moved to.
func (g *Git) TryMerge(ctx context.Context, s work.Workspace, sha string, at time.Time) (bool, error) {
	p, err := g.locate(s)
	if err := errors.Join(err, checkIDs(sha)); err != nil {
		return false, err
	}
	out, err := g.git(ctx, p.mirror, "rev-list", "--first-parent", "--max-count=1", "--before="+at.UTC().Format(time.RFC3339),
		"refs/remotes/origin/"+p.Main)
	main := strings.TrimSpace(out)
	if err != nil || main == "" {
		return false, errors.Join(err, fmt.Errorf("%s has no commit of %s before %s in the mirror", p.Repo, p.Main, at))
	}
	has, err := g.ancestor(ctx, p, main, sha)
	if err == nil && !has {
		_, err = g.mergeTree(ctx, p, sha, main, main)
	}
	return has, err
}
