package gitcli

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// mark records how a checkout stands to the mirror. It lies beside the task's
// repository.
type mark struct {
	Task  int64      `json:"task,omitempty"`
	Taken string     `json:"taken"`          // where the mirror's branch was when they were last the same
	Start string     `json:"start"`          // where the attempt began; the mirror has it
	Whole bool       `json:"whole"`          // else what is there is half made, and nothing of it counts
	Role  stage.Role `json:"role,omitempty"` // whose caches are there
	// Behind: the mirror's branch was rebased since, or a hook is at work or has committed; nothing is taken from here.
	Behind bool `json:"behind,omitempty"`
	// Created: what is done once for the role is done, and some of it is among the caches.
	Created bool `json:"created,omitempty"`

	Writes   stage.Paths `json:"writes,omitzero"`     // what the commits may change
	FromMain []string    `json:"from_main,omitempty"` // which files are those of Main
	Main     string      `json:"main,omitempty"`
	Beside   []string    `json:"beside,omitempty"` // files that no commit of the attempt has
}

func (p checkout) readMark() (m mark, ok bool) {
	body, err := os.ReadFile(p.mark)
	if err != nil || json.Unmarshal(body, &m) != nil || !commitID(m.Taken) || !commitID(m.Start) {
		return mark{}, false
	}
	return m, true
}

func (p checkout) writeMark(m mark) error {
	body, _ := json.Marshal(m) // texts and truths always encode
	if err := os.WriteFile(p.mark+".new", body, 0o600); err != nil {
		return err
	}
	return os.Rename(p.mark+".new", p.mark)
}

// makeAnew makes the task's repository and checkout at a commit, whatever is there. Of a checkout that was
// whole it makes another only where that cannot be swept.
// Caches that the registry names are taken over from an attempt of the same role. It returns
// the mark as it is then.
func (g *Git) makeAnew(ctx context.Context, p checkout, m mark) (_ mark, err error) {
	before, _ := p.readMark()
	if m.Main, err = g.ref(ctx, p.mirror, "refs/remotes/origin/"+p.Main); err != nil {
		return m, err
	}
	if err := os.MkdirAll(filepath.Dir(p.mark), 0o700); err != nil {
		return m, err
	}
	if err := p.writeMark(m); err != nil { // another try, after a crash, begins there too
		return m, err
	}
	if err := g.remove(p.aside); err != nil {
		return m, err
	}
	var caches []string
	if before.Whole && before.Role == m.Role {
		caches = g.move(p.dir, p.aside, p.Keep)
	}
	gone := []string{p.repo, p.index + ".lock"}
	if err := g.sweep(ctx, p, before, m); err != nil {
		g.log(p).Debug("a checkout is made from nothing", "why", err)
		gone = append(gone, p.dir, p.index)
	}
	for _, name := range gone {
		if err := g.remove(name); err != nil {
			return m, err
		}
	}
	if err := g.makeRepo(p, m); err != nil {
		return m, err
	}
	if err := g.checkOut(ctx, p, m); err != nil {
		return m, err
	}
	if err := g.putBeside(p); err != nil {
		return m, err
	}
	if len(caches) > 0 {
		kept := g.move(p.aside, p.dir, g.ignored(ctx, p, caches))
		m.Created = before.Created && len(kept) > 0
		if err := g.remove(p.aside); err != nil {
			return m, err
		}
	}
	m.Whole = true
	return m, p.writeMark(m)
}

// makeRepo makes the task's repository, which borrows the mirror's objects, with main as
// it was fetched last, and the directory of its checkout. It writes the files of both:
// git runs in neither.
func (g *Git) makeRepo(p checkout, m mark) error {
	files := map[string]string{
		filepath.Join(p.dir, ".git"):                           "gitdir: " + p.repo + "\n",
		filepath.Join(p.repo, "HEAD"):                          "ref: refs/heads/" + p.Branch + "\n",
		filepath.Join(p.repo, "refs", "heads", p.Branch):       m.Start + "\n",
		filepath.Join(p.repo, "refs/remotes/origin", p.Main):   m.Main + "\n",
		filepath.Join(p.repo, "config"):                        g.settings(),
		filepath.Join(p.repo, "objects", "info", "alternates"): filepath.Join(p.mirror, "objects") + "\n",
	}
	if m.Main == "" {
		delete(files, filepath.Join(p.repo, "refs/remotes/origin", p.Main))
	}
	return writeAll(files)
}

// settings is the configuration of a task's repository: agents' gits alone read it.
func (g *Git) settings() string {
	return "[core]\n\trepositoryFormatVersion = 0\n\tbare = false\n\tlogAllRefUpdates = true\n" +
		"[user]\n\tname = " + quoteSetting(g.opt.Name) + "\n\temail = " + quoteSetting(g.opt.Email) + "\n"
}

// quoteSetting writes a value, or the name of a section, for a file of settings.
func quoteSetting(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}

// writeAll writes files and the directories that they lie in.
func writeAll(files map[string]string) error {
	for name, body := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(name, []byte(body), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// inCheckout is a call for a task's checkout and an index of it. It runs in the mirror, whose
// configuration no agent writes.
func inCheckout(p checkout, index string, args ...string) call {
	return call{repo: p.mirror, tree: p.dir, env: []string{"GIT_INDEX_FILE=" + index}, args: args}
}

// ignored are those of some directories that git ignores in the checkout.
func (g *Git) ignored(ctx context.Context, p checkout, dirs []string) []string {
	in := inCheckout(p, filepath.Join(p.repo, "index"), "check-ignore", "-z", "--stdin")
	in.stdin = strings.Join(dirs, "/\x00") + "/\x00"
	out, err := g.run(ctx, in)
	if err != nil && exitCode(err) != 1 { // 1: none is
		g.log(p).Warn("caches are not kept", "err", err)
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

// refMax bounds the files that refs are read from, in bytes.
const refMax = 4 << 20

// heads are the commits that a task's repository stands at. Empty is what is not
// there, or not to be read.
type heads struct {
	branch, head, stash, autostash string
	on                             string // the content of HEAD
}

func (p checkout) heads() (h heads) {
	if plainDir(p.repo, ".") != nil {
		return h
	}
	repo, err := os.OpenRoot(p.repo)
	if err != nil {
		return h
	}
	defer func() { _ = repo.Close() }() // nothing was written through it
	h.branch = refIn(repo, "refs/heads/"+p.Branch)
	h.stash = refIn(repo, "refs/stash")
	h.autostash = refIn(repo, "rebase-merge/autostash")
	h.head, h.on = refIn(repo, "HEAD"), content(repo, "HEAD")
	if name, symbolic := strings.CutPrefix(h.on, "ref: "); symbolic {
		h.head = refIn(repo, name)
	}
	return h
}

// refIn reads a ref as git keeps it: in a file of its own, or in the packed ones.
func refIn(repo *os.Root, name string) string {
	if sha := content(repo, name); commitID(sha) {
		return sha
	}
	for line := range strings.Lines(content(repo, "packed-refs")) {
		if sha, ref, _ := strings.Cut(strings.TrimSpace(line), " "); ref == name && commitID(sha) {
			return sha
		}
	}
	return ""
}

// content reads a file, without the space around its text; empty for anything else than
// a file. It never waits for a pipe.
func content(root *os.Root, name string) string {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // it was read only
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	body, err := io.ReadAll(io.LimitReader(f, refMax))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(body))
}

// plainDir returns an error unless a name below a directory, and all on the way to
// it, are directories and no links.
func plainDir(dir, name string) error {
	at := dir
	for part := range strings.SplitSeq("./"+filepath.ToSlash(name), "/") {
		at = filepath.Join(at, part)
		info, err := os.Lstat(at)
		if err == nil && !info.IsDir() {
			err = &os.PathError{Op: "enter", Path: at, Err: syscall.ENOTDIR}
		}
		if err != nil {
			return err
		}
	}
	return nil
}
