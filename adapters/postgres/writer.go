package postgres

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/signalbox-dev/signalbox/internal/guard"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/queue"
)

// request is one caller's share of a transaction: exactly one of alone, commit,
// put, finish, extend, take and receive is set, or alone, commit or finish with take.
// The results are read after done.
type request struct {
	ctx context.Context

	alone   func(*tx) error
	commit  *orchestrator.Commit
	put     []queue.Job
	finish  *finishing
	extend  *extending
	take    *taking
	receive *receiving

	ids    []int64
	had    []queue.Claim // of earlier transactions
	lost   error         // of earlier transactions
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

// write hands a request in and returns when it is committed, or is known not to
// be. A caller that gives up before its turn changes nothing.
func (d *DB) write(r *request) error {
	r.done = make(chan struct{})
	d.inHand.Add(1)
	defer d.inHand.Add(-1)
	d.closing.RLock()
	if d.closed.Load() {
		d.closing.RUnlock()
		return ErrClosed
	}
	select {
	case d.reqs <- r: // nearly always
	default:
		select {
		case d.reqs <- r:
		case <-r.ctx.Done():
			d.closing.RUnlock()
			return r.ctx.Err()
		}
	}
	d.closing.RUnlock()
	<-r.done
	return r.err
}

// alone runs f with statements of its own in the shared transaction. f must
// decide before it changes: nothing that it did is undone when it returns an
// error. It may be run more than once.
func (d *DB) alone(ctx context.Context, f func(*tx) error) error {
	return d.write(&request{ctx: ctx, alone: f})
}

// writer is what the writing goroutine has.
type writer struct {
	conn   *pgx.Conn // nil when there is none
	seq    int64     // of the last transaction that was begun
	memory *memory
	sole   int // turns in a row without another writer
	wary   int // how many of them are needed to take one unseen

	careful int // for how many transactions dedupe keys are looked up

	hard   bool       // the last transaction stored decisions
	whole  int        // for how many transactions requests are not split
	ahead  *batchOf   // what comes next, as far as it is known
	again  []*request // who must take again
	muddle bool       // memory holds half of a transaction
}

// batchOf are requests that share a transaction, which may have been made already,
// and sent.
type batchOf struct {
	requests  []*request
	t         *tx
	answers   pgx.BatchResults // once it was sent
	cancel    func()           // ends the wait for them
	committed bool
}

// batchMax bounds how many requests share a commit.
const batchMax = 1024

func (d *DB) writing(context.Context) {
	defer close(d.unread)
	for b := d.upcoming(); b != nil; b = d.upcoming() {
		again := d.commit(b)
		for _, r := range b.requests {
			if !slices.Contains(again, r) {
				r.claims, r.err = append(r.had, r.claims...), cmp.Or(r.err, r.lost)
				close(r.done)
			}
		}
		d.writer.again = append(d.writer.again, again...)
	}
	d.disconnect()
}

// upcoming waits for requests; nil when the store is closed.
func (d *DB) upcoming() *batchOf {
	w := &d.writer
	if b := w.ahead; b != nil {
		if w.ahead = nil; b.t == nil {
			b.requests = d.gather(b.requests)
		}
		return b
	}
	if again := w.again; len(again) > 0 {
		w.again = nil
		return &batchOf{requests: again}
	}
	first, ok := <-d.reqs
	if !ok {
		return nil
	}
	return &batchOf{requests: d.gather([]*request{first})}
}

// gather takes what has been handed in. Whoever was just told of the last
// transaction is let run first: his next request costs a statement less here
// than in a transaction of its own.
func (d *DB) gather(batch []*request) []*request {
	for {
		before, most := len(batch), d.share()
		runtime.Gosched()
		for n := len(d.reqs); n > 0 && len(batch) < most; n-- {
			if r, ok := <-d.reqs; ok {
				batch = append(batch, r)
			}
		}
		if len(batch) == before || len(batch) >= most {
			return batch
		}
	}
}

// commit does a batch in one transaction. What one request has wrong must not
// fail the others: then each gets a transaction of its own. It returns those who
// must take again.
func (d *DB) commit(b *batchOf) (again []*request) {
	again, err := d.persist(b)
	var away *Unavailable
	if err != nil && len(b.requests) > 1 && !b.committed && !errors.As(err, &away) {
		for _, r := range b.requests {
			again = append(again, d.commit(&batchOf{requests: []*request{r}})...)
		}
		return again
	}
	for _, r := range b.requests {
		if r.err == nil {
			r.err = err
		}
	}
	return again
}

// persist tries a batch until it is committed, refused, or patience is used up.
// When the answer to a commit was lost, it looks before it tries again.
func (d *DB) persist(b *batchOf) (again []*request, err error) {
	ctx := context.Background() // a caller that gives up must not undo the others' work
	var t *tx
	lost := false     // its answer
	var failure error // why
	for n, end := 0, time.Now().Add(d.patience); ; n++ {
		err = nil
		if lost {
			var committed bool
			if committed, err = d.look(ctx, t); err == nil && committed {
				return nil, nil
			}
			if err == nil && !transient(failure) && !refused(failure) { // it fails here
				return nil, failure
			}
		}
		if err == nil {
			if t, lost, err = d.attempt(b); err == nil {
				return t.again(), nil
			}
			failure = err
			if overtaken(err) || t != nil && t.misguessed(err) {
				continue
			}
		}
		if !lost && !transient(err) {
			return nil, wrap(err)
		}
		d.log.Warn("a write is tried again", "err", err, "unknown", lost)
		if time.Now().After(end) || d.closed.Load() {
			return nil, &Unavailable{Err: err, Unknown: lost}
		}
		_ = pause(ctx, n) // ctx does not end
	}
}

// attemptMax bounds one transaction, the wait for its turn included.
const attemptMax = 30 * time.Second

// attempt does a batch once. lost says that the commit was sent and the answer did
// not come, or could not be read.
func (d *DB) attempt(b *batchOf) (t *tx, lost bool, err error) {
	w := &d.writer
	if panicked := guard.Do("postgres transaction", func() { err = d.carryOut(b) }); panicked != nil {
		err = panicked
	}
	t, sent := b.t, b.answers != nil
	b.t, b.answers = nil, nil
	if b.cancel != nil {
		b.cancel()
	}
	if err != nil {
		d.forget()
		if b.committed || w.conn == nil {
			return t, false, err
		}
		lost = sent && (w.conn.IsClosed() || !refused(err))
		if overtaken(err) {
			w.wary = aloneAfter
		}
		if t != nil && t.misguessed(err) {
			w.careful = carefulFor
		}
		d.undo(err)
		return t, lost, err
	}
	w.careful = max(0, w.careful-1)
	if w.ahead != nil && w.ahead.t != nil {
		w.ahead.t.lower()
	}
	w.sole++
	if !t.sole {
		w.sole = 0
	}
	if w.muddle {
		d.forget()
	}
	for pool := range t.wake {
		d.wakers.hint(pool)
		d.notes.add(pool)
	}
	return t, false, nil
}

// carryOut makes and sends the transaction of a batch, as far as that was not done
// ahead, and takes over its answers. The next one is made while the server works on
// this one, and sent before the answers are taken over: the server need not wait.
func (d *DB) carryOut(b *batchOf) error {
	if b.answers == nil {
		if err := d.start(b); err != nil {
			return err
		}
	}
	if b.answers != nil {
		if err := d.answer(b); err != nil {
			return err
		}
	}
	b.committed = true
	if next := d.writer.ahead; next != nil && next.t != nil {
		d.send(next)
	}
	return b.t.handOut()
}

// start connects, makes the transaction of a batch, if that was not done ahead, and
// sends it.
func (d *DB) start(b *batchOf) error {
	ctx, cancel := context.WithTimeout(context.Background(), attemptMax)
	b.cancel = cancel
	if err := d.connect(ctx); err != nil {
		return err
	}
	if b.t == nil {
		d.writer.memory.makeRoom()
		b.t = d.nextTx()
		b.t.ctx = ctx
		if err := b.t.make(b.requests); err != nil {
			return err
		}
	}
	cancel()
	d.send(b)
	return nil
}

// send sends the transaction of a batch, if there is anything to commit.
func (d *DB) send(b *batchOf) {
	t := b.t
	t.ctx, b.cancel = context.WithTimeout(context.Background(), attemptMax)
	t.conn = d.writer.conn
	if t.end() {
		b.answers = t.send()
	}
}

// nextTx is a transaction that nothing has been done in.
func (d *DB) nextTx() *tx {
	w := &d.writer
	w.seq++
	t := d.newTx(context.Background(), w.conn, w.memory)
	t.seq = w.seq
	return t
}

// forget gives up what is remembered, and what was made of it and not sent.
func (d *DB) forget() {
	d.writer.memory.forget()
	d.writer.sole, d.writer.muddle = 0, false
	if next := d.writer.ahead; next != nil && next.answers == nil {
		next.t = nil
	}
}

// undo rolls back, or gives the connection up.
func (d *DB) undo(why error) {
	ctx, cancel := context.WithTimeout(context.Background(), attemptMax)
	defer cancel()
	if standby(why) {
		d.disconnect()
		return
	}
	if d.writer.conn.IsClosed() {
		d.writer.conn = nil
		return
	}
	if _, err := d.writer.conn.Exec(ctx, "rollback"); err != nil {
		d.disconnect()
	}
}

// session bounds what a writer that is paused, or cut off, can do to the others:
// the server ends its transaction. Every statement goes by key, so the planner
// is told not to try anything else while tables are small.
const session = `set idle_in_transaction_session_timeout = '5s'; set lock_timeout = '20s'; set statement_timeout = '25s';
set tcp_keepalives_idle = 5; set tcp_keepalives_interval = 2; set tcp_keepalives_count = 3;
set enable_seqscan = off; set enable_hashjoin = off; set enable_mergejoin = off; set jit = off; set plan_cache_mode = force_generic_plan`

func (d *DB) connect(ctx context.Context) error {
	if d.writer.conn != nil && !d.writer.conn.IsClosed() {
		return nil
	}
	conn, err := pgx.ConnectConfig(ctx, d.config)
	if err != nil {
		return err
	}
	d.writer.conn = conn
	quickArrays(conn)
	if _, err := conn.PgConn().Exec(ctx, session).ReadAll(); err != nil {
		d.disconnect()
		return err
	}
	return nil
}

func (d *DB) disconnect() {
	if d.writer.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = d.writer.conn.Close(ctx) // nothing is open on it
	d.writer.conn = nil
}
