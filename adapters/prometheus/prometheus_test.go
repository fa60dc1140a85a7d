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
	m := prometheus.New("v1")
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() { m.Add("tokens_total", 2, "type", "input") })
	}
	wg.Wait()
	m.Set("slots_available", 3, "pool", "agents")
	m.Observe("queue_wait_seconds", 0.2, "pool", "agents")
	m.Add("tokens_total", 5, "other", "labels", "do", "not match") // must not harm
	m.Add("tokens_total", -5, "type", "input")
	text := scrape(m)
	for _, want := range []string{
		`signalbox_tokens_total{type="input"} 20`, `signalbox_slots_available{pool="agents"} 3`, `signalbox_queue_wait_seconds_count{pool="agents"} 1`,
		`signalbox_build_info{go="go1.`, `signalbox_sessions_running 0`, "signalbox_panics_total", "go_goroutines",
	} {
		require.Contains(t, text, want)
	}
}

func Example() {
	m := prometheus.New("v1.2.3")
	m.Add("dispatches_total", 1, "pool", "agents")
	for line := range strings.Lines(scrape(m)) {
		if strings.HasPrefix(line, "signalbox_dispatches") {
			fmt.Print(line)
		}
	}
	// Output: signalbox_dispatches_total{pool="agents"} 1
}
