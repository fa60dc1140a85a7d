package plane_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/plane"
	"github.com/signalbox-dev/signalbox/adapters/plane/planetest"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/explain"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// gauges keeps the newest value of each gauge, by name and labels.
type gauges struct {
	sync.Mutex
	values map[string]float64
}

func (g *gauges) Add(string, float64, ...string)     {}
func (g *gauges) Observe(string, float64, ...string) {}

func (g *gauges) Set(name string, v float64, labels ...string) {
	g.Lock()
	defer g.Unlock()
	g.values[name+" "+strings.Join(labels, "=")] = v
}

func (g *gauges) get(name string) float64 {
	g.Lock()
	defer g.Unlock()
	return g.values[name]
}

// What is used of the budget is in /queue and measured.
func TestBudgetIsShown(t *testing.T) {
	meter := &gauges{values: map[string]float64{}}
	engine(t, func(p *rig, s *planetest.Options, _ *plane.Options) {
		s.RateLimit = 60
		p.Deps = func(d *orchestrator.Deps) { d.Meter = meter }
	}, func(p *rig) {
		p.move(planetest.Human, p.card("one"), stage.StatusToAnalyse)
		v, err := explain.ReadQueue(context.Background(), p.Engine)
		require.NoError(p, err)
		body, err := v.MarshalJSON()
		require.NoError(p, err)
		require.Contains(p, string(body), `"tracker_requests":[{"limit":60,"token":"Token","used":`)
		p.Settle(20 * time.Second)
		require.Equal(p, []float64{60, 0}, []float64{meter.get("tracker_requests_limit token=Token"), meter.get("tracker_paused token=Token")})
		require.EqualValues(p, p.client.Budgets()[0].Used, meter.get("tracker_requests_used token=Token"))
		require.Positive(p, p.client.Budgets()[0].Used)
	})
}
