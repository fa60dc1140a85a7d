package projectfile

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/signalbox-dev/signalbox/adapters/agentcli"
	"github.com/signalbox-dev/signalbox/adapters/egress"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// agent describes what a role runs: a preset's name or a command line, as a word or with more
// fields, of which use is that word.
type agent struct {
	Use         string        `yaml:"use"`
	Model       string        `yaml:"model"`
	Args        []string      `yaml:"args"`
	Env         []string      `yaml:"env"`
	Timeout     time.Duration `yaml:"timeout"`
	Stall       time.Duration `yaml:"stall"`
	BudgetUSD   float64       `yaml:"budget_usd"`
	Independent bool          `yaml:"independent"`
	Egress      []string      `yaml:"egress"`
}

// UnmarshalYAML reads both forms.
func (a *agent) UnmarshalYAML(raw []byte) error {
	var word string
	if yaml.Unmarshal(raw, &word) == nil {
		_, err := agentcli.Split(word)
		*a = agent{Use: word}
		return err
	}
	type form agent
	var f form
	if err := yaml.UnmarshalWithOptions(raw, &f, yaml.Strict()); err != nil {
		why := err.Error()
		var placed yaml.Error
		if errors.As(err, &placed) { // its line is counted from here
			why = placed.GetMessage()
		}
		return fmt.Errorf("agents: want the name of an agent or a command, as developer: claude, "+
			"or as developer: {use: claude, model: opus}: %s", why)
	}
	*a = agent(f)
	return nil
}

// convert checks the fields. An empty use is the service's own agent.
func (a agent) convert() (work.Agent, error) {
	out := work.Agent{
		Use: a.Use, Model: a.Model, Args: a.Args, Env: a.Env, Timeout: a.Timeout, Stall: a.Stall,
		MicroUSD: int64(a.BudgetUSD * 1e6), Independent: a.Independent, Egress: a.Egress,
	}
	if a.Use != "" {
		if _, err := agentcli.Split(a.Use); err != nil {
			return out, fmt.Errorf("use: %w", err)
		}
	}
	switch {
	case strings.HasPrefix(a.Model, "-"):
		return out, fmt.Errorf("model: is %q, want a model's name", a.Model)
	case a.Timeout < 0 || a.Stall < 0:
		return out, errors.New("timeout, stall: less than nothing, want a duration such as 90m")
	case a.BudgetUSD < 0 || a.BudgetUSD > 1e6:
		return out, fmt.Errorf("budget_usd: is %g, want dollars, such as 2.5", a.BudgetUSD)
	}
	if _, err := egress.Parse(a.Egress...); err != nil {
		return out, fmt.Errorf("egress: %w", err)
	}
	for _, name := range a.Env {
		if !variable.MatchString(name) {
			return out, fmt.Errorf("env: %q is no name of a variable such as ANTHROPIC_API_KEY; "+
				"its value does not belong into this file", name)
		}
	}
	return out, nil
}

// checkAgents looks whether an agent sees a secret of the service.
func (r Registry) checkAgents() error {
	secrets := []string{}
	for _, h := range r.Neighbours.Hosts {
		secrets = append(append(secrets, h.TokenEnv), h.SecretEnv...)
	}
	for _, b := range r.Neighbours.Boards {
		secrets = append(append(secrets, b.TokenEnv), b.SecretEnv...)
	}
	for _, h := range r.HookSecrets {
		secrets = slices.Concat(secrets, h.Tracker, h.Host)
	}
	for i, p := range r.Projects.All() {
		for role, a := range p.Agents {
			for _, name := range a.Env {
				if slices.Contains(secrets, name) {
					text := fmt.Sprintf("%s: env: %s is a secret of the service by this file, and no agent's: "+
						"take it out, or give the agent one of its own", role, name)
					return &task.FieldError{Entry: i, Repo: p.Repo, Field: "agents", Text: text}
				}
			}
		}
	}
	return nil
}
