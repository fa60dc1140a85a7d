package modelgateway

import (
	"net/http"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Spans for which a vendor is taken not to work for any run, by what one has seen: less than the
// time after which one task tries a paused agent.
const (
	closedFor = 4 * time.Minute
	closedMax = 50 * time.Minute // where the vendor says that it lasts longer
)

// closing is a vendor's refusal of all requests.
type closing struct {
	status  int
	trouble work.Trouble
	said    string
	until   time.Time
}

// account names what a request uses up at its vendor, as far as a refusal is about that: limits
// may be those of a model, which a run can choose to be any.
type account struct{ vendor, model string }

// close keeps all runs from an account whose refusal one of them has met: they meet the same here.
// A refusal by 403 may be about the request alone.
func (g *Gateway) close(x *exchange, status int, t work.Trouble, said string) {
	if status == http.StatusForbidden {
		return
	}
	of, now := account{vendor: x.vendor.name}, g.opt.Now()
	if t.Kind == work.TroubleLimit {
		of.model = x.model
	}
	until := now.Add(closedFor)
	if t.Until.After(until) {
		until = t.Until
	}
	if last := now.Add(closedMax); until.After(last) {
		until = last
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed[of] = closing{status, t, said, until}
}

// open ends that: the vendor has answered.
func (g *Gateway) open(x *exchange) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.closed, account{x.vendor.name, x.model})
	delete(g.closed, account{vendor: x.vendor.name})
}

// shut returns the refusal that the vendor would answer a request with.
func (g *Gateway) shut(x *exchange) (c closing, is bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, of := range []account{{vendor: x.vendor.name}, {x.vendor.name, x.model}} {
		if c, is = g.closed[of]; is && x.call && g.opt.Now().Before(c.until) {
			return c, true
		}
	}
	return c, false
}
