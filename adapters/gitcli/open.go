package gitcli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// ready is written last when a task's repository is made: without it what is
// there is half made and thrown away.
const ready = "signalbox-ready"

// Open implements work.Workspaces.
func (g *Git) Open(ctx context.Context, s work.Space, first []work.File) (string, error) {
	p, err := g.locate(s)
	if err != nil {
		return "", err
	}
	defer g.lock(p.dir)()
	tip, err := g.branch(ctx, p, first)
	if err != nil {
		return "", err
	}
	behind, err := g.stale(ctx, p)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(p.repo, ready)); err != nil || behind {
		if err := g.makeRepo(ctx, p, tip); err != nil {
			return "", err
		}
	}
	return p.dir, g.repair(ctx, p, tip)
}

// Begin implements work.Mirror.
func (g *Git) Begin(ctx context.Context, s work.Space, first []work.File) error {
	p, err := g.locate(s)
	if err != nil {
		return err
	}
	_, err = g.branch(ctx, p, first)
	return err
}

// branch makes the mirror and the branch in it, and returns its tip.
func (g *Git) branch(ctx context.Context, p place, first []work.File) (string, error) {
	defer g.lockMirror(ctx, p)()
	if err := g.makeMirror(ctx, p); err != nil {
		return "", err
	}
	if err := g.begin(ctx, p); err != nil {
		return "", err
	}
	if err := g.obtain(ctx, p); err != nil {
		return "", err
	}
	tip, err := g.ref(ctx, p.mirror, "refs/heads/"+p.Branch)
	if err != nil {
		return "", err
	}
	if err := g.fetchMain(ctx, p); err != nil && tip == "" {
		return "", err
	}
	if tip != "" {
		return tip, nil
	}
	if tip, err = g.adopt(ctx, p); err != nil || tip != "" {
		return tip, err
	}
	if tip, err = g.firstCommit(ctx, p, first); err != nil {
		return "", err
	}
	return g.claimBranch(ctx, p, tip)
}

// makeMirror makes the mirror, or finishes one whose making was interrupted: git
// makes what is looked for here in this order, and doing it again harms nothing.
func (g *Git) makeMirror(ctx context.Context, p place) error {
	for _, name := range []string{"refs", "HEAD", "objects"} {
		if _, err := os.Stat(filepath.Join(p.mirror, name)); err != nil {
			_, err := g.git(ctx, "", "init", "--quiet", "--bare", p.mirror)
			return err
		}
	}
	return nil
}

func (g *Git) fetchMain(ctx context.Context, p place) error {
	_, err := g.git(ctx, p.mirror, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--", p.CloneURL, "+refs/heads/"+p.Main+":refs/remotes/origin/"+p.Main)
	if err != nil {
		return fmt.Errorf("the branch %s of %s cannot be fetched: %w", p.Main, p.Repo, err)
	}
	return nil
}

// remote asks where the remote branch is; empty when there is none.
func (g *Git) remote(ctx context.Context, p place) (string, error) {
	out, err := g.git(ctx, p.mirror, "ls-remote", "--quiet", "--", p.CloneURL, "refs/heads/"+p.Branch)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(out) {
		if sha, ref, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok && ref == "refs/heads/"+p.Branch && commitID(sha) {
			return sha, nil
		}
	}
	return "", nil
}

// fetchCommit brings a commit of the remote task branch into the mirror.
func (g *Git) fetchCommit(ctx context.Context, p place) error {
	_, err := g.git(ctx, p.mirror, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--", p.CloneURL,
		"+refs/heads/"+p.Branch+":refs/remotes/origin/"+p.Branch)
	return err
}

// adopt takes over a remote branch that an earlier life of the task has made:
// one with the task's own directory in it. Another's branch is not touched.
func (g *Git) adopt(ctx context.Context, p place) (string, error) {
	tip, err := g.remote(ctx, p)
	if err != nil || tip == "" {
		return "", err
	}
	if err := g.fetchCommit(ctx, p); err != nil {
		return "", err
	}
	if _, err := g.git(ctx, p.mirror, "cat-file", "-e", tip+":"+p.Docs); err != nil {
		return "", fmt.Errorf("%w: %s exists in %s already and is not this task's", work.ErrMoved, p.Branch, p.Repo)
	}
	_, err = g.git(ctx, p.mirror, "update-ref", "refs/heads/"+p.Branch, tip)
	return tip, err
}

// firstCommit makes the branch from the remote main with the first files.
func (g *Git) firstCommit(ctx context.Context, p place, first []work.File) (string, error) {
	base, err := g.ref(ctx, p.mirror, "refs/remotes/origin/"+p.Main)
	if err != nil || base == "" {
		return "", errors.Join(fmt.Errorf("%s has no branch %s", p.Repo, p.Main), err)
	}
	temp, err := os.MkdirTemp(g.opt.Root, "index-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(temp) // a temporary index; what is left of it harms nobody
	env := []string{"GIT_INDEX_FILE=" + filepath.Join(temp, "index")}
	if _, err := g.run(ctx, call{repo: p.mirror, env: env, args: []string{"read-tree", base}}); err != nil {
		return "", err
	}
	for _, f := range first {
		if err := g.stage(ctx, p, env, f); err != nil {
			return "", err
		}
	}
	tree, err := g.run(ctx, call{repo: p.mirror, env: env, args: []string{"write-tree"}})
	if err != nil {
		return "", err
	}
	out, err := g.run(ctx, call{repo: p.mirror, stdin: begin(p) + "\n", args: []string{"commit-tree", strings.TrimSpace(tree), "-p", base, "-F", "-"}})
	if err != nil {
		return "", err
	}
	tip := strings.TrimSpace(out)
	_, err = g.git(ctx, p.mirror, "update-ref", "refs/heads/"+p.Branch, tip, strings.Repeat("0", 40))
	return tip, err
}

// begin is the message of a task's first commit.
func begin(p place) string { return p.WorkItem + ": begin" }

func (g *Git) stage(ctx context.Context, p place, env []string, f work.File) error {
	if path.Clean(f.Path) != f.Path || path.IsAbs(f.Path) || strings.HasPrefix(f.Path, "../") || strings.ContainsAny(f.Path, "\x00\n,") {
		return fmt.Errorf("%w: file %q", work.ErrBadName, f.Path)
	}
	blob, err := g.run(ctx, call{repo: p.mirror, stdin: string(f.Body), args: []string{"hash-object", "-w", "--stdin"}})
	if err != nil {
		return err
	}
	_, err = g.run(ctx, call{repo: p.mirror, env: env, args: []string{"update-index", "--add", "--cacheinfo", "100644," + strings.TrimSpace(blob) + "," + f.Path}})
	return err
}

// makeRepo makes the task's own repository and its checkout from scratch.
func (g *Git) makeRepo(ctx context.Context, p place, tip string) error {
	for _, half := range []string{p.repo, p.dir} {
		if err := g.remove(half); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Dir(p.repo), 0o700); err != nil {
		return err
	}
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return err
	}
	if _, err := g.git(ctx, "", "init", "--quiet", "--separate-git-dir="+p.repo, p.dir); err != nil {
		return err
	}
	alternates := filepath.Join(p.repo, "objects", "info", "alternates")
	if err := os.MkdirAll(filepath.Dir(alternates), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(alternates, []byte(filepath.Join(p.mirror, "objects")+"\n"), 0o600); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"update-ref", "refs/heads/" + p.Branch, tip},
		{"symbolic-ref", "HEAD", "refs/heads/" + p.Branch},
		{"config", "user.name", g.opt.Name},
		{"config", "user.email", g.opt.Email},
	} {
		if _, err := g.git(ctx, p.repo, args...); err != nil {
			return err
		}
	}
	if err := g.reset(ctx, p, tip); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(p.repo, ready), nil, 0o600)
}

func (g *Git) reset(ctx context.Context, p place, to string) error {
	_, err := g.run(ctx, call{repo: p.repo, tree: p.dir, args: []string{"reset", "--quiet", "--hard", to}})
	return err
}

// repair brings a checkout that exists to where an agent can work: locks that a
// killed process left are gone, the task's branch is checked out, and it has
// what the mirror has. Uncommitted changes stay.
func (g *Git) repair(ctx context.Context, p place, tip string) error {
	if err := removeLocks(ctx, p.repo, 0); err != nil {
		return err
	}
	if main, err := g.ref(ctx, p.mirror, "refs/remotes/origin/"+p.Main); err != nil {
		return err
	} else if main != "" {
		if _, err := g.git(ctx, p.repo, "update-ref", "refs/remotes/origin/"+p.Main, main); err != nil {
			return err
		}
	}
	if err := g.relink(p); err != nil {
		return err
	}
	head, err := g.git(ctx, p.repo, "symbolic-ref", "--quiet", "HEAD")
	if exitCode(err) == 1 {
		err = nil // a detached head: the branch is checked out below
	}
	if err != nil {
		return err
	}
	have, err := g.ref(ctx, p.repo, "refs/heads/"+p.Branch)
	if err != nil {
		return err
	}
	behind := have == ""
	if have != "" && have != tip {
		if behind, err = g.ancestor(ctx, p.repo, have, tip); err != nil {
			return err
		}
	}
	if strings.TrimSpace(head) == "refs/heads/"+p.Branch && !behind {
		return nil
	}
	if behind {
		if _, err := g.git(ctx, p.repo, "update-ref", "refs/heads/"+p.Branch, tip); err != nil {
			return err
		}
	}
	if _, err := g.git(ctx, p.repo, "symbolic-ref", "HEAD", "refs/heads/"+p.Branch); err != nil {
		return err
	}
	return g.reset(ctx, p, "HEAD")
}

// relink restores a checkout that was removed or lost its link.
func (g *Git) relink(p place) error {
	link := filepath.Join(p.dir, ".git")
	want := "gitdir: " + p.repo + "\n"
	if body, err := os.ReadFile(link); err == nil && string(body) == want {
		return nil
	}
	if err := g.remove(link); err != nil {
		return err
	}
	if _, err := os.Stat(p.dir); errors.Is(err, os.ErrNotExist) {
		// An empty checkout: the reset that follows when another branch is
		// checked out restores everything in it.
		if err := os.MkdirAll(p.dir, 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(p.repo, "HEAD"), []byte("ref: refs/heads/signalbox-lost\n"), 0o600); err != nil {
			return err
		}
	}
	return os.WriteFile(link, []byte(want), 0o600)
}
