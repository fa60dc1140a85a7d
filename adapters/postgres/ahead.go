package postgres

import (
	"github.com/signalbox-dev/signalbox/internal/guard"
)

// aheadMin is how many requests must have come for the next transaction to be made
// while the server works on this one: with fewer, the time is better spent on
// letting more come together.
const aheadMin = 64

// lookAhead makes the next transaction while the server works on this one. It can
// be made if nothing need be asked for it, and is sent if this one succeeds: until
// then, memory is right about both.
func (d *DB) lookAhead() {
	w := &d.writer
	if w.ahead != nil || len(w.again) > 0 || !w.alone() || len(d.reqs) == 0 {
		return
	}
	b := &batchOf{requests: d.gather(nil)}
	w.ahead = b
	if len(b.requests) < aheadMin || !d.suffices(b.requests) {
		return
	}
	t := d.nextTx()
	made := false
	if panicked := guard.Do("postgres transaction", func() { made = t.make(b.requests) == nil }); panicked != nil || !made {
		w.muddle = true
		return
	}
	b.t = t
}

// suffices reports whether requests can be done from memory, and leave in it what
// the answers need that are still to come.
func (d *DB) suffices(batch []*request) bool {
	m, jobs := d.writer.memory, 0
	tasks, claims := map[int64]bool{}, map[int64]bool{}
	for _, r := range batch {
		if r.alone != nil || r.receive != nil || r.ctx.Err() != nil {
			return false
		}
		c := r.claim()
		if k := r.commit; k != nil {
			c, jobs = k.Claim, jobs+len(k.Jobs)
			if k.Task != nil && (tasks[k.Task.ID] || !m.sure(k.Task)) || c != nil && claims[c.Job.ID] {
				return false
			}
			if k.Task != nil {
				tasks[k.Task.ID] = true
			}
		}
		if c != nil {
			if !m.runs(*c) {
				return false
			}
			claims[c.Job.ID] = true
		}
		if jobs += len(r.put); r.finish != nil {
			jobs += len(r.finish.outcome.Then)
		}
	}
	return jobs == 0 || d.writer.careful == 0 && !m.full(jobs)
}
