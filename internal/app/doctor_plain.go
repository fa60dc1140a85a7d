package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/signalbox-dev/signalbox/adapters/gitcli"
	"github.com/signalbox-dev/signalbox/adapters/gitonly"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// plain examines a repository without a git host: whether it can be read and pushed to,
// and what is run as its CI.
func (d *doctor) plain(ctx context.Context, v *Service, p task.Project) {
	space, _ := gitonly.Registered(v.Projects)(p.Repo)
	heads, err := v.Git.Heads(ctx, space)
	if err == nil && heads[p.Main] == "" {
		err = fmt.Errorf("there is no branch %s: push a first commit to it, or name another in main", p.Main)
	}
	if err != nil {
		d.bad(p.Prefix, fmt.Errorf("the repository %s: %w", p.Repo, err))
		return
	}
	d.ok(p.Prefix, "the repository %s answers, and %s is at %.12s", p.Repo, p.Main, heads[p.Main])
	err = v.Git.MayPush(ctx, space)
	if err == nil && checkedOut(p.CloneURL, p.Main) {
		err = errors.New(gitcli.CheckedOut(p.Repo, p.Main))
	}
	d.check(p.Prefix, "the service may push to "+p.Repo, err)
	if len(p.CI) == 0 {
		d.warn(p.Prefix, "CI: none configured for %s: it has no git host, and ci names no command, so nothing is tested", p.Repo)
	}
	space.Branch, space.WorkItem = "signalbox/none", "none"
	files, unread := v.Git.Files(ctx, space, heads[p.Main])
	for _, argv := range p.CI {
		err := unread
		if err == nil {
			err = present(files, argv[0])
		}
		d.check(p.Prefix, "ci: "+strings.Join(argv, " "), err)
	}
}

// present is the error of a program that is neither a file of the repository nor here.
func present(files fs.FS, program string) error {
	if !strings.Contains(program, "/") || filepath.IsAbs(program) {
		_, err := exec.LookPath(program)
		return err
	}
	if _, err := fs.Stat(files, path.Clean(program)); err != nil {
		return fmt.Errorf("main has no file %s: commands are run as main has them", path.Clean(program))
	}
	return nil
}

// takes is the setting of a repository that lets a push move a branch which is checked out.
var takes = regexp.MustCompile(`(?mi)^\s*denyCurrentBranch\s*=\s*"?(updateInstead|ignore|warn|false)`)

// checkedOut reports whether a repository at a path has main checked out, and refuses
// that it moves. Nothing but its files is looked at.
func checkedOut(cloneURL, main string) bool {
	dir := filepath.Join(strings.TrimPrefix(cloneURL, "file://"), ".git")
	head, err := os.ReadFile(filepath.Join(dir, "HEAD"))
	if err != nil || strings.TrimSpace(string(head)) != "ref: refs/heads/"+main {
		return false
	}
	config, _ := os.ReadFile(filepath.Join(dir, "config")) // without one, nothing is set
	return !takes.Match(config)
}
