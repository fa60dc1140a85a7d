package prometheus_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/prometheus"
	"github.com/signalbox-dev/signalbox/orchestrator"
)

var _ orchestrator.Meter = (*prometheus.Meter)(nil)

func scrape(m *prometheus.Meter) string {
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return w.Body.String()
}

func TestMeter(t *testing.T) {
	m, err := prometheus.New("v1", orchestrator.Metric{Name: "letters_total", Kind: orchestrator.KindCounter, Help: "Of a feature of ours."})
	require.NoError(t, err)
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() { m.Add("tokens_total", 2, "type", "input") })
	}
	wg.Wait()
	m.Set("slots_available", 3, "pool", "agents")
	m.Observe("queue_wait_seconds", 0.2, "pool", "agents")
	m.Add("letters_total", 3)
	m.Add("tokens_total", -5, "type", "input")
	m.Add("tokens_total", 5, "other", "labels", "do", "not match") // these must not harm
	m.Add("tokens_total", 5, "kind", "input")
	m.Add("tokens_total", 5, "type")
	m.Set("tokens_total", 5, "type", "input")
	m.Observe("nobody_declared_it", 5)
	m.Add("tokens_total", 5, "type", "not \xff UTF-8")
	text := scrape(m)
	for _, want := range []string{
		`signalbox_tokens_total{type="input"} 20`, `signalbox_slots_available{pool="agents"} 3`, `signalbox_queue_wait_seconds_count{pool="agents"} 1`,
		`signalbox_build_info{go="go1.`, `signalbox_sessions_running 0`, "signalbox_panics_total", "go_goroutines",
		"signalbox_letters_total 3", "signalbox_measurements_refused_total 6",
	} {
		require.Contains(t, text, want)
	}
}

// Each metric is there before its first event, with its help and kind.
func TestFromTheStart(t *testing.T) {
	m, err := prometheus.New("v1")
	require.NoError(t, err)
	text := scrape(m)
	for _, want := range []string{
		`signalbox_dispatches_total{pool="agents"} 0`, `signalbox_lane_sick{lane="chat"} 0`, `signalbox_lane_failures_total{lane="git"} 0`,
		`signalbox_tokens_total{type="cache_read"} 0`, `signalbox_merge_lease_held_seconds_count 0`, `signalbox_gate_verdicts_total{gate="check_ci_green",verdict="red"} 0`,
		`signalbox_effects_total{kind="merge",outcome="dead"} 0`, `signalbox_transitions_total{from="",to="analysis"} 0`,
		`signalbox_worker_duration_seconds_count{result="timeout",role="tester"} 0`,
	} {
		require.Contains(t, text, want)
	}
	for _, d := range orchestrator.Declared() {
		if len(d.Known) > 0 {
			require.Contains(t, text, "# HELP signalbox_"+d.Name+" "+d.Help+"\n# TYPE signalbox_"+d.Name+" "+d.Kind+"\n")
		}
	}
}

func TestBadMetrics(t *testing.T) {
	for want, d := range map[string]orchestrator.Metric{
		"metric freeze:":                  {Name: "freeze", Kind: orchestrator.KindGauge, Labels: []string{"repo"}},
		`kind is "", want counter`:        {Name: "x"},
		"Known has 1 values for 0 labels": {Name: "x", Kind: orchestrator.KindCounter, Known: [][]string{{"v"}}},
	} {
		_, err := prometheus.New("v1", d)
		require.ErrorContains(t, err, want)
	}
}

func Example() {
	m, err := prometheus.New("v1.2.3")
	if err != nil {
		fmt.Println(err)
		return
	}
	m.Add("dispatches_total", 1, "pool", "agents")
	for line := range strings.Lines(scrape(m)) {
		if strings.HasPrefix(line, "signalbox_dispatches_total{pool=\"agents\"}") {
			fmt.Print(line)
		}
	}
	// Output: signalbox_dispatches_total{pool="agents"} 1
}
