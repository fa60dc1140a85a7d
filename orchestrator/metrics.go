package orchestrator

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/queue"
)

// Meter receives measurements. Names are those of the metrics without the
// program's prefix; labels are alternating names and values, always the same
// names for one metric. The engine and its features measure through Metrics alone, so
// that a Meter meets the names and labels that Declared lists.
type Meter interface {
	Add(name string, n float64, labels ...string)
	Set(name string, v float64, labels ...string)
	Observe(name string, seconds float64, labels ...string)
}

// Metrics are all measurements; the zero value measures nothing. Each is declared here and nowhere else: its kind is
// its type; its name, its labels and what it means are its tags.
type Metrics struct {
	SessionsRunning  Gauge     `name:"sessions_running" help:"Agents at work in this process."`
	SlotsAvailable   Gauge     `name:"slots_available" labels:"pool" help:"Free workers of a pool."`
	Dispatches       Counter   `name:"dispatches_total" labels:"pool" help:"Jobs that were taken."`
	QueueWait        Histogram `name:"queue_wait_seconds" labels:"pool" help:"How long jobs waited after they were due."`
	Reaped           Counter   `name:"reaped_total" labels:"pool" help:"Claims that were given back because their worker went silent."`
	WorkerDuration   Histogram `name:"worker_duration_seconds" labels:"role result" help:"How long agents worked."`
	Tokens           Counter   `name:"tokens_total" labels:"type" help:"Tokens that agents used."`
	Cost             Counter   `name:"cost_usd_total" labels:"role" help:"What agents cost, in dollars."`
	Transitions      Counter   `name:"transitions_total" labels:"from to" help:"Changes of a task's state."`
	Retries          Counter   `name:"retries_total" labels:"stage" help:"Times that a task was sent back, by the stage that it was sent to."`
	GateVerdicts     Counter   `name:"gate_verdicts_total" labels:"gate verdict" help:"Verdicts of gates."`
	Effects          Counter   `name:"effects_total" labels:"kind outcome" help:"Outbound calls, by what came of them."`
	LaneSick         Gauge     `name:"lane_sick" labels:"lane" help:"1 while the destination of a lane does not answer."`
	LaneFailures     Counter   `name:"lane_failures_total" labels:"lane" help:"Jobs whose destination did not answer, or said to come again later."`
	TrackerUsed      Gauge     `name:"tracker_requests_used" labels:"token" help:"Requests to the tracker in the last minute, by token."`
	TrackerLimit     Gauge     `name:"tracker_requests_limit" labels:"token" help:"Requests that the tracker allows a token in a minute; 0 while it has not said."`
	TrackerPaused    Gauge     `name:"tracker_paused" labels:"token" help:"1 while the tracker takes no request with a token."`
	Webhooks         Counter   `name:"webhooks_total" labels:"source outcome" help:"Webhooks received, by what was done."`
	WebhookDedup     Counter   `name:"webhook_dedup_total" labels:"source" help:"Webhooks that had come before."`
	Reconciled       Counter   `name:"reconciliation_actions_total" labels:"kind" help:"Things that the reconciler put right."`
	MergeLeaseHeld   Histogram `name:"merge_lease_held_seconds" help:"How long tasks kept the merge lease, from their rebased branch on."`
	ReconciledAt     Gauge     `name:"reconcile_last_pass_timestamp_seconds" help:"When the reconciler has looked at everything last, in seconds since 1970."`
	Tasks            Gauge     `name:"tasks" labels:"stage" help:"Tasks that have not ended."`
	PersonWaits      Gauge     `name:"person_waits" labels:"hold" help:"Tasks that wait for a person."`
	PersonWaitOldest Gauge     `name:"person_wait_oldest_seconds" labels:"hold" help:"How long the oldest of them has waited."`
	Owed             Gauge     `name:"owed" labels:"lane" help:"Jobs of a lane that are not finished: effects that are owed."`
	OwedOldest       Gauge     `name:"owed_oldest_seconds" labels:"lane" help:"How long the oldest of them has waited."`
	GivenUp          Gauge     `name:"effects_given_up" help:"Effects that were refused for good and not made since; at most 100."`
	MergeLeases      Gauge     `name:"merge_lease_held" labels:"repo" help:"1 while a task of the repository has the merge lease."`
	BudgetSpent      Gauge     `name:"budget_spent_usd" labels:"repo" help:"What the agents of a repository have cost today (UTC), with what is reserved."`
	BudgetLimit      Gauge     `name:"budget_limit_usd" help:"What the agents of each repository may cost in a day."`
	AgentsPaused     Gauge     `name:"agents_paused" help:"Agents that are paused because they could work for no task."`
	Paused           Gauge     `name:"paused" labels:"repo" help:"1 while no agent starts in the repository because a person has paused it, or all."`
	Freeze           Gauge     `name:"freeze" labels:"repo" help:"1 while a repository is frozen; the serial gate looks each minute."`
}

// Kinds of metrics, in the words of Prometheus.
const (
	KindCounter   = "counter"
	KindGauge     = "gauge"
	KindHistogram = "histogram"
)

// Metric describes one of Metrics.
type Metric struct {
	Name, Kind, Help string
	Labels           []string   // names
	Known            [][]string // values of the labels that are known before the first event: these are there from the start, with 0
}

// Declared lists all metrics, in the order of Metrics.
func Declared() (out []Metric) {
	m := newMetrics(nil)
	v := reflect.ValueOf(&m).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i).Addr().Interface().(type) {
		case *Counter:
			f.Kind = KindCounter
			out = append(out, f.Metric)
		case *Gauge:
			f.Kind = KindGauge
			out = append(out, f.Metric)
		case *Histogram:
			f.Kind = KindHistogram
			out = append(out, f.Metric)
		}
	}
	return out
}

// newMetrics are the metrics of a meter.
func newMetrics(to Meter) Metrics {
	var m Metrics
	v := reflect.ValueOf(&m).Elem()
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag
		if f, ok := v.Field(i).Addr().Interface().(interface{ bind(bound) }); ok {
			of := tag.Get("labels")
			f.bind(bound{Metric{Name: tag.Get("name"), Help: tag.Get("help"), Labels: strings.Fields(of), Known: known(of)}, to})
		}
	}
	return m
}

// bound is a metric of a meter.
type bound struct {
	Metric
	to Meter // nil measures nothing
}

func (b *bound) bind(to bound) { *b = to }

// pairs are alternating names and values of labels.
func (b *bound) pairs(values []string) (out []string) {
	for i, name := range b.Labels {
		out = append(out, name, values[i])
	}
	return out
}

// Counter only grows. Values of labels are in the order of its tag, here and in the others.
type Counter struct{ bound }

// Add adds n, which is not negative.
func (c *Counter) Add(n float64, values ...string) {
	if c.to != nil {
		c.to.Add(c.Name, n, c.pairs(values)...)
	}
}

// Gauge goes up and down.
type Gauge struct{ bound }

// Set sets the value.
func (g *Gauge) Set(v float64, values ...string) {
	if g.to != nil {
		g.to.Set(g.Name, v, g.pairs(values)...)
	}
}

// Histogram counts durations.
type Histogram struct{ bound }

// Observe counts one.
func (h *Histogram) Observe(seconds float64, values ...string) {
	if h.to != nil {
		h.to.Observe(h.Name, seconds, h.pairs(values)...)
	}
}

// known are the values of labels that are known before the first event.
func known(labels string) [][]string {
	switch labels {
	case "":
		return [][]string{{}}
	case "pool":
		return each(append(queuedPools(), queue.PoolAgents))
	case "lane":
		var names []string
		for _, l := range NamedLanes() {
			if l.Neighbour != "" {
				names = append(names, l.Name)
			}
		}
		return each(names)
	case "role result":
		return each(words(stage.Roles()), []string{
			work.ResultOK, work.ResultFailed, work.ResultTimeout, work.ResultStalled, work.ResultBudget, work.ResultStuck,
			work.ResultUnusable,
		})
	case "type":
		return each([]string{"input", "output", "cache_read", "cache_creation"})
	case "role":
		return each(words(stage.Roles()))
	case "from to":
		var moves [][]string
		for _, e := range stage.Default().Edges {
			move := []string{string(e.From), string(e.To)}
			if !slices.ContainsFunc(moves, func(m []string) bool { return slices.Equal(m, move) }) {
				moves = append(moves, move)
			}
		}
		return moves
	case "stage":
		return each(slices.DeleteFunc(words(stage.Stages()), func(s string) bool { return stage.Stage(s).Terminal() }))
	case "gate verdict":
		return each(stage.Default().Gates(), words([]stage.Outcome{stage.Green, stage.Red, stage.Defer, stage.Error}))
	case "kind outcome":
		return each(words(slices.Sorted(maps.Keys(lanes))), words([]queue.OutcomeKind{
			queue.OutcomeDone, queue.OutcomeRetry, queue.OutcomeDead, queue.OutcomeRelease,
		}))
	case "kind":
		return each([]string{"advanced", "replayed"})
	default:
		return nil
	}
}

// each lists every choice of one word of each list.
func each(lists ...[]string) [][]string {
	out := [][]string{{}}
	for _, list := range lists {
		var longer [][]string
		for _, head := range out {
			for _, word := range list {
				longer = append(longer, append(slices.Clone(head), word))
			}
		}
		out = longer
	}
	return out
}

func words[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, w := range list {
		out[i] = string(w)
	}
	return out
}
