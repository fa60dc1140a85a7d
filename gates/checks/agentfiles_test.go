package checks_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gates/checks"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// What a judge finds as main has it is what a branch cannot bring to main unseen: else the next
// card's judges are instructed by it.
func TestAgentSettingsAreProtected(t *testing.T) {
	fromMain := stage.Launch{Role: stage.Reviewer}.FromMain()
	require.NotEmpty(t, fromMain)
	require.Subset(t, checks.DefaultProtected(), fromMain)
	require.Equal(t, stage.AgentSettings(), fromMain)
	for _, name := range []string{"CLAUDE.md", "pkg/AGENTS.md", "AGENTS.override.md", "a/GEMINI.md", ".gemini/settings.json", ".codex/config.toml", ".cursor/rules/x.mdc", ".mcp.json", ".github/copilot-instructions.md", ".claude/settings.json", ".husky/pre-commit", ".githooks/x", ".pre-commit-config.yaml", ".envrc", ".vscode/tasks.json", ".devcontainer/devcontainer.json"} {
		require.True(t, stage.MatchPath(checks.DefaultProtected(), name), name)
		require.True(t, stage.MatchPath(fromMain, name), name)
	}
}
