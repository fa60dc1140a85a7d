package orchestrator

import (
	"maps"
	"reflect"
	"slices"

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

// Metrics are all measurements; the zero value measures nothing. Each is declared here and nowhere else: its kind and
// its labels are its type, its name and what it means are its tags.
type Metrics struct {
	SessionsRunning  Gauge[NoLabels]      `name:"sessions_running" help:"Agents at work in this process."`
	SlotsAvailable   Gauge[ByPool]        `name:"slots_available" help:"Free workers of a pool."`
	Dispatches       Counter[ByPool]      `name:"dispatches_total" help:"Jobs that were taken."`
	QueueWait        Histogram[ByPool]    `name:"queue_wait_seconds" help:"How long jobs waited after they were due."`
	Reaped           Counter[ByPool]      `name:"reaped_total" help:"Claims that were given back because their worker went silent."`
	WorkerDuration   Histogram[ByResult]  `name:"worker_duration_seconds" help:"How long agents worked."`
	Tokens           Counter[ByTokenType] `name:"tokens_total" help:"Tokens that agents used."`
	Cost             Counter[ByRole]      `name:"cost_usd_total" help:"What agents cost, in dollars."`
	Transitions      Counter[ByMove]      `name:"transitions_total" help:"Changes of a task's state."`
	Retries          Counter[ByStage]     `name:"retries_total" help:"Times that a task was sent back, by the stage that it was sent to."`
	GateVerdicts     Counter[ByVerdict]   `name:"gate_verdicts_total" help:"Verdicts of gates."`
	Effects          Counter[ByEffect]    `name:"effects_total" help:"Outbound calls, by what came of them."`
	LaneSick         Gauge[ByLane]        `name:"lane_sick" help:"1 while the destination of a lane does not answer."`
	LaneFailures     Counter[ByLane]      `name:"lane_failures_total" help:"Jobs whose destination did not answer, or said to come again later."`
	TrackerUsed      Gauge[ByToken]       `name:"tracker_requests_used" help:"Requests to the tracker in the last minute, by token."`
	TrackerLimit     Gauge[ByToken]       `name:"tracker_requests_limit" help:"Requests that the tracker allows a token in a minute; 0 while it has not said."`
	TrackerPaused    Gauge[ByToken]       `name:"tracker_paused" help:"1 while the tracker takes no request with a token."`
	Webhooks         Counter[ByDelivery]  `name:"webhooks_total" help:"Webhooks received, by what was done."`
	WebhookDedup     Counter[BySource]    `name:"webhook_dedup_total" help:"Webhooks that had come before."`
	Reconciled       Counter[ByAction]    `name:"reconciliation_actions_total" help:"Things that the reconciler put right."`
	MergeLeaseHeld   Histogram[NoLabels]  `name:"merge_lease_held_seconds" help:"How long tasks kept the merge lease, from their rebased branch on."`
	ReconciledAt     Gauge[NoLabels]      `name:"reconcile_last_pass_timestamp_seconds" help:"When the reconciler has looked at everything last, in seconds since 1970."`
	Tasks            Gauge[ByStage]       `name:"tasks" help:"Tasks that have not ended."`
	PersonWaits      Gauge[ByHold]        `name:"person_waits" help:"Tasks that wait for a person."`
	PersonWaitOldest Gauge[ByHold]        `name:"person_wait_oldest_seconds" help:"How long the oldest of them has waited."`
	Owed             Gauge[ByLane]        `name:"owed" help:"Jobs of a lane that are not finished: effects that are owed."`
	OwedOldest       Gauge[ByLane]        `name:"owed_oldest_seconds" help:"How long the oldest of them has waited."`
	GivenUp          Gauge[NoLabels]      `name:"effects_given_up" help:"Effects that were refused for good and not made since; at most 100."`
	MergeLeases      Gauge[ByRepo]        `name:"merge_lease_held" help:"1 while a task of the repository has the merge lease."`
	BudgetSpent      Gauge[ByRepo]        `name:"budget_spent_usd" help:"What the agents of a repository have cost today (UTC), with what is reserved."`
	BudgetLimit      Gauge[NoLabels]      `name:"budget_limit_usd" help:"What the agents of each repository may cost in a day."`
	AgentsPaused     Gauge[NoLabels]      `name:"agents_paused" help:"Agents that are paused because they could work for no task."`
	Paused           Gauge[ByRepo]        `name:"paused" help:"1 while no agent starts in the repository because a person has paused it, or all."`
	Freeze           Gauge[ByRepo]        `name:"freeze" help:"1 while a repository is frozen; the serial gate looks each minute."`
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
func Declared() []Metric {
	m := newMetrics(nil)
	v := reflect.ValueOf(&m).Elem()
	out := make([]Metric, 0, v.NumField())
	for i := range v.NumField() {
		if f, ok := v.Field(i).Addr().Interface().(interface{ describe() Metric }); ok {
			d := f.describe()
			d.Help = v.Type().Field(i).Tag.Get("help")
			out = append(out, d)
		}
	}
	return out
}

// newMetrics are the metrics of a meter.
func newMetrics(to Meter) Metrics {
	var m Metrics
	v := reflect.ValueOf(&m).Elem()
	for i := range v.NumField() {
		if f, ok := v.Field(i).Addr().Interface().(interface{ bind(string, Meter) }); ok {
			f.bind(v.Type().Field(i).Tag.Get("name"), to)
		}
	}
	return m
}

// bound holds what all kinds have in common.
type bound struct {
	name string
	to   Meter // nil measures nothing
}

func (b *bound) bind(name string, to Meter) { b.name, b.to = name, to }

// Counter only grows.
type Counter[L Labels] struct{ bound }

// Add adds n, which is not negative.
func (c Counter[L]) Add(n float64, labels L) {
	if c.to != nil {
		c.to.Add(c.name, n, labels.pairs()...)
	}
}

func (c Counter[L]) describe() Metric { return describe[L](c.bound, KindCounter) }

// Gauge goes up and down.
type Gauge[L Labels] struct{ bound }

// Set sets the value.
func (g Gauge[L]) Set(v float64, labels L) {
	if g.to != nil {
		g.to.Set(g.name, v, labels.pairs()...)
	}
}

func (g Gauge[L]) describe() Metric { return describe[L](g.bound, KindGauge) }

// Histogram counts durations.
type Histogram[L Labels] struct{ bound }

// Observe counts one.
func (h Histogram[L]) Observe(seconds float64, labels L) {
	if h.to != nil {
		h.to.Observe(h.name, seconds, labels.pairs()...)
	}
}

func (h Histogram[L]) describe() Metric { return describe[L](h.bound, KindHistogram) }

func describe[L Labels](b bound, kind string) Metric {
	var l L
	m := Metric{Name: b.name, Kind: kind, Known: l.known()}
	for i, word := range l.pairs() {
		if i%2 == 0 {
			m.Labels = append(m.Labels, word)
		}
	}
	return m
}

// Labels are the labels of a metric with their values.
type Labels interface {
	pairs() []string   // alternating names and values
	known() [][]string // values that are known before the first event
}

// The labels that metrics have.
type (
	NoLabels    struct{}
	ByPool      struct{ Pool string }
	ByLane      struct{ Lane string }
	ByResult    struct{ Role, Result string } // of an agent's attempt
	ByTokenType struct{ Type string }
	ByRole      struct{ Role string }
	ByMove      struct{ From, To string } // stages
	ByStage     struct{ Stage string }
	ByVerdict   struct{ Gate, Verdict string }
	ByEffect    struct{ Kind, Outcome string }
	ByDelivery  struct{ Source, Outcome string }
	BySource    struct{ Source string } // known to the receiver of webhooks, which declares them
	ByAction    struct{ Kind string }
	ByRepo      struct{ Repo string }
	ByHold      struct{ Hold string }
	ByKind      struct{ Kind string }  // of a jail
	ByToken     struct{ Token string } // what it is for, never itself
)

func (NoLabels) pairs() []string      { return nil }
func (l ByPool) pairs() []string      { return []string{"pool", l.Pool} }
func (l ByLane) pairs() []string      { return []string{"lane", l.Lane} }
func (l ByResult) pairs() []string    { return []string{"role", l.Role, "result", l.Result} }
func (l ByTokenType) pairs() []string { return []string{"type", l.Type} }
func (l ByRole) pairs() []string      { return []string{"role", l.Role} }
func (l ByMove) pairs() []string      { return []string{"from", l.From, "to", l.To} }
func (l ByStage) pairs() []string     { return []string{"stage", l.Stage} }
func (l ByVerdict) pairs() []string   { return []string{"gate", l.Gate, "verdict", l.Verdict} }
func (l ByEffect) pairs() []string    { return []string{"kind", l.Kind, "outcome", l.Outcome} }
func (l ByDelivery) pairs() []string  { return []string{"source", l.Source, "outcome", l.Outcome} }
func (l BySource) pairs() []string    { return []string{"source", l.Source} }
func (l ByAction) pairs() []string    { return []string{"kind", l.Kind} }
func (l ByHold) pairs() []string      { return []string{"hold", l.Hold} }
func (l ByRepo) pairs() []string      { return []string{"repo", l.Repo} }
func (l ByToken) pairs() []string     { return []string{"token", l.Token} }

func (NoLabels) known() [][]string { return [][]string{{}} }
func (ByPool) known() [][]string   { return each(append(queuedPools(), queue.PoolAgents)) }
func (ByLane) known() [][]string {
	var names []string
	for _, l := range NamedLanes() {
		if l.Neighbour != "" {
			names = append(names, l.Name)
		}
	}
	return each(names)
}

func (ByResult) known() [][]string {
	return each(words(stage.Roles()), []string{
		work.ResultOK, work.ResultFailed, work.ResultTimeout, work.ResultStalled, work.ResultBudget, work.ResultStuck,
		work.ResultUnusable,
	})
}

func (ByTokenType) known() [][]string {
	return each([]string{"input", "output", "cache_read", "cache_creation"})
}
func (ByRole) known() [][]string { return each(words(stage.Roles())) }
func (ByMove) known() [][]string {
	var moves [][]string
	for _, e := range stage.Default().Edges {
		move := []string{string(e.From), string(e.To)}
		if !slices.ContainsFunc(moves, func(m []string) bool { return slices.Equal(m, move) }) {
			moves = append(moves, move)
		}
	}
	return moves
}

func (ByStage) known() [][]string {
	return each(slices.DeleteFunc(words(stage.Stages()), func(s string) bool { return stage.Stage(s).Terminal() }))
}

func (ByVerdict) known() [][]string {
	return each(stage.Default().Gates(), words([]stage.Outcome{stage.Green, stage.Red, stage.Defer, stage.Error}))
}

func (ByEffect) known() [][]string {
	return each(words(slices.Sorted(maps.Keys(lanes))), words([]queue.OutcomeKind{
		queue.OutcomeDone, queue.OutcomeRetry, queue.OutcomeDead, queue.OutcomeRelease,
	}))
}
func (ByDelivery) known() [][]string { return nil }
func (BySource) known() [][]string   { return nil }
func (ByAction) known() [][]string   { return each([]string{"advanced", "replayed"}) }
func (ByRepo) known() [][]string     { return nil }
func (ByHold) known() [][]string     { return nil }
func (ByToken) known() [][]string    { return nil }

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
