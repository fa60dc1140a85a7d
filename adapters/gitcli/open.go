package gitcli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Open implements work.Workspaces.
func (g *Git) Open(ctx context.Context, s work.Workspace, first []work.File) (none work.Checkout, err error) {
	p, err := g.locate(s)
	if err != nil {
		return none, err
	}
	defer g.lock(p.dir)()
	tip, err := g.branch(ctx, p, first)
	if err != nil {
		return none, err
	}
	start, left, err := g.salvage(ctx, p, tip)
	if err = cmp.Or(ctx.Err(), err); err != nil { // what is there may not be saved yet
		return none, err
	}
	next := mark{Task: s.Task, Taken: tip, Start: start, Role: s.Role, Writes: s.Writes, FromMain: s.FromMain}
	for _, f := range s.Beside {
		next.Beside = append(next.Beside, f.Path)
	}
	m, err := g.makeAnew(ctx, p, next)
	at := work.Checkout{Dir: p.dir, Jail: p.jail(), Left: left, Created: m.Created}
	if m.Main != "" {
		at.Main = &tree{g: g, ctx: context.WithoutCancel(ctx), mirror: p.mirror, sha: m.Main}
	}
	return at, err
}

// jail returns what works in a checkout needs of the directories of this package.
func (p checkout) jail() work.Jail {
	return work.Jail{Write: []string{p.dir, p.repo}, Read: []string{filepath.Join(p.mirror, "objects")}}
}

// Begin implements work.Mirror.
func (g *Git) Begin(ctx context.Context, s work.Workspace, first []work.File) error {
	p, err := g.locate(s)
	if err != nil {
		return err
	}
	_, err = g.branch(ctx, p, first)
	return err
}

// branch makes the mirror and the branch in it, and returns its tip.
func (g *Git) branch(ctx context.Context, p checkout, first []work.File) (string, error) {
	defer g.lockMirror(ctx, p)()
	if err := g.makeMirror(ctx, p); err != nil {
		return "", err
	}
	if err := g.begin(ctx, p); err != nil {
		return "", err
	}
	if err := g.fetchHandover(ctx, p); err != nil {
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
		owner, err := g.owner(ctx, p, tip)
		if err != nil || owner == "" || owner == p.Identity {
			return tip, err
		}
		if err := g.setAside(ctx, p, owner, tip); err != nil {
			return "", err
		}
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
func (g *Git) makeMirror(ctx context.Context, p checkout) error {
	for _, name := range []string{"refs", "HEAD", "objects"} {
		if _, err := os.Stat(filepath.Join(p.mirror, name)); err != nil {
			_, err := g.git(ctx, p.mirror, "init", "--quiet", "--bare")
			return err
		}
	}
	return nil
}

// fetch brings refs of the remote into the mirror.
func (g *Git) fetch(ctx context.Context, p checkout, refs ...string) error {
	_, err := g.remotely(ctx, p, fetching(p.CloneURL, refs...)...)
	return err
}

// fetching are the arguments of a fetch of nothing but some refs.
func fetching(from string, refs ...string) []string {
	return append([]string{"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--", from}, refs...)
}

// tracked names a branch there and here for a fetch.
func tracked(branch string) string { return "+refs/heads/" + branch + ":refs/remotes/origin/" + branch }

func (g *Git) fetchMain(ctx context.Context, p checkout) error {
	// Old history may have faults that every host and clone takes.
	_, err := g.remotely(ctx, p, append([]string{"-c", "fetch.fsckObjects=false"}, fetching(p.CloneURL, tracked(p.Main))...)...)
	if err != nil && !fault.Retryable(err) {
		if _, looked := g.remote(ctx, p); looked != nil { // it is not the repository that says so
			err = looked
		}
	}
	if err != nil {
		return fmt.Errorf("%w: the branch %s of %s cannot be fetched: %w", work.ErrRemote, p.Main, p.Repo, err)
	}
	return nil
}

// remote looks where the remote branch is; empty when there is none. Git takes a page
// of something in front of the remote for a repository without refs: one that lists
// none of HEAD, main and the branch is an error.
func (g *Git) remote(ctx context.Context, p checkout) (string, error) {
	out, err := g.remotely(ctx, p, "ls-remote", "--quiet", "--", p.CloneURL, "HEAD", "refs/heads/"+p.Main, "refs/heads/"+p.Branch)
	if err != nil {
		return "", fmt.Errorf("%w: %w", work.ErrRemote, err)
	}
	if strings.TrimSpace(out) == "" {
		return "", noBranchError(p)
	}
	for line := range strings.Lines(out) {
		if sha, ref, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok && ref == "refs/heads/"+p.Branch && commitID(sha) {
			return sha, nil
		}
	}
	return "", nil
}

// fetchCommit brings a commit of the remote task branch into the mirror.
func (g *Git) fetchCommit(ctx context.Context, p checkout) error {
	return g.fetch(ctx, p, tracked(p.Branch))
}

// adopt takes over a remote branch that an earlier life of the task has made, or
// another machine. Another's branch is not touched.
func (g *Git) adopt(ctx context.Context, p checkout) (string, error) {
	tip, err := g.remote(ctx, p)
	if err != nil || tip == "" {
		return "", err
	}
	if err := g.fetchCommit(ctx, p); err != nil {
		return "", err
	}
	owner, err := g.owner(ctx, p, tip)
	if err == nil && (owner == "" || owner != p.Identity) {
		err = p.taken()
	}
	if err != nil {
		return "", err
	}
	_, err = g.git(ctx, p.mirror, "update-ref", "refs/heads/"+p.Branch, tip)
	return tip, err
}

// firstCommit makes the branch from the remote main with the first files.
func (g *Git) firstCommit(ctx context.Context, p checkout, first []work.File) (string, error) {
	base, err := g.ref(ctx, p.mirror, "refs/remotes/origin/"+p.Main)
	if err != nil || base == "" {
		return "", errors.Join(fmt.Errorf("%s has no branch %s", p.Repo, p.Main), err)
	}
	tip, err := g.commitFiles(ctx, p, base, first, begin(p))
	if err != nil {
		return "", err
	}
	_, err = g.git(ctx, p.mirror, "update-ref", "refs/heads/"+p.Branch, tip, strings.Repeat("0", 40))
	return tip, err
}

// begin is the message of a task's first commit.
func begin(p checkout) string {
	if p.Identity == "" {
		return p.WorkItem + ": begin"
	}
	return p.WorkItem + ": begin\n\n" + trailer + p.Identity
}

// trailer begins the line that says whose a branch is.
const trailer = "Signalbox-Task: "

// owner returns the task of a branch, which its commits say that main does not have: the space's own when any of them does, for
// others' branches may be merged into it, else the first that is named. Empty when none is.
func (g *Git) owner(ctx context.Context, p checkout, tip string) (owner string, err error) {
	out, err := g.git(ctx, p.mirror, "log", "--reverse", "--grep=^"+trailer, "--format=%B%x00", tip, "^refs/remotes/origin/"+p.Main, "--")
	for body := range strings.SplitSeq(out, "\x00") {
		if named := taskIn(body); owner == "" || named != "" && named == p.Identity {
			owner = named
		}
	}
	return owner, err
}

// taskIn returns the task that a commit's message names; empty when it names none.
func taskIn(body string) string {
	_, after, _ := strings.Cut("\n"+body, "\n"+trailer)
	named, _, _ := strings.Cut(after, "\n")
	return strings.TrimSpace(named)
}

// setAside keeps the branch that an earlier task of the same work item has left in this
// mirror, under the name that Drop gives to what it keeps.
func (g *Git) setAside(ctx context.Context, p checkout, owner, tip string) error {
	id, _, _ := strings.Cut(owner, ".")
	if err := g.keepAs(ctx, p, keptRefs+p.WorkItem+"-"+id, tip); err != nil {
		return err
	}
	return g.remove(p.mark) // the checkout is the earlier task's too
}

func (p checkout) taken() error {
	return fmt.Errorf("%w: %s of %s is not this task's", work.ErrTaken, p.Branch, p.Repo)
}

func (g *Git) stage(ctx context.Context, p checkout, env []string, f work.File) error {
	if path.Clean(f.Path) != f.Path || path.IsAbs(f.Path) || strings.HasPrefix(f.Path, "../") || strings.ContainsAny(f.Path, "\x00\n,") {
		return fmt.Errorf("%w: file %q", work.ErrBadName, f.Path)
	}
	blob, err := g.run(ctx, call{repo: p.mirror, stdin: string(f.Body), args: []string{"hash-object", "-w", "--stdin"}})
	if err != nil {
		return err
	}
	entry := "100644," + strings.TrimSpace(blob) + "," + f.Path
	_, err = g.run(ctx, call{repo: p.mirror, env: env, args: []string{"update-index", "--add", "--cacheinfo", entry}})
	return err
}
