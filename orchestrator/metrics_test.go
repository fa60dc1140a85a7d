package orchestrator_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
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

// What a card's life measures has the labels that are declared, with values of their own.
func TestMeasuredAsDeclared(t *testing.T) {
	t.Parallel()
	meter := newGauges()
	Run(t, func(r *Rig) { r.Deps = func(d *orchestrator.Deps) { d.Meter = meter } }, func(r *Rig) {
		r.Finish("Draw the line")
		r.Shutdown()
		pairs := map[string]bool{}
		for _, m := range orchestrator.Declared() {
			for key := range meter.of {
				words := strings.Split(key, " ")
				if words[0] != m.Name || len(m.Known) == 0 {
					continue
				}
				var values []string
				for i, label := range m.Labels {
					require.Equal(r, label, words[1+2*i], key)
					values = append(values, words[2+2*i])
				}
				require.Contains(r, m.Known, append([]string{}, values...), key)
				pairs[m.Name] = len(values) == 2
			}
		}
		for _, name := range []string{"worker_duration_seconds", "transitions_total", "gate_verdicts_total", "effects_total"} {
			require.True(r, pairs[name], name)
		}
	})
}
