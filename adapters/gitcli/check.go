package gitcli

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/internal/jail"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// stderrMax bounds what is kept of what a check says, in bytes: the end of it.
const stderrMax = 4 << 10

// RunCheck implements gates.Commands: it runs a command in a fresh checkout of the judged commit, which is removed
// afterwards. Words of the command that name a file of main, as it was fetched last, stand for that file in a
// checkout of main: a branch does not judge itself; nor by the files of s.FromMain, which are as s.Base has them.
// The command sees PATH, a HOME of its own and the task's facts, and nothing else of our environment; all that it
// has started is ended with it.
func (g *Git) RunCheck(ctx context.Context, argv []string, s gates.Facts) (exit int, stderr string, err error) {
	p, err := g.locate(work.Workspace{
		Repo: s.Task.Repo, CloneURL: "unused", Main: s.Task.Main, Branch: s.Task.Branch, WorkItem: s.Task.WorkItem,
	})
	if err != nil {
		return -1, "", err
	}
	if !commitID(s.SHA) || len(argv) == 0 {
		return -1, "", fmt.Errorf("%w: commit %q", work.ErrBadName, s.SHA)
	}
	e, err := g.errand(ctx, p, argv)
	if err != nil {
		return -1, "", err
	}
	defer func() { _ = g.remove(e.temp) }() // what a check leaves in its checkout is nobody's
	e.dir, e.log = filepath.Join(e.temp, "tree"), s.Log
	e.own.Write = []string{e.dir}
	o, err := g.overlay(ctx, p, mark{Main: s.Base, FromMain: s.FromMain}, s.SHA)
	if err == nil {
		err = g.export(ctx, p, o.tree, e.dir)
	}
	if err != nil {
		return -1, "", err
	}
	e.env = []string{
		"SIGNALBOX_SHA=" + s.SHA, "SIGNALBOX_STAGE=" + string(s.Stage), "SIGNALBOX_REPO=" + s.Task.Repo,
		"SIGNALBOX_BRANCH=" + s.Task.Branch, "SIGNALBOX_WORK_ITEM=" + s.Task.WorkItem, "SIGNALBOX_DOCS=" + s.Task.Docs,
	}
	return g.execute(ctx, e)
}

// Connect opens the network to one check or hook of a repository.
type Connect func(ctx context.Context, repo string) (Connection, error)

// Connection holds what a check gets with it.
type Connection struct {
	Env   []string              // that it sees besides
	Jail  work.Jail             // that it may touch besides
	Close func() []work.Refusal // called once, when nothing of the check lives
}

// errand is a command that is run under the shim of checks.
type errand struct {
	repo string
	argv []string  // files of main replaced
	temp string    // directory of its own: home, tmp, and main when a word names a file of it
	dir  string    // where it runs
	own  work.Jail // what it may touch besides
	env  []string  // that it sees besides
	log  io.Writer // nil = none
}

// errand prepares a command for execute: with main's files in the place of the words that
// name them. The caller removes temp.
func (g *Git) errand(ctx context.Context, p checkout, argv []string) (e errand, err error) {
	if len(g.opt.Shim) == 0 {
		return e, errors.New("gitcli: Options.Shim is missing: the command that ends in RunCheckShim")
	}
	e.repo = p.Repo
	if e.temp, err = os.MkdirTemp(g.opt.Root, "check-"); err != nil {
		return e, err
	}
	if e.argv, err = g.ofMain(ctx, p, argv, filepath.Join(e.temp, "main")); err == nil {
		err = errors.Join(os.Mkdir(filepath.Join(e.temp, "home"), 0o700), os.Mkdir(filepath.Join(e.temp, "tmp"), 0o700))
	}
	if err != nil {
		_ = g.remove(e.temp) // the error that there was counts
	}
	return e, err
}

// export puts the files of a commit into a new directory.
func (g *Git) export(ctx context.Context, p checkout, sha, dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	env := []string{"GIT_INDEX_FILE=" + dir + ".index"}
	for _, args := range [][]string{{"read-tree", sha}, {"checkout-index", "--all", "--force"}} {
		if _, err := g.run(ctx, call{repo: p.mirror, tree: dir, env: env, args: args}); err != nil {
			return err
		}
	}
	return nil
}

// ofMain replaces the words of a command that name files of main by those files, in a
// checkout that it makes for them.
func (g *Git) ofMain(ctx context.Context, p checkout, argv []string, dir string) ([]string, error) {
	main, err := g.ref(ctx, p.mirror, "refs/remotes/origin/"+p.Main)
	if err != nil || main == "" {
		return nil, errors.Join(fmt.Errorf("the branch %s of %s was never fetched", p.Main, p.Repo), err)
	}
	argv = slices.Clone(argv)
	exported := false
	for i, word := range argv {
		program := i == 0 && strings.ContainsRune(word, '/') && !filepath.IsAbs(word)
		if i == 0 && !program || !filepath.IsLocal(word) || strings.ContainsAny(word, "\n\x00") {
			continue
		}
		name := filepath.ToSlash(filepath.Clean(word))
		typeOf := []string{"cat-file", "--batch-check=%(objecttype)"}
		found, err := g.run(ctx, call{repo: p.mirror, stdin: main + ":" + name + "\n", args: typeOf})
		if err != nil {
			return nil, err
		}
		if strings.TrimSpace(found) != "blob" {
			if program {
				return nil, fmt.Errorf("%s has no file %s on %s: a check is run as main has it, "+
					"so that no branch judges itself", p.Repo, name, p.Main)
			}
			continue
		}
		if !exported {
			if err := g.export(ctx, p, main, dir); err != nil {
				return nil, err
			}
			exported = true
		}
		argv[i] = filepath.Join(dir, name)
	}
	if !filepath.IsAbs(argv[0]) {
		if strings.ContainsRune(argv[0], '/') {
			return nil, fmt.Errorf("%w: the command %q leaves the repository", work.ErrBadName, argv[0])
		}
		if g.opt.Jail != nil && g.opt.Jail.Box.Kind == work.BoxContainer {
			return argv, nil // its image has it
		}
		if argv[0], err = exec.LookPath(argv[0]); err != nil {
			return nil, err
		}
	}
	return argv, nil
}

// endMax is how long the shim may take to end what a check has started.
const endMax = 15 * time.Second

// jail returns what an errand may touch: its own, its directory, and to read the checkout of main.
func (g *Git) jail(e errand) *work.Jail {
	if g.opt.Jail == nil {
		return nil
	}
	own := work.Jail{
		Read:  []string{filepath.Join(e.temp, "main")},
		Write: []string{filepath.Join(e.temp, "home"), filepath.Join(e.temp, "tmp")},
	}
	if program := e.argv[0]; filepath.IsAbs(program) && g.opt.Jail.Box.Kind != work.BoxContainer {
		own.Read = append(own.Read, program)
	}
	j := g.opt.Jail.And(own).And(e.own)
	return &j
}

// execute runs an errand, with a connection where there is one to be had. Hosts that it was
// refused are its last words.
func (g *Git) execute(ctx context.Context, e errand) (exit int, said string, err error) {
	if g.opt.Connect == nil {
		return g.supervise(ctx, e)
	}
	c, err := g.opt.Connect(ctx, e.repo)
	if err != nil {
		return -1, "", err
	}
	e.env, e.own = append(e.env, c.Env...), e.own.And(c.Jail)
	exit, said, err = g.supervise(ctx, e)
	for _, r := range c.Close() {
		line := "the network refused " + r.String() + "\n"
		if said += line; e.log != nil {
			_, _ = io.WriteString(e.log, line) // it is said all the same
		}
	}
	return exit, said, err
}

func (g *Git) supervise(ctx context.Context, e errand) (int, string, error) {
	o := jail.Order{Argv: e.argv, Jail: g.jail(e), Name: "signalbox-check-" + strings.ToLower(rand.Text())}
	order, err := json.Marshal(o)
	if err != nil {
		return -1, "", err
	}
	cmd := exec.CommandContext(ctx, g.opt.Shim[0], g.opt.Shim[1:]...)
	cmd.Dir, cmd.SysProcAttr = e.dir, &syscall.SysProcAttr{Setsid: true}
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(e.temp, "home"), "TMPDIR=" + filepath.Join(e.temp, "tmp"), "LC_ALL=C.UTF-8",
	}, e.env...)
	stop, err := cmd.StdinPipe()
	if err != nil {
		return -1, "", err
	}
	cmd.Cancel = stop.Close // the shim ends then, and the check before
	cmd.WaitDelay = endMax
	out := &ending{most: stderrMax}
	cmd.Stderr = out
	if e.log != nil {
		cmd.Stderr = io.MultiWriter(out, e.log)
	}
	if err := cmd.Start(); err != nil {
		return -1, "", err
	}
	_, errOrder := io.WriteString(stop, string(order)+"\n")
	err = errors.Join(cmd.Wait(), errOrder)
	if o.Jail != nil && cmd.ProcessState.ExitCode() < 0 { // the shim was killed, here too after endMax
		err = errors.Join(err, jail.Clear(context.WithoutCancel(ctx), *o.Jail, o.Name))
	}
	var failed *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return -1, "", ctx.Err()
	case errors.As(err, &failed) && failed.ExitCode() >= 0:
		return failed.ExitCode(), string(out.last), nil
	default:
		return 0, string(out.last), err
	}
}

// errCommits means that a hook has moved what is checked out.
var errCommits = errors.New("it has committed, or checked something else out, and hooks must not: " +
	"what is on a branch is the agent's; nothing of it is taken")

// RunHook implements work.Hooks. The command runs as checks do, but in the checkout: it
// may touch what the agent may there. Other calls for the task wait until it has ended; one
// that clears the task away follows the end of ctx.
func (g *Git) RunHook(ctx context.Context, s work.Workspace, h work.Hook) (exit int, said string, err error) {
	p, err := g.locate(s)
	if err != nil {
		return -1, "", err
	}
	if len(h.Argv) == 0 {
		return -1, "", fmt.Errorf("%w: an empty command", work.ErrBadName)
	}
	defer g.lock(p.dir)()
	m, there := p.readMark()
	if !there || !m.Whole {
		return -1, "", fmt.Errorf("the checkout of %s is not there", s.WorkItem)
	}
	e, err := g.errand(ctx, p, h.Argv)
	if err != nil {
		return -1, "", err
	}
	defer func() { _ = g.remove(e.temp) }() // what it leaves there is nobody's
	e.dir, e.own, e.log = p.dir, p.jail(), h.Log
	for _, name := range slices.Sorted(maps.Keys(h.Env)) {
		e.env = append(e.env, name+"="+h.Env[name])
	}
	before, taken := p.heads(), m
	m.Behind = true // a service that dies meanwhile takes nothing of a hook for the agent's
	if err := p.writeMark(m); err != nil {
		return -1, "", err
	}
	exit, said, err = g.execute(ctx, e)
	if now := p.heads(); now.branch != before.branch || now.head != before.head || now.on != before.on {
		return exit, said, errors.Join(err, errCommits)
	}
	return exit, said, errors.Join(err, p.writeMark(taken))
}

// Created implements work.Hooks.
func (g *Git) Created(_ context.Context, s work.Workspace) error {
	p, err := g.locate(s)
	if err != nil {
		return err
	}
	defer g.lock(p.dir)()
	m, there := p.readMark()
	if !there {
		return fmt.Errorf("the checkout of %s is not there", s.WorkItem)
	}
	m.Created = true
	return p.writeMark(m)
}
