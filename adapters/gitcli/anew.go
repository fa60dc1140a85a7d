package gitcli

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// mark says how a checkout stands to the mirror. It lies beside the task's
// repository.
type mark struct {
	Task   int64      `json:"task,omitempty"`
	Taken  string     `json:"taken"`            // where the mirror's branch was when they last agreed
	Start  string     `json:"start"`            // where the attempt began; the mirror has it
	Whole  bool       `json:"whole"`            // else what is there is half made, and nothing of it counts
	Role   stage.Role `json:"role,omitempty"`   // whose caches are there
	Behind bool       `json:"behind,omitempty"` // the mirror's branch was rebased since: nothing is taken from here
}

func (p place) readMark() (m mark, ok bool) {
	body, err := os.ReadFile(p.mark)
	if err != nil || json.Unmarshal(body, &m) != nil || !commitID(m.Taken) || !commitID(m.Start) {
		return mark{}, false
	}
	return m, true
}

func (p place) writeMark(m mark) error {
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if err := os.WriteFile(p.mark+".new", body, 0o600); err != nil {
		return err
	}
	return os.Rename(p.mark+".new", p.mark)
}

// makeAnew makes the task's repository and checkout at a commit, whatever is there.
// Caches that the registry names are taken over from an attempt of the same role.
func (g *Git) makeAnew(ctx context.Context, p place, m mark) error {
	before, _ := p.readMark()
	if err := os.MkdirAll(filepath.Dir(p.mark), 0o700); err != nil {
		return err
	}
	if err := p.writeMark(m); err != nil { // whoever makes it again, after a crash, begins there too
		return err
	}
	if err := g.remove(p.aside); err != nil {
		return err
	}
	var caches []string
	if before.Whole && before.Role == m.Role {
		caches = g.move(p.dir, p.aside, p.Keep)
	}
	for _, name := range []string{p.dir, p.repo} {
		if err := g.remove(name); err != nil {
			return err
		}
	}
	if err := g.makeRepo(ctx, p); err != nil {
		return err
	}
	if err := g.checkOut(ctx, p, m.Start); err != nil {
		return err
	}
	if len(caches) > 0 {
		g.move(p.aside, p.dir, g.ignored(ctx, p, caches))
		if err := g.remove(p.aside); err != nil {
			return err
		}
	}
	m.Whole = true
	return p.writeMark(m)
}

// makeRepo makes an empty repository that borrows the mirror's objects, and the
// directory of its checkout.
func (g *Git) makeRepo(ctx context.Context, p place) error {
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return err
	}
	if _, err := g.git(ctx, "", "init", "--quiet", "--initial-branch="+p.Branch, "--separate-git-dir="+p.repo, p.dir); err != nil {
		return err
	}
	for _, setting := range [][]string{{"user.name", g.opt.Name}, {"user.email", g.opt.Email}} {
		if _, err := g.git(ctx, p.repo, "config", setting[0], setting[1]); err != nil {
			return err
		}
	}
	return lend(p.repo, filepath.Join(p.mirror, "objects"))
}

// lend makes a repository borrow the objects of others.
func lend(repo string, objects ...string) error {
	info := filepath.Join(repo, "objects", "info")
	if err := os.MkdirAll(info, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(info, "alternates"), []byte(strings.Join(objects, "\n")+"\n"), 0o600)
}

// checkOut puts a new repository and its empty checkout at a commit, with main as
// it was fetched last.
func (g *Git) checkOut(ctx context.Context, p place, start string) error {
	refs := "create refs/heads/" + p.Branch + " " + start + "\n"
	main, err := g.ref(ctx, p.mirror, "refs/remotes/origin/"+p.Main)
	if err != nil {
		return err
	}
	if main != "" {
		refs += "create refs/remotes/origin/" + p.Main + " " + main + "\n"
	}
	if _, err := g.run(ctx, call{repo: p.repo, stdin: refs, args: []string{"update-ref", "--stdin"}}); err != nil {
		return err
	}
	_, err = g.run(ctx, call{repo: p.repo, tree: p.dir, args: []string{"read-tree", "--reset", "-u", start}})
	return err
}

// ignored are those of some directories that git ignores in the checkout.
func (g *Git) ignored(ctx context.Context, p place, dirs []string) []string {
	ask := strings.Join(dirs, "/\x00") + "/\x00"
	out, err := g.run(ctx, call{repo: p.repo, tree: p.dir, stdin: ask, args: []string{"check-ignore", "-z", "--stdin"}})
	if err != nil && exitCode(err) != 1 { // 1: none is
		g.opt.Log.Warn("caches are not kept", "work_item", p.WorkItem, "repo", p.Repo, "err", err)
		return nil
	}
	return strings.FieldsFunc(strings.ReplaceAll(out, "/\x00", "\x00"), func(r rune) bool { return r == 0 })
}

// move moves directories from one tree below the root into another and returns those
// that it has moved. One that is none, is reached through a link, or is there
// already, stays: caches can be made again.
func (g *Git) move(from, to string, names []string) (moved []string) {
	for _, name := range names {
		err := os.MkdirAll(to, 0o700)
		if err == nil {
			err = moveDir(from, to, filepath.FromSlash(name))
		}
		switch {
		case err == nil:
			moved = append(moved, name)
		case !errors.Is(err, os.ErrNotExist):
			g.opt.Log.Warn("a cache is not kept", "path", name, "checkout", from, "err", err)
		}
	}
	return moved
}

func moveDir(from, to, name string) error {
	if err := plainDir(from, name); err != nil {
		return err
	}
	parent := filepath.Dir(name)
	if err := plainDir(to, parent); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Join(to, parent), 0o755); err != nil {
		return err
	}
	if _, err := os.Lstat(filepath.Join(to, name)); err == nil {
		return &os.PathError{Op: "move", Path: name, Err: os.ErrExist}
	}
	if err := os.Chmod(filepath.Join(from, name), 0o700); err != nil { // what may not be written cannot be moved
		return err
	}
	return os.Rename(filepath.Join(from, name), filepath.Join(to, name))
}
