package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// agents examines every agent that a role has somewhere: whether it is here, which version
// it is and, with Probe, whether it works.
func (d *doctor) agents(v *Service) {
	if d.Probe {
		if err := v.listenGateway(context.Background(), "127.0.0.1:0"); err != nil { // beside that of a server that runs
			d.bad("gateway", err)
			return
		}
	}
	var seen []work.Agent
	for _, p := range v.Projects.All() {
		for _, role := range stage.Roles() {
			a := p.Agents[role]
			// What else it has does not show here.
			agent := work.Agent{Use: v.Settings.agentOf(p, role), Model: a.Model, Args: a.Args, Env: a.Env}
			if slices.ContainsFunc(seen, func(o work.Agent) bool { return reflect.DeepEqual(o, agent) }) {
				continue
			}
			seen = append(seen, agent)
			d.agent(v, p.Prefix, agent)
		}
	}
}

func (d *doctor) agent(v *Service, prefix string, a work.Agent) {
	ctx, cancel := context.WithTimeout(context.Background(), examineTime)
	defer cancel()
	agent := a.Use
	if err := v.Agents.Check(agent); err != nil {
		d.bad(prefix, mend(err, "install it for the service's user, or name another in agents or "+Prefix+"AGENT"))
		return
	}
	version, err := v.Agents.Version(ctx, agent)
	if err != nil {
		d.bad(prefix, mend(err, "the agent "+agent+" does not start: install it again"))
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
		d.ok(prefix, "agent %s%s; --probe lets it run once", agent, version)
		return
	}
	failed := mend(v.probe(ctx, a), "run it by hand as the service's user, and sign in")
	d.check(prefix, "agent "+agent+version+" has run, as it will for cards", failed)
}

// probePrompt is the prompt of a probe: a run that changes nothing.
const probePrompt = "Answer with the word ok. Change no file and run no command.\n"

// probe lets an agent do nothing, as it is run for cards, in a checkout of its own.
func (v *Service) probe(ctx context.Context, agent work.Agent) (err error) {
	dir, err := os.MkdirTemp(v.Settings.DataDir, "probe-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, removeAll(dir)) }()
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
	runner, err := v.runner(dir)
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
