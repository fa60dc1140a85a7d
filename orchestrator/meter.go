package orchestrator

// Meter receives measurements. Names are those of the metrics without the
// program's prefix; labels are alternating names and values, always the same
// names for one metric.
type Meter interface {
	Add(name string, n float64, labels ...string)
	Set(name string, v float64, labels ...string)
	Observe(name string, seconds float64, labels ...string)
}

// nopMeter measures nothing.
type nopMeter struct{}

func (nopMeter) Add(string, float64, ...string)     {}
func (nopMeter) Set(string, float64, ...string)     {}
func (nopMeter) Observe(string, float64, ...string) {}
