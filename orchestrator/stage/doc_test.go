package stage_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// docs/pipeline.md is made of the registry; -update writes it.
func TestPipelineDocument(t *testing.T) {
	const file = "../../docs/pipeline.md"
	var b strings.Builder
	b.WriteString("# The pipeline\n\nThis page is made of the transition registry (`go test ./orchestrator/stage -update`).\n\n```mermaid\n")
	require.NoError(t, stage.Default().Mermaid(&b))
	b.WriteString("```\n\n## Transitions\n\nThe first row that matches applies. Red says what happens when a gate is not green.\n\n```\n")
	require.NoError(t, stage.Default().Print(&b))
	b.WriteString("```\n\n## Board statuses\n\n| status | key | asks for something | without such a column |\n|---|---|---|---|\n")
	for _, s := range stage.Statuses() {
		trigger, fallback := "", "is not shown"
		if s.Trigger {
			trigger, fallback = "yes", "cannot be asked for"
		}
		if info, ok := stage.StatusNamed(s.Fallback); ok {
			fallback = info.Name
		}
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s |\n", s.Name, s.Key, trigger, fallback)
	}
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o644))
	}
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, b.String(), string(got), "run go test ./orchestrator/stage -update")
}
