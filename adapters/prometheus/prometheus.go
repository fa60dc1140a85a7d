// Package prometheus keeps measurements for Prometheus: it implements
// orchestrator.Meter, and serves them for scraping. Names begin with
// "signalbox_". Every metric of orchestrator.Declared is there from the start, with 0
// for the labels that are known then.
package prometheus

import (
	"fmt"
	"net/http"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator"
)

// prefix of all names.
const prefix = "signalbox_"

// Meter implements orchestrator.Meter. It is safe for concurrent use.
type Meter struct {
	registry   *prometheus.Registry
	labels     map[string][]string // by kind and name
	counters   map[string]*prometheus.CounterVec
	gauges     map[string]*prometheus.GaugeVec
	histograms map[string]*prometheus.HistogramVec
	refused    prometheus.Counter
}

// New makes a meter with a registry of its own. version is shown in
// signalbox_build_info. Features of a program's own declare what they measure in more;
// a metric that is there twice, or of an unknown kind, is an error.
func New(version string, more ...orchestrator.Metric) (*Meter, error) {
	m := &Meter{
		registry: prometheus.NewRegistry(), labels: map[string][]string{}, counters: map[string]*prometheus.CounterVec{},
		gauges: map[string]*prometheus.GaugeVec{}, histograms: map[string]*prometheus.HistogramVec{},
		refused: prometheus.NewCounter(prometheus.CounterOpts{
			Name: prefix + "measurements_refused_total",
			Help: "Measurements of no declared metric, or with other labels.",
		}),
	}
	panics := prometheus.CounterOpts{Name: prefix + "panics_total", Help: "Panics that were recovered."}
	m.registry.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), m.refused,
		prometheus.NewCounterFunc(panics, func() float64 { return float64(run.Panics()) }),
	)
	build := orchestrator.Metric{
		Name: "build_info", Kind: orchestrator.KindGauge, Help: "Version of the program.", Labels: []string{"version", "go"},
	}
	for _, d := range append(append(orchestrator.Declared(), more...), build) {
		if err := m.declare(d); err != nil {
			return nil, err
		}
	}
	m.Set(build.Name, 1, "version", version, "go", runtime.Version())
	return m, nil
}

// declare registers a metric.
func (m *Meter) declare(d orchestrator.Metric) error {
	opts := prometheus.Opts{Name: prefix + d.Name, Help: d.Help}
	var c prometheus.Collector
	var start func(values []string)
	switch d.Kind {
	case orchestrator.KindCounter:
		v := prometheus.NewCounterVec(prometheus.CounterOpts(opts), d.Labels)
		m.counters[d.Name], c, start = v, v, func(values []string) { v.WithLabelValues(values...) }
	case orchestrator.KindGauge:
		v := prometheus.NewGaugeVec(prometheus.GaugeOpts(opts), d.Labels)
		m.gauges[d.Name], c, start = v, v, func(values []string) { v.WithLabelValues(values...) }
	case orchestrator.KindHistogram:
		v := prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: opts.Name, Help: opts.Help, Buckets: []float64{.005, .025, .1, .5, 1, 5, 15, 60, 300, 900, 1800, 3600},
		}, d.Labels)
		m.histograms[d.Name], c, start = v, v, func(values []string) { v.WithLabelValues(values...) }
	default:
		return fmt.Errorf("prometheus: metric %s: kind is %q, want %s, %s or %s",
			d.Name, d.Kind, orchestrator.KindCounter, orchestrator.KindGauge, orchestrator.KindHistogram)
	}
	if err := m.registry.Register(c); err != nil {
		return fmt.Errorf("prometheus: metric %s: %w", d.Name, err)
	}
	m.labels[d.Kind+" "+d.Name] = d.Labels
	for _, values := range d.Known {
		if len(values) != len(d.Labels) {
			return fmt.Errorf("prometheus: metric %s: Known has %d values for %d labels", d.Name, len(values), len(d.Labels))
		}
		start(values)
	}
	return nil
}

// Handler serves the measurements.
func (m *Meter) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry})
}

// find is the series of a measurement; when its metric was not declared, or with other
// labels, that is counted and ok is false.
func find[T any](m *Meter, vector interface {
	GetMetricWithLabelValues(values ...string) (T, error)
}, metric string, labels []string,
) (series T, ok bool) {
	names, declared := m.labels[metric]
	fits := declared && len(labels) == 2*len(names)
	var values []string
	for i := 0; fits && i < len(names); i++ {
		fits = labels[2*i] == names[i]
		values = append(values, labels[2*i+1])
	}
	if fits {
		series, err := vector.GetMetricWithLabelValues(values...)
		if err == nil {
			return series, true
		}
	}
	m.refused.Inc()
	return series, false
}

// Add implements orchestrator.Meter.
func (m *Meter) Add(name string, n float64, labels ...string) {
	if c, ok := find(m, m.counters[name], orchestrator.KindCounter+" "+name, labels); ok && n >= 0 {
		c.Add(n)
	}
}

// Set implements orchestrator.Meter.
func (m *Meter) Set(name string, value float64, labels ...string) {
	if g, ok := find(m, m.gauges[name], orchestrator.KindGauge+" "+name, labels); ok {
		g.Set(value)
	}
}

// Observe implements orchestrator.Meter.
func (m *Meter) Observe(name string, seconds float64, labels ...string) {
	if h, ok := find(m, m.histograms[name], orchestrator.KindHistogram+" "+name, labels); ok {
		h.Observe(seconds)
	}
}
