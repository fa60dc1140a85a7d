package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

// A lane is closed after sickAfter failures in a row. Then one job at a time is let
// through, after a second first and after probeMax at last, until one succeeds.
const (
	sickAfter = 3
	probeMax  = 15 * time.Second
)

// health is the circuit breaker of a pool. Libraries of breakers read the time
// themselves, so that they cannot be driven by a scheduler (see run.Scheduler).
type health struct {
	name      string        // of the lane, for people
	neighbour string        // the same
	hurried   chan struct{} // a hint: next has come sooner

	mu       sync.Mutex
	failures int       // in a row
	since    time.Time // of the first of them
	next     time.Time // when a job is let through again
	probing  bool
	last     error
	answers  time.Time // since when it does, or since when this process looks
}

// newHealth is the health of the pools that have a destination, by pool.
func newHealth(places Places, now time.Time) map[string]*health {
	out := map[string]*health{}
	for _, l := range places.lanes() {
		if l.Neighbour != "" {
			out[l.Pool] = &health{name: l.Name, neighbour: l.Neighbour, hurried: make(chan struct{}, 1), answers: now}
		}
	}
	return out
}

// Sickness holds what a lane has seen of its destination since it last answered.
type Sickness struct {
	Lane     string    `json:"lane"`
	Since    time.Time `json:"since"`
	Failures int       `json:"failures"`
	Next     time.Time `json:"next_try,omitzero"`
	Error    string    `json:"error"`

	Neighbour string `json:"-"` // the system that does not answer, for people
}

// Text renders it in words, as of a moment.
func (s Sickness) Text(now time.Time) string {
	who := s.Neighbour
	if !strings.HasSuffix(who, s.Lane) {
		who += " (" + s.Lane + ")"
	}
	return fmt.Sprintf("%s has not answered since %s (try %d): %s", who, Moment(now, s.Since), s.Failures, s.Error)
}

// Moment is a time of day, with the day when it is another.
func Moment(now, t time.Time) string {
	if now, t = now.UTC(), t.UTC(); now.Format(time.DateOnly) != t.Format(time.DateOnly) {
		return t.Format("2 Jan 15:04 UTC")
	}
	return t.Format("15:04 UTC")
}

// room is how many jobs may be taken, of as many as there are workers free; when
// there is none, until is when there will be.
func (h *health) room(now time.Time, free int) (n int, until time.Time) {
	if h == nil || free == 0 {
		return free, time.Time{}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.failures < sickAfter:
		return free, time.Time{}
	case h.probing:
		return 0, time.Time{} // until it ends
	case now.Before(h.next):
		return 0, h.next
	default:
		return min(free, 1), time.Time{}
	}
}

// took notes that a job was let through.
func (h *health) took(n int) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.probing = h.failures >= sickAfter && n > 0
}

// answersSince is since when the destination answers.
func (h *health) answersSince() (at time.Time) {
	if h != nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		at = h.answers
	}
	return at
}

// sick reports whether the lane is closed.
func (h *health) sick() bool {
	if h == nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.failures >= sickAfter
}

// ended notes how a job ended. It reports whether the destination has just answered
// again, and whether it has just been found sick.
func (h *health) ended(o *queue.Outcome, now time.Time) (healed, fell bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.probing = false
	switch {
	case silent(o):
		if h.failures == 0 {
			h.since = now
		}
		h.failures, h.last = h.failures+1, o.Cause
		if h.failures < sickAfter && fault.After(o.Cause) > 0 {
			h.failures = sickAfter // it has named the moment itself
		}
		wait := min(time.Second<<min(max(h.failures-sickAfter, 0), 5), probeMax)
		h.next = now.Add(max(wait, min(fault.After(o.Cause), time.Hour)))
		return false, h.failures == sickAfter
	case o != nil && (o.Kind == queue.OutcomeRelease || isElsewhere(o.Cause)):
		return false, false
	default:
		if healed = h.failures >= sickAfter; healed {
			h.answers = now
		}
		h.failures, h.last = 0, nil
		return healed, false
	}
}

// silent reports whether the end of a job says that its destination does not answer.
func silent(o *queue.Outcome) bool {
	return o != nil && o.Cause != nil && fault.Retryable(o.Cause) && !isElsewhere(o.Cause)
}

// isElsewhere reports whether an error says nothing of the destination.
func isElsewhere(err error) bool {
	return errors.Is(err, tracker.ErrBudget) || errors.As(err, new(*UnregisteredError))
}

// Hurry lets the next job of a pool through at once, though its neighbour is sick.
func (e *Engine) Hurry(pool string) { e.health[pool].hurry(e.Now()) }

func (h *health) hurry(now time.Time) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.next.After(now) {
		h.next = now
		run.Hint(h.hurried)
	}
}

// hints returns what may let a job through before its time.
func (h *health) hints() <-chan struct{} {
	if h == nil {
		return nil
	}
	return h.hurried
}

// Sick lists the lanes whose destination does not answer, as this process sees it.
func (e *Engine) Sick() []Sickness {
	return append([]Sickness{}, slices.SortedFunc(maps.Values(e.SickPools()), func(a, b Sickness) int {
		return cmp.Compare(a.Lane, b.Lane)
	})...)
}

// SickPools are the same by pool.
func (e *Engine) SickPools() map[string]Sickness {
	out := map[string]Sickness{}
	for pool, h := range e.health {
		if s, sick := h.sickness(); sick {
			out[pool] = s
		}
	}
	return out
}

// silence is how long a lane may be sick before it is a warning.
const silence = time.Minute

// Reachable reports, as an error, the destinations that have not answered for longer
// than a minute.
func (e *Engine) Reachable(context.Context) error {
	now := e.Now()
	var all []string
	for _, s := range e.Sick() {
		if now.Sub(s.Since) > silence {
			all = append(all, s.Text(now))
		}
	}
	if len(all) == 0 {
		return nil
	}
	return errors.New(strings.Join(all, "; "))
}

// eventsLook bounds how many waiting webhooks are looked at.
const eventsLook = 1000

// CheckEvents returns as an error how many webhooks have waited for longer than a minute, and since when; nil =
// none.
func (e *Engine) CheckEvents(ctx context.Context) error {
	var all []error
	for _, pool := range e.opt.Places.pools([]string{poolBoardEvents, poolHostEvents, queue.PoolEvents}) {
		jobs, err := e.Jobs.Jobs(ctx, queue.Filter{Pool: pool, Open: true, Limit: eventsLook})
		jobs = slices.DeleteFunc(jobs, func(j queue.Job) bool { return j.Kind != KindTracker && j.Kind != KindHost })
		if err != nil || len(jobs) == 0 {
			all = append(all, err)
			continue
		}
		oldest := slices.MinFunc(jobs, func(a, b queue.Job) int { return a.CreatedAt.Compare(b.CreatedAt) })
		if e.Now().Sub(oldest.CreatedAt) > silence {
			since, why := Moment(e.Now(), oldest.CreatedAt), cmp.Or(oldest.Error, "it was not tried yet")
			all = append(all, fmt.Errorf("%d webhooks wait (%s), the oldest since %s: %s", len(jobs), pool, since, why))
		}
	}
	return errors.Join(all...)
}

// sickness describes a lane that is closed.
func (h *health) sickness() (Sickness, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.failures < sickAfter {
		return Sickness{}, false
	}
	return Sickness{Lane: h.name, Since: h.since, Failures: h.failures, Next: h.next, Error: h.last.Error(), Neighbour: h.neighbour}, true
}
