package app

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/projectfile"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// An agent that looks at nothing judges no other agent's work, and one that is to be
// independent is not of the developer's vendor.
func TestCheckAgents(t *testing.T) {
	t.Parallel()
	const entry = "projects:\n  - {tracker_project: p, host: git, repo: acme/x, clone_url: /srv/x.git, prefix: X, agents: {"
	for _, c := range []struct{ common, agents, wrong string }{
		{"rehearse", "", ""},
		{"claude", "", ""},
		{"claude", "developer: codex", ""},
		{"claude", "analyst: rehearse, architect: rehearse, developer: {use: rehearse}, reviewer: rehearse, tester: rehearse, deployer: rehearse", ""},
		{"claude", "reviewer: {use: rehearse}", `p.yaml:2: project 1 (acme/x): agents: the reviewer is rehearse, which looks at nothing, and the deployer is "claude": use rehearse for every role (or in ORCH_AGENT), or for none`},
		{"rehearse", "developer: codex", `the developer is "codex"`},
		{"claude", "reviewer: {use: codex, independent: true}", ""},
		{"claude", "reviewer: {use: my-reviewer, independent: true}", ""},
		{"claude", "reviewer: {model: haiku, independent: true}", `p.yaml:2: project 1 (acme/x): agents: reviewer: independent, and its agent claude is of the same vendor as the developer's claude (anthropic): name one of another vendor`},
		{"codex", "developer: {use: claude, independent: true}", "agents: developer: independent is for the other roles"},
	} {
		r, err := projectfile.Parse("p.yaml", []byte(entry+c.agents+"}}\n"))
		require.NoError(t, err, c.agents)
		err = Settings{AgentSettings: AgentSettings{Agent: c.common}}.checkAgents(r)
		if c.wrong == "" {
			require.NoError(t, err, c.agents)
			continue
		}
		require.ErrorContains(t, r.Placed(err), c.wrong)
	}

	r, err := projectfile.Parse("p.yaml", []byte(entry+"}}\n"))
	require.NoError(t, err)
	r.Pipeline.Stages[4].Role = "auditor"
	for use, wrong := range map[string]string{"claude": "independent, and its agent claude is of the same vendor", "rehearse": "looks at nothing"} {
		r.Projects.All()[0].Agents["auditor"] = work.Agent{Use: use, Independent: true}
		require.ErrorContains(t, Settings{AgentSettings: AgentSettings{Agent: "claude"}}.checkAgents(r), wrong)
	}
}
