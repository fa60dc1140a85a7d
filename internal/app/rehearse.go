package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/signalbox-dev/signalbox/adapters/agentcli"
	"github.com/signalbox-dev/signalbox/adapters/projectfile"
	"github.com/signalbox-dev/signalbox/adapters/rehearse"
	"github.com/signalbox-dev/signalbox/internal/jail"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// agentOf is the agent of a role.
func (s Settings) agentOf(p task.Project, r stage.Role) work.Agent {
	a := p.Agents[r]
	a.Use = cmp.Or(a.Use, s.Agent)
	return a
}

// MissingAgents names the agents of a registry whose programs are not here. A container's are its image's.
func (s Settings) MissingAgents(r projectfile.Registry) (out []string) {
	for _, p := range r.Projects.All() {
		for _, role := range r.Pipeline.Roles() {
			agent := s.agentOf(p, role).Use
			program, err := agentcli.Program(agent)
			_, absent := exec.LookPath(program)
			if absent != nil && err == nil && agent != rehearse.Name && s.Jail != "container" && !slices.Contains(out, agent) {
				out = append(out, agent)
			}
		}
	}
	return out
}

// checkAgents is the error of a project where the rehearsal agent is one among others (a reviewer that has looked at nothing must not
// judge what an agent has made), and of one whose agent is to be independent of the developer's and cannot be.
func (s Settings) checkAgents(r projectfile.Registry) error {
	for i, p := range r.Projects.All() {
		if wrong := s.checkVendors(p, r.Pipeline); wrong != "" {
			return &task.FieldError{Entry: i, Repo: p.Repo, Field: "agents", Text: wrong}
		}
		var rehearses, works stage.Role
		for _, role := range r.Pipeline.Roles() {
			if s.agentOf(p, role).Use == rehearse.Name {
				rehearses = role
			} else {
				works = role
			}
		}
		if rehearses != "" && works != "" {
			return &task.FieldError{Entry: i, Repo: p.Repo, Field: "agents", Text: fmt.Sprintf(
				"the %s is %s, which looks at nothing, and the %s is %q: use %s for every role (or in %sAGENT), or for none",
				rehearses, rehearse.Name, works, s.agentOf(p, works).Use, rehearse.Name, Prefix)}
		}
	}
	return nil
}

// checkVendors returns what is wrong with an agent that is to be of another vendor than the
// developer's. Where a vendor is not known here the task says what came of it.
func (s Settings) checkVendors(p task.Project, stages stage.Pipeline) string {
	developer := agentcli.VendorOf(s.agentOf(p, stage.Developer))
	for _, role := range stages.Roles() {
		switch agent := s.agentOf(p, role); {
		case !agent.Independent:
		case role == stage.Developer:
			return "developer: independent is for the other roles: they are compared with the developer"
		case developer != "" && agentcli.VendorOf(agent) == developer:
			return fmt.Sprintf("%s: independent, and its agent %s is of the same vendor as the developer's %s (%s): "+
				"name one of another vendor in use, or leave independent out",
				role, agent.Use, s.agentOf(p, stage.Developer).Use, developer)
		}
	}
	return ""
}

// scratchDir begins the names of rehearsals' directories; their marks follow.
const scratchDir = "rehearsal-"

// lockFile is held while a rehearsal lives. It names its repository.
const lockFile = "lock"

// prefixOf is the prefix of the cards of a rehearsal.
func prefixOf(mark string) string { return "R" + strings.ToUpper(mark) }

// hold makes the directory of a rehearsal, and holds it until the file is closed.
func (r *Rehearsal) hold(dir string) (*os.File, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		_, err = f.WriteString(r.Repo)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// sweep removes what rehearsals of the repository have left that were killed.
func (r *Rehearsal) sweep(ctx context.Context) error {
	dirs, err := filepath.Glob(filepath.Join(r.Settings.DataDir, scratchDir+"*"))
	for _, dir := range dirs {
		mark := strings.TrimPrefix(filepath.Base(dir), scratchDir)
		if mark != r.mark && r.isDead(dir) {
			err = errors.Join(err, r.sweepOne(ctx, dir, mark))
		}
	}
	return err
}

// isDead reports whether a directory is that of a rehearsal of this repository that nobody holds any more.
func (r *Rehearsal) isDead(dir string) bool {
	f, err := os.Open(filepath.Join(dir, lockFile))
	if err != nil {
		return false
	}
	defer f.Close()
	repo := make([]byte, len(r.Repo)+1)
	n, _ := f.Read(repo) // an empty one is being made
	return string(repo[:n]) == r.Repo && unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
}

func (r *Rehearsal) sweepOne(ctx context.Context, dir, mark string) error {
	for _, name := range slices.Sorted(maps.Keys(r.before)) {
		_, branch, _ := strings.Cut(name, "/")
		if name != rehearsalBranch+mark && !strings.HasPrefix(branch, prefixOf(mark)+"-") {
			continue
		}
		if err := r.service.Git.RemoveBranch(ctx, r.space(name), name, r.before[name]); err != nil {
			return err
		}
		delete(r.before, name)
	}
	return jail.RemoveTree(dir)
}
