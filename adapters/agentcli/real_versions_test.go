package agentcli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The versions that "make test-agents" runs are those that the documentation names.
func TestVersionsLastSeenWorking(t *testing.T) {
	t.Parallel()
	body, err := os.ReadFile(filepath.Join("testdata", "agents", "package.json"))
	require.NoError(t, err)
	var tools struct{ Dependencies map[string]string }
	require.NoError(t, json.Unmarshal(body, &tools))
	require.Len(t, tools.Dependencies, 4)
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "agents.md"))
	require.NoError(t, err)
	for tool, version := range tools.Dependencies {
		require.Contains(t, string(text), version, tool)
	}
}
