package gitcli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// stderrMax bounds what is kept of a check's reason, in bytes.
const stderrMax = 4 << 10

// RunCheck implements gates.Commands: it runs a command in a fresh checkout of
// the judged commit, which is removed afterwards. The command sees PATH, HOME
// and the task's facts, and nothing else of our environment.
func (g *Git) RunCheck(ctx context.Context, argv []string, s gates.Subject) (exit int, stderr string, err error) {
	p, err := g.locate(work.Space{Repo: s.Task.Repo, CloneURL: "unused", Main: s.Task.Main, Branch: s.Task.Branch, WorkItem: s.Task.WorkItem})
	if err != nil {
		return -1, "", err
	}
	if !commitID(s.SHA) || len(argv) == 0 {
		return -1, "", fmt.Errorf("%w: commit %q", work.ErrBadName, s.SHA)
	}
	temp, err := os.MkdirTemp(g.opt.Root, "check-")
	if err != nil {
		return -1, "", err
	}
	defer func() { _ = g.remove(temp) }() // what a check leaves in its checkout is nobody's
	dir := filepath.Join(temp, "tree")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return -1, "", err
	}
	env := []string{"GIT_INDEX_FILE=" + filepath.Join(temp, "index")}
	for _, args := range [][]string{{"read-tree", s.SHA}, {"checkout-index", "--all", "--force"}} {
		if _, err := g.run(ctx, call{repo: p.mirror, tree: dir, env: env, args: args}); err != nil {
			return -1, "", err
		}
	}
	return g.check(ctx, argv, dir, s)
}

func (g *Git) check(ctx context.Context, argv []string, dir string, s gates.Subject) (int, string, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	if !filepath.IsAbs(argv[0]) && strings.ContainsRune(argv[0], '/') {
		cmd.Path = filepath.Join(dir, argv[0])
	}
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(g.opt.Root, "home"), "LC_ALL=C.UTF-8",
		"SIGNALBOX_SHA=" + s.SHA, "SIGNALBOX_STAGE=" + string(s.Stage), "SIGNALBOX_REPO=" + s.Task.Repo,
		"SIGNALBOX_BRANCH=" + s.Task.Branch, "SIGNALBOX_WORK_ITEM=" + s.Task.WorkItem, "SIGNALBOX_DOCS=" + s.Task.Docs,
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 2 * time.Second
	var out strings.Builder
	cmd.Stderr = &bounded{to: &out, left: stderrMax, cut: true}
	err := cmd.Run()
	var failed *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return -1, "", ctx.Err()
	case errors.As(err, &failed) && failed.ExitCode() >= 0:
		return failed.ExitCode(), out.String(), nil
	default:
		return 0, out.String(), err
	}
}
