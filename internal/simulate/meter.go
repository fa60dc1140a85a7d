package simulate

// meter keeps which metrics were more than 0. One process runs at a time: it needs no
// lock.
type meter map[string]bool

func (m meter) Add(name string, n float64, _ ...string) { m.Set(name, n) }

func (m meter) Set(name string, v float64, _ ...string) {
	if v > 0 {
		m[name] = true
	}
}

func (m meter) Observe(name string, seconds float64, _ ...string) { m.Set(name, seconds) }
