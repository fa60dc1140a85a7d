// Package allowance shares the requests that a destination allows in a window of time among classes of work. It has no clock and makes no
// request: adapters tell a Meter what they send and what is answered, and the class of a request comes with its context.
package allowance

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Class ranks requests by the work that they are made for. What comes later leaves room for what comes before it.
type Class string

// The classes, first things first.
const (
	Word    Class = "word"    // of a person
	Event   Class = "event"   // that is new
	Effect  Class = "effect"  // also what has no class
	Listing Class = "listing" // of the reconciler, and other work in the background
	Retry   Class = "retry"   // of what has failed before, or waits since the destination did not answer
)

// Classes lists the classes in their order.
func Classes() []Class { return []Class{Word, Event, Effect, Listing, Retry} }

// rank is the place of a class in the order.
func (c Class) rank() int { return slices.Index(Classes(), c) }

// reserve is how many requests of a window a class leaves to those before it: a sixth for each of them.
func (c Class) reserve(limit int) int { return limit * c.rank() / (len(Classes()) + 1) }

// least is how many requests of a window a class has for certain while it waits: a twentieth, of what is not kept for words.
func least(limit int) int { return max(1, limit/20) }

type classKey struct{}

// With marks requests with their class.
func With(ctx context.Context, c Class) context.Context { return context.WithValue(ctx, classKey{}, c) }

// Of is the class of requests.
func Of(ctx context.Context) Class {
	if c, ok := ctx.Value(classKey{}).(Class); ok {
		return c
	}
	return Effect
}

// Request is one that was sent in the window.
type Request struct {
	at     time.Time
	class  Class
	place  int // among the answers of the destination, which has counted it; 0: none came yet
	before int // answers that came before it was sent
}

// Meter is how many requests are left of those that a destination allows in a sliding window. It reports with
// its answers what remains; others may use the same allowance. The zero value has no limit until an answer names one.
type Meter struct {
	// Window is the time in which the destination counts. A request counts here for Slack longer: it counts there
	// from its arrival on. Settling is how long after a pause there is room for one request only, unless its answer says more.
	Window, Slack, Settling time.Duration

	mu      sync.Mutex
	first   *Request // of this process, as long as it has neither an answer nor failed
	heard   bool     // there was an answer since this process began
	limit   int      // of a window; 0: no answer has said
	sent    []*Request
	others  int                 // used by others, and before this process began, as of the last answer
	until   time.Time           // and so counted till then
	places  int                 // of answers
	paused  time.Time           // the destination takes nothing before
	refused map[Class]time.Time // when a class had to wait last
	turned  []turn              // those that had to wait and come again
}

// turn is when a request that had to wait was told to come again.
type turn struct {
	class Class
	at    time.Time
}

// firstLook is how soon it is looked again whether the first request of a process was answered: what the process before it has
// spent of the window only the destination still has, and that answer says it.
const firstLook = 100 * time.Millisecond

// Turn returns how long a request is to wait; 0 = it may be sent now.
func (m *Meter) Turn(c Class, now time.Time) (wait time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if wait = m.paused.Sub(now); wait > 0 {
		return wait
	}
	m.forget(now)
	if m.first != nil && now.Sub(m.first.at) < m.Settling {
		return firstLook
	}
	kept := m.kept(c, now)
	if wait = m.room(kept, now); wait > 0 {
		if m.refused == nil {
			m.refused = map[Class]time.Time{}
		}
		m.refused[c] = now
		for _, t := range m.turned {
			if t.class.rank() <= c.rank() {
				kept++
			}
		}
		wait = max(wait, m.room(kept, now)) // hundreds that wait do not all come for the next room
		m.turned = append(m.turned, turn{c, now.Add(wait)})
	}
	return wait
}

// kept is how many requests a class leaves to others at present.
func (m *Meter) kept(c Class, now time.Time) int {
	spent := map[Class]int{}
	for _, r := range m.sent {
		spent[r.class]++
	}
	kept := c.reserve(m.limit)
	if c != Word && spent[c] < least(m.limit) {
		kept = max(0, Event.reserve(m.limit)-spent[Word])
	}
	for _, other := range Classes()[1:] {
		if at, waits := m.refused[other]; other != c && waits && now.Sub(at) < m.Window+m.Slack {
			kept += max(0, least(m.limit)-spent[other])
		}
	}
	if c == Word { // of what is left they have their reserve before the others have anything
		kept = min(kept, max(0, m.limit-m.others-len(m.sent)-max(0, Event.reserve(m.limit)-spent[Word])))
	}
	return kept
}

// room is how long it lasts until a request fits into the window beside what is kept.
func (m *Meter) room(kept int, now time.Time) time.Duration {
	free := m.limit - min(kept, m.limit-1) - len(m.sent)
	if m.limit == 0 || free > m.others {
		return 0
	}
	wait := m.until.Sub(now) // the others' are not counted any more then
	if gone := m.others - free; gone < len(m.sent) {
		own := m.sent[gone].at.Add(m.Window + m.Slack).Sub(now) // with so many gone and this one there is room
		if free <= 0 || own < wait {
			wait = own
		}
	}
	return wait
}

// forget drops what has left the window.
func (m *Meter) forget(now time.Time) {
	m.sent = slices.DeleteFunc(m.sent, func(r *Request) bool { return now.Sub(r.at) >= m.Window+m.Slack })
	m.turned = slices.DeleteFunc(m.turned, func(t turn) bool { return !t.at.After(now) })
	if !now.Before(m.until) {
		m.others = 0
	}
}

// Send notes a request that is made now.
func (m *Meter) Send(c Class, now time.Time) *Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := &Request{at: now, class: c, before: m.places}
	if m.sent = append(m.sent, r); !m.heard {
		m.first = r
	}
	return r
}

// Answered notes what remains of the window by the answer to a request, and of how many: remaining < 0 and limit 0 = that was not said.
func (m *Meter) Answered(r *Request, limit, remaining int, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.heard, m.first = true, nil; remaining < 0 {
		return
	}
	m.places++
	r.place = m.places
	m.forget(now)
	own := 1 // that the destination has counted for certain when it answered
	for _, o := range m.sent {
		if o.place > 0 && o.place <= r.before && now.Sub(o.at) < m.Window {
			own++
		}
	}
	if m.limit = max(m.limit, remaining+own); limit > 0 {
		m.limit = limit
	}
	used := m.limit - remaining // at some moment since it was sent: what others have changes no further than that shows
	m.others, m.until = max(0, min(max(m.others, used-len(m.sent)), used-own)), now.Add(m.Window+m.Slack)
}

// Lost notes that a request has met no answer.
func (m *Meter) Lost() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.first = nil
}

// Refused notes that the destination has not counted a request, and takes nothing before a moment; who else uses
// the allowance is not known. There is room for one word then, whose answer says more, and a little later for others.
func (m *Meter) Refused(r *Request, until time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.heard, m.first, m.sent = true, nil, slices.DeleteFunc(m.sent, func(o *Request) bool { return o == r })
	if until.After(m.paused) {
		m.paused = until
	}
	m.others, m.until = max(0, m.limit-len(m.sent)-1), m.paused.Add(m.Settling)
}

// Used is how many requests of a window are used, of how many, and until when none is taken; zero = they are.
func (m *Meter) Used(now time.Time) (used, limit int, paused time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forget(now)
	if m.paused.After(now) {
		paused = m.paused
	}
	return len(m.sent) + m.others, m.limit, paused
}
