package postgres

import (
	"context"
	"slices"

	"github.com/signalbox-dev/signalbox/internal/guard"
)

// splitMin is how many requests must be in hand for the next transaction to be made
// while the server works on this one: with fewer, the time is better spent on letting
// more come together. Decisions are more work each.
const (
	splitMin     = 256
	splitMinHard = 32
)

// unsplit is for how many transactions nothing is made ahead after one that could not
// be.
const unsplit = 16

// splits reports whether requests are split: half goes into one transaction, and half
// into the next, which is made while the server works on the first.
func (d *DB) splits() bool {
	w, least := &d.writer, int64(splitMin)
	if w.hard {
		least = splitMinHard
	}
	return w.whole == 0 && w.alone() && d.inHand.Load() >= least
}

// share is how many requests go into one transaction.
func (d *DB) share() int {
	if d.splits() {
		return min((int(d.inHand.Load())+1)/2, batchMax)
	}
	return batchMax
}

// answer waits until the server has answered a transaction, and makes the next one
// meanwhile.
func (d *DB) answer(b *batchOf) error {
	w := &d.writer
	w.hard = slices.ContainsFunc(b.requests, func(r *request) bool { return r.commit != nil })
	if w.ahead != nil || len(w.again) > 0 || !d.splits() {
		w.whole = max(0, w.whole-1)
		return b.answers.Close()
	}
	d.unread <- b.answers
	next, answered, err := d.comeTogether()
	if len(next) > 0 {
		w.ahead = &batchOf{requests: next}
	}
	if answered {
		return err
	}
	if len(next) > 0 {
		d.makeAhead(w.ahead)
	}
	return <-d.answered
}

// comeTogether takes what is handed in until the next transaction has its share, or
// until this one is answered.
func (d *DB) comeTogether() (next []*request, answered bool, err error) {
	for len(next) < d.share() {
		select {
		case err = <-d.answered:
			return next, true, err
		case r, ok := <-d.reqs:
			if !ok { // closed
				return next, false, nil
			}
			next = append(next, r)
		}
	}
	return next, false, nil
}

// makeAhead makes the next transaction while the server works on this one. It can
// be made if nothing need be asked for it, and is sent if this one succeeds: until
// then, memory is right about both.
func (d *DB) makeAhead(b *batchOf) {
	w := &d.writer
	if panicked := guard.Do("postgres transaction", func() {
		if !d.suffices(b.requests) {
			w.whole = unsplit
			return
		}
		w.muddle = true
		if t := d.nextTx(); t.make(b.requests) == nil {
			b.t, w.muddle = t, false
		}
	}); panicked != nil {
		w.muddle = true
	}
}

// reading reads answers while the writer has other things to do.
func (d *DB) reading(context.Context) {
	for b := range d.unread {
		var err error
		if panicked := guard.Do("postgres answers", func() { err = b.Close() }); panicked != nil {
			err = panicked
		}
		d.answered <- err
	}
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
