// Package prometheus keeps measurements for Prometheus: it implements
// orchestrator.Meter, and serves them for scraping. Names begin with
// "signalbox_".
package prometheus

import (
	"net/http"
	"runtime"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/signalbox-dev/signalbox/internal/guard"
)

// Meter implements orchestrator.Meter. It is safe for concurrent use.
type Meter struct {
	registry *prometheus.Registry

	mu         sync.Mutex
	counters   map[string]*prometheus.CounterVec
	gauges     map[string]*prometheus.GaugeVec
	histograms map[string]*prometheus.HistogramVec
}

// New makes a meter with a registry of its own. version is shown in
// signalbox_build_info.
func New(version string) *Meter {
	m := &Meter{
		registry: prometheus.NewRegistry(), counters: map[string]*prometheus.CounterVec{}, gauges: map[string]*prometheus.GaugeVec{},
		histograms: map[string]*prometheus.HistogramVec{},
	}
	m.registry.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "signalbox_panics_total", Help: "Panics that were recovered."}, func() float64 { return float64(guard.Count()) }),
	)
	m.Set("build_info", 1, "version", version, "go", runtime.Version())
	m.Set("sessions_running", 0)
	return m
}

// Handler serves the measurements.
func (m *Meter) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry})
}

// help says what a metric means.
func help(name string) string {
	if text, ok := helpTexts()[name]; ok {
		return text
	}
	return strings.ReplaceAll(name, "_", " ")
}

func helpTexts() map[string]string {
	return map[string]string{
		"build_info":                   "Version of the program.",
		"sessions_running":             "Agents at work in this process.",
		"slots_available":              "Free workers of a pool.",
		"tokens_total":                 "Tokens that agents used, by type.",
		"cost_usd_total":               "What agents cost, in dollars.",
		"dispatches_total":             "Jobs that were taken.",
		"retries_total":                "Times that a task was sent back.",
		"transitions_total":            "Changes of a task's state.",
		"worker_duration_seconds":      "How long agents worked.",
		"queue_wait_seconds":           "How long jobs waited after they were due.",
		"gate_verdicts_total":          "Verdicts of gates.",
		"effects_total":                "Outbound calls, by what came of them.",
		"lane_sick":                    "1 while the destination of a lane does not answer.",
		"lane_failures_total":          "Jobs whose destination did not answer, or said to come again later.",
		"reaped_total":                 "Claims that were given back because their worker went silent.",
		"webhooks_total":               "Webhooks received, by what was done.",
		"webhook_dedup_total":          "Webhooks that had come before.",
		"reconciliation_actions_total": "Things that the reconciler put right.",
		"merge_lease_held_seconds":     "How long merge leases were held.",
		"freeze":                       "1 while a repository is frozen.",
	}
}

// pairs splits alternating names and values; a name without a value is left out.
func pairs(labels []string) (names, values []string) {
	for i := 0; i+1 < len(labels); i += 2 {
		names, values = append(names, labels[i]), append(values, labels[i+1])
	}
	return names, values
}

// vector finds a metric or makes it with the given labels.
func vector[T prometheus.Collector](m *Meter, known map[string]T, name string, create func() T) T {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := known[name]
	if !ok {
		v = create()
		known[name] = v
		m.registry.MustRegister(v)
	}
	return v
}

// Add implements orchestrator.Meter.
func (m *Meter) Add(name string, n float64, labels ...string) {
	names, values := pairs(labels)
	v := vector(m, m.counters, name, func() *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "signalbox_" + name, Help: help(name)}, names)
	})
	if c, err := v.GetMetricWithLabelValues(values...); err == nil && n >= 0 {
		c.Add(n)
	}
}

// Set implements orchestrator.Meter.
func (m *Meter) Set(name string, value float64, labels ...string) {
	names, values := pairs(labels)
	v := vector(m, m.gauges, name, func() *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "signalbox_" + name, Help: help(name)}, names)
	})
	if g, err := v.GetMetricWithLabelValues(values...); err == nil {
		g.Set(value)
	}
}

// Observe implements orchestrator.Meter.
func (m *Meter) Observe(name string, seconds float64, labels ...string) {
	names, values := pairs(labels)
	v := vector(m, m.histograms, name, func() *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "signalbox_" + name, Help: help(name), Buckets: []float64{.005, .025, .1, .5, 1, 5, 15, 60, 300, 900, 1800, 3600},
		}, names)
	})
	if h, err := v.GetMetricWithLabelValues(values...); err == nil {
		h.Observe(seconds)
	}
}
