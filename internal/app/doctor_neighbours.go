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
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/adapters/agentcli"
	"github.com/signalbox-dev/signalbox/adapters/gitcli"
	"github.com/signalbox-dev/signalbox/adapters/gitonly"
	"github.com/signalbox-dev/signalbox/internal/jail"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// plain examines a repository without a git host: whether it can be read and pushed to,
// and what is run as its CI.
func (d *doctor) plain(ctx context.Context, v *Service, p task.Project) {
	a := d.of(p.Prefix)
	space, _ := gitonly.Registered(v.Projects)(p.Repo)
	heads, err := v.Git.Heads(ctx, space)
	if err == nil && heads[p.Main] == "" {
		err = fmt.Errorf("there is no branch %s: push a first commit to it, or name another in main", p.Main)
	}
	if err != nil {
		a.Bad("the repository %s: %w", p.Repo, err)
		return
	}
	a.OK("the repository %s answers, and %s is at %.12s", p.Repo, p.Main, heads[p.Main])
	err = v.Git.MayPush(ctx, space)
	if err == nil && checkedOut(p.CloneURL, p.Main) {
		err = errors.New(gitcli.CheckedOut(p.Repo, p.Main))
	}
	a.Check("the service may push to "+p.Repo, "", err)
	if len(p.CI) == 0 {
		a.Warn("CI: none configured for %s: it has no git host, and ci names no command, so nothing is tested", p.Repo)
	}
	space.Branch, space.WorkItem = "signalbox/none", "none"
	files, unread := v.Git.Files(ctx, space, heads[p.Main])
	for _, argv := range p.CI {
		err := unread
		if err == nil {
			err = present(files, argv[0])
		}
		a.Check("ci: "+strings.Join(argv, " "), "", err)
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

// agents examines every agent that a role has somewhere: whether it is here, which version
// it is and, with Probe, whether it works.
func (d *doctor) agents(v *Service) {
	if d.Probe {
		if err := v.listenGateway(context.Background(), "127.0.0.1:0"); err != nil { // beside that of a server that runs
			d.of("gateway").Bad("%w", err)
			return
		}
	}
	var seen []work.Agent
	for _, p := range v.Projects.All() {
		for _, role := range v.opened.Pipeline.Roles() {
			a := v.Settings.agentOf(p, role)
			// What else it has does not show here.
			agent := work.Agent{Use: a.Use, Model: a.Model, Args: a.Args, Env: a.Env}
			if slices.ContainsFunc(seen, func(o work.Agent) bool { return reflect.DeepEqual(o, agent) }) {
				continue
			}
			seen = append(seen, agent)
			d.agent(v, p.Prefix, agent)
		}
	}
}

func (d *doctor) agent(v *Service, prefix string, a work.Agent) {
	x := d.of(prefix)
	ctx, cancel := context.WithTimeout(context.Background(), examineTime)
	defer cancel()
	agent := a.Use
	if err := v.Agents.Check(agent); err != nil {
		x.Check("", "install it for the service's user, or name another in agents or "+Prefix+"AGENT", err)
		return
	}
	version, err := v.Agents.Version(ctx, agent)
	if err != nil {
		x.Check("", "the agent "+agent+" does not start: install it again", err)
		return
	}
	if version != "" {
		version = " (" + version + ")"
	}
	d.gateway(v, prefix, a)
	if a.Model != "" {
		agent += " with the model " + a.Model
	}
	if !d.Probe {
		x.OK("agent %s%s; --probe lets it run once", agent, version)
		return
	}
	x.Check("agent "+agent+version+" has run, as it will for cards",
		"run it by hand as the service's user, and sign in", v.probe(ctx, a))
}

// probePrompt is the prompt of a probe: a run that changes nothing.
const probePrompt = "Answer with the word ok. Change no file and run no command.\n"

// probe lets an agent do nothing, as it is run for cards, in a checkout of its own.
func (v *Service) probe(ctx context.Context, agent work.Agent) (err error) {
	dir, err := os.MkdirTemp(v.Settings.DataDir, "probe-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, jail.RemoveTree(dir)) }()
	checkout := filepath.Join(dir, "checkout")
	for _, args := range [][]string{
		{"init", "--quiet", checkout},
		{"-C", checkout, "config", "user.name", "signalbox"},
		{"-C", checkout, "config", "user.email", "signalbox@localhost"},
	} {
		if out, err := exec.CommandContext(ctx, "git", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, out)
		}
	}
	runner, err := agentcli.New(v.agentOptions(dir))
	if err != nil {
		return err
	}
	agent.Timeout = examineTime - 10*time.Second
	res := runner.Run(ctx, work.Command{
		TaskID: 1, WorkItem: "PROBE-1", Repo: "signalbox/probe",
		Role: stage.Analyst, Stage: stage.Analysis, Run: 1, Attempt: 1, Dir: checkout, Prompt: probePrompt,
		Agent: agent, Env: map[string]string{"SIGNALBOX_DOCS": "docs/work/PROBE-1"},
	})
	if res.Kind != work.ResultOK {
		return fmt.Errorf("the agent %s failed (%s): %s", agent.Use, res.Kind, res.Reason)
	}
	return nil
}
