package plane

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/allowance"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/tracker"
)

// Plane counts the requests of a token in a sliding minute. See allowance.Meter.
const (
	window   = time.Minute
	slack    = time.Second
	settling = 2 * time.Second
)

// patience is how long a call waits here for its turn; longer waits are for the caller's queue. There are
// always more events and retries, which would keep the workers from what comes before them.
func patience(c allowance.Class) time.Duration {
	if c == allowance.Event || c == allowance.Retry {
		return 0
	}
	return 3 * time.Second
}

// itemOf is the id of the work item that a path is below; empty for another.
func itemOf(path string) string {
	_, rest, _ := strings.Cut(path, "/work-items/")
	id, _, _ := strings.Cut(rest, "/")
	return id
}

// budget is how many requests a token has left.
type budget struct {
	allowance.Meter

	of string // whose token it is
}

// answer notes what Plane has said of the minute.
func (b *budget) answer(r *allowance.Request, resp *http.Response, now time.Time) {
	if resp.StatusCode == http.StatusTooManyRequests {
		pause, named := fault.Moment(resp.Header.Get("Retry-After"), now)
		if !named {
			pause = window
		}
		b.Refused(r, now.Add(pause))
		return
	}
	remaining, err := strconv.Atoi(resp.Header.Get("X-RateLimit-Remaining"))
	if err != nil {
		remaining = -1
	}
	limit, _ := strconv.Atoi(resp.Header.Get("X-RateLimit-Limit")) // Plane itself does not send it
	b.Answered(r, limit, remaining, now)
}

// show is the budget for people.
func (b *budget) show(now time.Time) tracker.Budget {
	used, limit, paused := b.Used(now)
	return tracker.Budget{Token: b.of, Limit: limit, Used: used, Paused: paused}
}

// admit waits for a request's turn. When that is further away than patience, the error is
// retryable after that time.
func (c *Client) admit(ctx context.Context, r call) error {
	b, class := c.budgets[r.token], allowance.Of(ctx)
	for waited := time.Duration(0); ; {
		now := c.opt.Now()
		wait := b.Turn(class, now)
		if wait <= 0 {
			return nil
		}
		if waited += wait; waited > patience(class) {
			return &Error{answer: answer{
				Service: service, Status: http.StatusTooManyRequests, Again: true, After: wait, Cause: tracker.ErrBudget,
				What: fmt.Sprintf("%s %s: not sent: the requests of this minute are used up (%s)", r.method, shorten(r.path), b.show(now)),
			}}
		}
		if err := c.opt.Sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// Budgets implements tracker.Budgeted.
func (c *Client) Budgets() []tracker.Budget {
	var out []tracker.Budget
	for _, t := range c.tokens() {
		out = append(out, c.budgets[t.secret].show(c.opt.Now()))
	}
	return out
}

// metered counts each attempt of a request, and reads what the answer says of the budget.
type metered struct {
	http.RoundTripper
	budgets map[string]*budget // by token
	now     func() time.Time
}

func (m metered) RoundTrip(r *http.Request) (*http.Response, error) {
	b := m.budgets[r.Header.Get("X-Api-Key")]
	s := b.Send(allowance.Of(r.Context()), m.now())
	resp, err := m.RoundTripper.RoundTrip(r)
	if err != nil {
		b.Lost()
		return nil, err
	}
	b.answer(s, resp, m.now())
	return resp, nil
}
