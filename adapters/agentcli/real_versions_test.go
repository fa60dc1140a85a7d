package agentcli_test

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The versions that "make test-agents" runs are those that the documentation names.
func TestVersionsLastSeenWorking(t *testing.T) {
	t.Parallel()
	body := contents(t, filepath.Join("testdata", "agents", "package.json"))
	var tools struct{ Dependencies map[string]string }
	require.NoError(t, json.Unmarshal(body, &tools))
	require.Len(t, tools.Dependencies, 4)
	text := contents(t, filepath.Join("..", "..", "docs", "agents.md"))
	for tool, version := range tools.Dependencies {
		require.Contains(t, string(text), version, tool)
	}
}
