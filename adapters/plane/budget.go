package plane

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/tracker"
)

// window is the time in which Plane counts the requests of a token. A request that was sent
// counts here for slack longer: Plane counts it from its arrival on.
const (
	window = time.Minute
	slack  = time.Second
)

// settling is how long after a pause only one write is made, unless its answer comes before.
const settling = 2 * time.Second

// patience is how long a call waits here for its turn; longer waits are for the caller's queue.
const patience = 3 * time.Second

// priority ranks requests by their purpose. What comes later leaves room for what comes before it.
type priority int

// Priorities: a write is what people see and a decision owes; a read is needed for one card;
// a listing can be late, and so can a read of a card that was not answered the last time.
const (
	writes priority = iota
	reads
	listings
	retries
)

// reserve is how many requests of a minute a priority leaves to those before it: a sixth of
// them for writes, and as many again for the reads of cards.
func (p priority) reserve(limit int) int { return limit * int(min(p, listings)) / 6 }

// share is how many requests of a minute may be retries: a fifth.
func share(limit int) int { return max(1, limit/5) }

// priorityKey marks requests with their priority.
type priorityKey struct{}

// priorityOf is that of a call.
func (c *Client) priorityOf(r call) priority {
	switch {
	case r.method != http.MethodGet:
		return writes
	case r.listing:
		return listings
	case c.unanswered.has(itemOf(r.path)):
		return retries
	default:
		return reads
	}
}

// unanswered are the work items whose last read met an error: it is made again until there is an answer.
type unanswered struct {
	mu    sync.Mutex
	items map[string]bool
}

// unansweredMax bounds how many are kept.
const unansweredMax = 10_000

func (u *unanswered) has(item string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.items[item]
}

// note notes how a read of a work item has ended. What was not sent says nothing.
func (u *unanswered) note(item string, err error) {
	if item == "" || errors.Is(err, tracker.ErrBudget) {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if err == nil || errors.Is(err, tracker.ErrNotFound) {
		delete(u.items, item)
		return
	}
	if len(u.items) >= unansweredMax || u.items == nil {
		u.items = map[string]bool{}
	}
	u.items[item] = true
}

// itemOf is the id of the work item that a path is below; empty for another.
func itemOf(path string) string {
	_, rest, _ := strings.Cut(path, "/work-items/")
	id, _, _ := strings.Cut(rest, "/")
	return id
}

// sent is a request of the last minute.
type sent struct {
	at       time.Time
	priority priority
	place    int // among the answers of Plane, which has counted it; 0: none came yet
	before   int // answers that came before it was sent
}

// budget is how many requests a token has left. Plane counts them in a sliding minute and
// reports with each answer what remains; others may use the same token.
type budget struct {
	of string // whose token it is

	mu     sync.Mutex
	limit  int       // of a minute; 0: no answer has said
	sent   []*sent   // by this process
	others int       // used by others, as of the last answer
	until  time.Time // and so counted till then
	places int       // of answers
	paused time.Time // Plane takes nothing before
}

// turn returns how long a request is to wait, and takes its place when that is not at all.
func (b *budget) turn(p priority, now time.Time) (wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if wait = b.paused.Sub(now); wait > 0 {
		return wait
	}
	return b.room(p, now)
}

// room is how long it lasts until a request of a priority fits into the minute.
func (b *budget) room(p priority, now time.Time) time.Duration {
	b.forget(now)
	again := slices.DeleteFunc(slices.Clone(b.sent), func(s *sent) bool { return s.priority != retries })
	if n := len(again) - share(b.limit); p == retries && b.limit > 0 && n >= 0 {
		return again[n].at.Add(window + slack).Sub(now)
	}
	free := b.limit - p.reserve(b.limit) - len(b.sent)
	if b.limit == 0 || free > b.others {
		return 0
	}
	wait := b.until.Sub(now) // the others' are not counted any more then
	if gone := b.others - free; gone < len(b.sent) {
		own := b.sent[gone].at.Add(window + slack).Sub(now) // with so many gone and this one there is room
		if free <= 0 || own < wait {
			wait = own
		}
	}
	return wait
}

// forget drops what has left the minute.
func (b *budget) forget(now time.Time) {
	gone := 0
	for gone < len(b.sent) && now.Sub(b.sent[gone].at) >= window+slack {
		gone++
	}
	b.sent = b.sent[gone:]
	if !now.Before(b.until) {
		b.others = 0
	}
}

// send notes a request that is made now.
func (b *budget) send(p priority, now time.Time) *sent {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := &sent{at: now, priority: p, before: b.places}
	b.sent = append(b.sent, s)
	return s
}

// answer notes what Plane has said of the minute.
func (b *budget) answer(s *sent, resp *http.Response, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if resp.StatusCode == http.StatusTooManyRequests {
		pause, named := fault.Moment(resp.Header.Get("Retry-After"), now)
		if !named {
			pause = window
		}
		b.refuse(s, now.Add(pause))
		return
	}
	remaining, err := strconv.Atoi(resp.Header.Get("X-RateLimit-Remaining"))
	if err != nil || remaining < 0 {
		return
	}
	b.places++
	s.place = b.places
	b.forget(now)
	own := 1 // that Plane has counted for certain when it answered
	for _, o := range b.sent {
		if o.place > 0 && o.place <= s.before && now.Sub(o.at) < window {
			own++
		}
	}
	if limit, err := strconv.Atoi(resp.Header.Get("X-RateLimit-Limit")); err == nil && limit > 0 {
		b.limit = limit
	} else {
		b.limit = max(b.limit, remaining+own)
	}
	b.others, b.until = max(0, b.limit-remaining-own), now.Add(window+slack)
}

// refuse notes that Plane takes nothing before a moment; who else uses the token is not known.
// There is room for one write then, whose answer says more, and a little later for others.
func (b *budget) refuse(s *sent, until time.Time) {
	b.sent = slices.DeleteFunc(b.sent, func(o *sent) bool { return o == s }) // Plane does not count it
	if until.After(b.paused) {
		b.paused = until
	}
	b.others, b.until = max(0, b.limit-len(b.sent)-1), b.paused.Add(settling)
}

// show is the budget for people.
func (b *budget) show(now time.Time) tracker.Budget {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forget(now)
	out := tracker.Budget{Token: b.of, Limit: b.limit, Used: len(b.sent) + b.others}
	if b.paused.After(now) {
		out.Paused = b.paused
	}
	return out
}

// admit waits for a request's turn. When that is further away than patience, the error is
// retryable after that time.
func (c *Client) admit(ctx context.Context, r call) error {
	b := c.budgets[r.token]
	for waited := time.Duration(0); ; {
		now := c.opt.Now()
		wait := b.turn(r.priority, now)
		if wait <= 0 {
			return nil
		}
		if waited += wait; waited > patience {
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

// RoundTrip implements http.RoundTripper.
func (m metered) RoundTrip(r *http.Request) (*http.Response, error) {
	b := m.budgets[r.Header.Get("X-Api-Key")]
	p, _ := r.Context().Value(priorityKey{}).(priority)
	s := b.send(p, m.now())
	resp, err := m.RoundTripper.RoundTrip(r)
	if err == nil {
		b.answer(s, resp, m.now())
	}
	return resp, err
}
