package postgres

import (
	"github.com/signalbox-dev/signalbox/internal/guard"
)

// aheadMin is how many requests must wait for the next transaction to be made
// while the server works on this one: with fewer, the time is better spent on
// letting more come together.
const aheadMin = 64

// lookAhead makes the next transaction while the server works on this one. It can
// be made if nothing need be asked for it, and is sent if this one succeeds: until
// then, memory is right about both.
func (d *DB) lookAhead() {
	w := &d.writer
	if w.ahead != nil || len(w.again) > 0 || !w.alone() || len(d.reqs) < aheadMin {
		return
	}
	b := &batchOf{requests: d.gather(nil)}
	w.ahead = b
	for _, r := range b.requests {
		if !w.memory.suffices(r) {
			return
		}
	}
	t := d.nextTx()
	made := false
	if panicked := guard.Do("postgres transaction", func() { made = t.make(b.requests) == nil }); panicked != nil || !made {
		w.muddle = true
		return
	}
	b.t = t
}

// suffices reports whether a request can be done from memory, and leaves in it what
// the answers need that are still to come: so nothing is put.
func (m *memory) suffices(r *request) bool {
	if r.alone != nil || r.commit != nil || r.receive != nil || r.put != nil || r.ctx.Err() != nil {
		return false
	}
	if r.finish != nil && len(r.finish.outcome.Then) > 0 {
		return false
	}
	if c := r.claim(); c != nil {
		_, ok := m.claimed(*c)
		return ok
	}
	return true
}
