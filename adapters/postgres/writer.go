package postgres

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/signalbox-dev/signalbox/internal/guard"
	"github.com/signalbox-dev/signalbox/queue"
)

// request is one caller's share of a transaction: exactly one of alone, put,
// finish, extend, take and receive is set, or finish with take. The results are
// read after done.
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

// write hands a request in and returns when it is committed, or is known not to
// be. A caller that gives up before its turn changes nothing.
func (d *DB) write(r *request) error {
	r.done = make(chan struct{})
	d.closing.RLock()
	if d.closed.Load() {
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

// alone runs f with statements of its own in the shared transaction. f must
// decide before it changes: nothing that it did is undone when it returns an
// error. It may be run more than once.
func (d *DB) alone(ctx context.Context, f func(*tx) error) error {
	return d.write(&request{ctx: ctx, alone: f})
}

// writer is what the writing goroutine has.
type writer struct {
	conn *pgx.Conn // nil when there is none
	seq  int64     // of the last transaction that was begun
	// claims are what this store has handed out: a claim that is known can be
	// ended without being read first.
	claims map[int64]queue.Job
}

// batchMax bounds how many requests share a commit.
const batchMax = 512

func (d *DB) writing(context.Context) {
	for first := range d.reqs {
		batch := d.gather([]*request{first})
		d.commit(batch)
		for _, r := range batch {
			close(r.done)
		}
	}
	d.disconnect()
}

// gather takes what has been handed in. Whoever was just told of the last
// transaction is let run first: his next request costs a statement less here
// than in a transaction of its own.
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
	err := d.persist(batch)
	var away *Unavailable
	if err != nil && len(batch) > 1 && !errors.As(err, &away) {
		for _, r := range batch {
			d.commit([]*request{r})
		}
		return
	}
	for _, r := range batch {
		if r.err == nil {
			r.err = err
		}
	}
}

// persist tries a batch until it is committed, refused, or patience is used up.
// When the answer to a commit was lost, it looks before it tries again.
func (d *DB) persist(batch []*request) error {
	ctx := context.Background() // a caller that gives up must not undo the others' work
	var lost *tx                // its answer
	for n, end := 0, time.Now().Add(d.patience); ; n++ {
		err := error(nil)
		if lost != nil {
			var committed bool
			if committed, err = d.look(ctx, lost); err == nil && committed {
				lost.remember()
				return nil
			}
		}
		if err == nil {
			if lost, err = d.attempt(ctx, batch); err == nil {
				return nil
			}
		}
		if lost == nil && !transient(err) {
			return wrap(err)
		}
		d.log.Warn("a write is tried again", "err", err, "unknown", lost != nil)
		if time.Now().After(end) || d.closed.Load() {
			return &Unavailable{Err: err, Unknown: lost != nil}
		}
		_ = pause(ctx, n) // ctx does not end
	}
}

// attemptMax bounds one transaction, the wait for its turn included.
const attemptMax = 30 * time.Second

// attempt does a batch once. It returns the transaction when the commit was sent
// and the connection broke before the answer came.
func (d *DB) attempt(ctx context.Context, batch []*request) (lost *tx, err error) {
	ctx, cancel := context.WithTimeout(ctx, attemptMax)
	defer cancel()
	if err := d.connect(ctx); err != nil {
		return nil, err
	}
	d.writer.seq++
	t := d.newTx(ctx, d.writer.conn)
	t.seq = d.writer.seq
	sent := false
	if panicked := guard.Do("postgres transaction", func() {
		t.begin()
		if err = t.all(batch); err == nil {
			t.counted()
			t.exec("commit")
			sent = true
			err = t.flush()
		}
	}); panicked != nil {
		err = panicked
	}
	if err != nil {
		if sent && d.writer.conn.IsClosed() {
			lost = t
		}
		d.undo(ctx, err)
		return lost, err
	}
	t.remember()
	for pool := range t.wake {
		d.wakers.hint(pool)
		d.notes.add(pool)
	}
	return nil, nil
}

// undo rolls back, or gives the connection up.
func (d *DB) undo(ctx context.Context, why error) {
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

// look tells whether a transaction was committed, and reads its answers. Taking
// the turn waits until the server has ended it, one way or the other; one that it
// has not begun, because it is still on its way, is barred by a higher number.
func (d *DB) look(ctx context.Context, lost *tx) (committed bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, attemptMax)
	defer cancel()
	if err := d.connect(ctx); err != nil {
		return false, err
	}
	err = pgx.BeginFunc(ctx, d.writer.conn, func(t pgx.Tx) error {
		if _, err := t.Exec(ctx, d.q("select from ~turn for no key update")); err != nil {
			return err
		}
		var last int64
		if err := t.QueryRow(ctx, d.q("select coalesce(max(seq), 0) from ~writers where writer = $1"), d.me).Scan(&last); err != nil {
			return err
		}
		if committed = last == lost.seq; committed {
			return lost.answers(ctx, t)
		}
		d.writer.seq++
		_, err := t.Exec(ctx, d.q(numberQuery), d.me, d.writer.seq)
		return err
	})
	if standby(err) {
		d.disconnect()
	}
	return committed, err
}
