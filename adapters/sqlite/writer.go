package sqlite

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/internal/guard"
	"github.com/signalbox-dev/signalbox/queue"
)

// request is one caller's share of a transaction: exactly one of alone, put,
// finish, extend, take and receive is set, or alone or finish with take. The
// results are read after done.
type request struct {
	ctx context.Context

	alone   func(*tx) error
	put     []queue.Job
	finish  *finishing
	extend  *extending
	take    *taking
	receive *receiving

	ids    []int64
	claims []queue.Claim
	err    error
	done   chan struct{}
}

type finishing struct {
	claim   queue.Claim
	outcome queue.Outcome
}

type extending struct {
	claim queue.Claim
	ttl   time.Duration
}

type taking struct {
	pool, worker string
	n            int
	ttl          time.Duration
}

// write runs f in a transaction and returns when it is on disk. f sees what
// earlier requests of the same transaction did; its error undoes only its own. It
// may be run more than once.
func (d *DB) write(ctx context.Context, f func(*tx) error) error {
	return d.hand(&request{ctx: ctx, alone: f})
}

// hand hands a request in and returns when it is on disk, or is known not to be.
// A caller that gives up before its turn changes nothing.
func (d *DB) hand(r *request) error {
	r.done = make(chan struct{})
	d.closing.RLock()
	if d.closed {
		d.closing.RUnlock()
		return ErrClosed
	}
	select {
	case d.reqs <- r:
	case <-r.ctx.Done():
		d.closing.RUnlock()
		return r.ctx.Err()
	}
	d.closing.RUnlock()
	<-r.done
	return r.err
}

// batchMax bounds how many requests share a commit.
const batchMax = 512

func (d *DB) writer(context.Context) {
	for first := range d.reqs {
		batch := d.gather([]*request{first})
		d.commit(batch)
		for _, r := range batch {
			close(r.done)
		}
	}
}

// gather takes what has been handed in. Whoever was just told of the last
// transaction is let run first: his next request costs less here than in a
// transaction of its own.
func (d *DB) gather(batch []*request) []*request {
	for {
		before := len(batch)
		runtime.Gosched()
		for n := len(d.reqs); n > 0 && len(batch) < batchMax; n-- {
			if r, ok := <-d.reqs; ok {
				batch = append(batch, r)
			}
		}
		if len(batch) == before || len(batch) == batchMax {
			return batch
		}
	}
}

// commit does a batch in one transaction. What one request has wrong must not
// fail the others: then each gets a transaction of its own.
func (d *DB) commit(batch []*request) {
	err := d.transaction(batch)
	var away *Busy
	if err != nil && len(batch) > 1 && !errors.As(err, &away) {
		for _, r := range batch {
			d.commit([]*request{r})
		}
		return
	}
	for _, r := range batch {
		if err != nil { // nothing was changed, whatever a request has heard
			r.err, r.ids, r.claims = err, nil, nil
		}
	}
}

// transaction does a batch once. A caller that gives up must not undo the others'
// work: it has no deadline but that of a busy file.
func (d *DB) transaction(batch []*request) error {
	ctx := context.Background()
	t := &tx{ctx: ctx, db: d, mem: d.mem, now: timeOf(micros(d.now())), wake: map[string]bool{}, depth: map[string]int64{}}
	err := t.exec("begin immediate")
	if err != nil {
		return busy(err)
	}
	if panicked := guard.Do("sqlite transaction", func() { err = t.all(batch) }); panicked != nil {
		err = panicked
	}
	if err == nil {
		if err = t.exec("commit"); err != nil {
			err = busy(err)
		}
	}
	if err != nil {
		d.mem.forget()
		_, undo := d.conn.ExecContext(ctx, "rollback")
		return errors.Join(err, undo)
	}
	for pool := range t.wake {
		d.wakers.hint(pool)
	}
	return nil
}

// all does the requests, those of a kind as one set.
func (t *tx) all(batch []*request) error {
	if err := t.trust(); err != nil {
		return err
	}
	live := make([]*request, 0, len(batch))
	for _, r := range batch {
		if r.err, r.claims = r.ctx.Err(), nil; r.err == nil {
			live = append(live, r)
		}
	}
	for _, do := range []func([]*request) error{t.extendAll, t.finishAll, t.aloneAll, t.receiveAll, t.putEach, t.takeAll} {
		if err := do(live); err != nil {
			return err
		}
	}
	return t.counted()
}

// aloneAll runs the requests that have statements of their own. One that is refused
// before it has changed anything does not concern the others. What another has changed
// can be undone only with the whole transaction: a savepoint would cost each request
// more than the few that fail there.
func (t *tx) aloneAll(batch []*request) error {
	for _, r := range batch {
		if r.alone == nil {
			continue
		}
		t.wrote = false
		if panicked := guard.Do("sqlite request", func() { r.err = r.alone(t) }); panicked != nil {
			return panicked
		}
		if r.err != nil && t.wrote {
			return r.err
		}
	}
	return nil
}

// counted brings the counters up to date.
func (t *tx) counted() error {
	for pool, n := range t.depth {
		if n == 0 {
			continue
		}
		if err := t.exec("insert into depth (pool, n) values (?, ?) on conflict (pool) do update set n = n + excluded.n", pool, n); err != nil {
			return err
		}
	}
	return nil
}

// wanting are the requests of a kind.
func wanting(batch []*request, is func(*request) bool) []*request {
	if i := slices.IndexFunc(batch, is); i < 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(batch), func(r *request) bool { return !is(r) })
}
