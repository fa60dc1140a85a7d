package orchestrator_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
)

// Each metric is declared whole, once, and stands in the documentation.
func TestMetricsAreDeclared(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range orchestrator.Declared() {
		require.Regexp(t, regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`), d.Name)
		require.False(t, seen[d.Name], d.Name)
		seen[d.Name] = true
		require.Contains(t, []string{orchestrator.KindCounter, orchestrator.KindGauge, orchestrator.KindHistogram}, d.Kind)
		require.Equal(t, d.Kind == orchestrator.KindCounter, strings.HasSuffix(d.Name, "_total"), d.Name)
		require.True(t, strings.HasSuffix(d.Help, "."), "%s: %q", d.Name, d.Help)
		for _, known := range d.Known {
			require.Len(t, known, len(d.Labels), d.Name)
		}
	}
}
