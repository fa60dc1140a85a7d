package app

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"slices"

	"github.com/signalbox-dev/signalbox/adapters/agentcli"
	"github.com/signalbox-dev/signalbox/adapters/agentcli/agentout"
	"github.com/signalbox-dev/signalbox/adapters/rehearse"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// ownAgents are the agents that this program has built in, by name.
func ownAgents() map[string]agentcli.Preset {
	self, err := os.Executable() // by its name: in a jail of namespaces /proc/self is another program
	if err != nil {
		return nil
	}
	return map[string]agentcli.Preset{rehearse.Name: {Argv: []string{self, rehearse.Command}, Format: agentout.Claude}}
}

// agentOf is the agent of a role.
func (s Settings) agentOf(p task.Project, r stage.Role) string {
	return cmp.Or(p.Agents[r].Use, s.Agent)
}

// MissingAgents names the agents of a registry whose programs are not here. A container's are its image's.
func (s Settings) MissingAgents(projects *task.Projects) (out []string) {
	for _, p := range projects.All() {
		for _, role := range stage.Roles() {
			agent := s.agentOf(p, role)
			if agent == rehearse.Name || s.Jail == "container" || slices.Contains(out, agent) {
				continue
			}
			program, err := agentcli.Program(agent)
			if _, absent := exec.LookPath(program); err == nil && absent != nil {
				out = append(out, agent)
			}
		}
	}
	return out
}

// CheckAgents is the error of a project where the rehearsal agent is one among others (a
// reviewer that has looked at nothing must not judge what an agent has made), and of one
// whose agent is to be independent of the developer's and cannot be.
func (s Settings) CheckAgents(projects *task.Projects) error {
	for i, p := range projects.All() {
		if wrong := s.checkVendors(p); wrong != "" {
			return &task.FieldError{Entry: i, Repo: p.Repo, Field: "agents", Text: wrong}
		}
		var rehearses, works stage.Role
		for _, role := range stage.Roles() {
			if s.agentOf(p, role) == rehearse.Name {
				rehearses = role
			} else {
				works = role
			}
		}
		if rehearses != "" && works != "" {
			return &task.FieldError{Entry: i, Repo: p.Repo, Field: "agents", Text: fmt.Sprintf(
				"the %s is %s, which looks at nothing, and the %s is %q: use %s for every role (or in %sAGENT), or for none",
				rehearses, rehearse.Name, works, s.agentOf(p, works), rehearse.Name, Prefix)}
		}
	}
	return nil
}

// checkVendors returns what is wrong with an agent that is to be of another vendor than the
// developer's. Where a vendor is not known here the task says what came of it.
func (s Settings) checkVendors(p task.Project) string {
	vendorOf := func(r stage.Role) string {
		agent := p.Agents[r]
		agent.Use = s.agentOf(p, r)
		return agentcli.VendorOf(agent)
	}
	developer := vendorOf(stage.Developer)
	for _, role := range stage.Roles() {
		switch {
		case !p.Agents[role].Independent:
		case role == stage.Developer:
			return "developer: independent is for the other roles: they are compared with the developer"
		case developer != "" && vendorOf(role) == developer:
			return fmt.Sprintf("%s: independent, and its agent %s is of the same vendor as the developer's %s (%s): "+
				"name one of another vendor in use, or leave independent out",
				role, s.agentOf(p, role), s.agentOf(p, stage.Developer), developer)
		}
	}
	return ""
}
