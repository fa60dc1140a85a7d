package modelgateway

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/adapters/agentcli"
	"github.com/signalbox-dev/signalbox/adapters/agentcli/agentout"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// requestsMax is how many requests of one execution are read and forwarded at a time.
const requestsMax = 16

// patience is how long a tool may go on trying what its vendor refuses for good.
const patience = 20 * time.Second

// execution records what passed of one execution.
type execution struct {
	g     *Gateway
	tool  string
	limit int64 // in millionths of a dollar; 0 = none
	ctx   context.Context
	end   context.CancelFunc
	busy  chan struct{} // a place for each request: its body is held

	mu        sync.Mutex
	flying    map[*exchange]int64   // what requests that are not answered yet have cost so far
	used      map[string]work.Usage // by those that were, by model
	spent     int64                 // the same in money, as far as prices are known
	unpriced  bool                  // not all of them are
	estimated bool
	over      string // why nothing is forwarded any more
	trouble   work.Trouble
	said      string // by the vendor of the trouble
	since     time.Time
}

func newExecution(g *Gateway, x agentcli.LinkedRun) *execution {
	e := &execution{g: g, tool: x.Tool, limit: x.Agent.MicroUSD, flying: map[*exchange]int64{}, used: map[string]work.Usage{}}
	e.busy = make(chan struct{}, requestsMax)
	e.ctx, e.end = context.WithCancel(context.Background())
	return e
}

// begin lets a request in, or returns the status and the words of its refusal.
func (e *execution) begin(x *exchange) (status int, why string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.passes() {
		return statusBudget, e.over
	}
	e.flying[x] = 0
	return 0, ""
}

// passes reports whether all that was spent has reached the limit.
func (e *execution) passes() bool {
	sum := e.spent
	for _, cost := range e.flying {
		sum += cost
	}
	if e.limit > 0 && sum >= e.limit && e.over == "" {
		e.over = fmt.Sprintf("stopped: it has cost %s USD, and its limit is %s USD", usd(sum), usd(e.limit))
	}
	return e.over != ""
}

// usd is an amount in dollars.
func usd(micro int64) string { return strconv.FormatFloat(float64(micro)/1e6, 'f', -1, 64) }

// goesOn notes what a request has used so far, and returns why an answer that has more to come is
// to be cut; empty = it goes on.
func (e *execution) goesOn(x *exchange, u work.Usage, more bool) (why string) {
	cost, _ := e.g.cost(e.tool, x.vendor.name, u)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.trouble = work.Trouble{} // a vendor that is answering does not refuse all requests
	if e.flying[x] = cost; more && e.passes() {
		return e.over
	}
	return ""
}

// settle ends a request with what it has used.
func (e *execution) settle(x *exchange, m *meter) {
	u, estimated := m.end()
	cost, known := e.g.cost(e.tool, x.vendor.name, u)
	e.mu.Lock()
	defer e.mu.Unlock()
	if delete(e.flying, x); u.Tokens() == 0 {
		return
	}
	u.MicroUSD = cost
	e.used[u.Model] = sum(e.used[u.Model], u)
	e.spent += cost
	e.unpriced = e.unpriced || !known
	e.estimated = e.estimated || estimated
}

func sum(a, b work.Usage) work.Usage {
	return work.Usage{
		Model:       cmp.Or(b.Model, a.Model),
		Input:       a.Input + b.Input,
		Output:      a.Output + b.Output,
		CacheRead:   a.CacheRead + b.CacheRead,
		CacheCreate: a.CacheCreate + b.CacheCreate,
		MicroUSD:    a.MicroUSD + b.MicroUSD,
	}
}

// answered notes how a vendor has answered: with a refusal of all requests, or not.
func (x *exchange) answered(t work.Trouble, said string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if t.Kind == "" || x.trouble.Kind == "" {
		x.since = x.g.opt.Now()
	}
	if x.trouble, x.said = t, said; t.Kind != "" {
		delete(x.flying, x)
	}
}

// seen implements agentcli.Opened's Look and Close.
func (e *execution) seen() (s agentcli.Seen) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var all, most work.Usage
	for _, u := range e.used {
		all = sum(all, u)
		more := cmp.Or(
			cmp.Compare(u.MicroUSD, most.MicroUSD),
			cmp.Compare(u.Tokens(), most.Tokens()),
			cmp.Compare(most.Model, u.Model),
		)
		if more > 0 {
			most = u
		}
	}
	if all.Model = most.Model; e.unpriced {
		all.MicroUSD = 0
	}
	if len(e.used) > 0 {
		s.Usage, s.Estimated = &all, e.estimated
	}
	s.Trouble = e.trouble
	switch {
	case e.over != "":
		s.Kind, s.Why = work.ResultBudget, e.over
	case e.trouble.Kind != "" && len(e.flying) == 0 && e.g.opt.Now().Sub(e.since) >= patience:
		s.Kind, s.Why = work.ResultFailed, "stopped: the vendor of its models refuses all requests: "+e.said
	}
	return s
}

// cost is the price of a usage in millionths of a dollar. Of a model without a price it is that
// of the vendor's most costly one that has a price.
func (g *Gateway) cost(tool, vendor string, u work.Usage) (micro int64, known bool) {
	if p, known := agentcli.PriceOf(g.opt.Prices, agentout.ShortModel(u.Model), tool); known {
		return p.Cost(u), true
	}
	for name, p := range g.opt.Prices {
		if vendorOf(name) == vendor {
			micro, known = max(micro, p.Cost(u)), true
		}
	}
	return micro, known
}

// vendorOf finds the vendor of a model by its name; empty = not known.
func vendorOf(model string) string {
	for vendor, beginnings := range map[string][]string{
		Anthropic: {"claude"},
		OpenAI:    {"gpt", "chatgpt", "codex", "o1", "o3", "o4"},
		Google:    {"gemini"},
	} {
		for _, b := range beginnings {
			if strings.HasPrefix(model, b) {
				return vendor
			}
		}
	}
	return ""
}
