package postgres

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/signalbox-dev/signalbox/internal/pgerror"
	"github.com/signalbox-dev/signalbox/internal/sqlstore"
)

// dialect carries out the statements of the store. Writers of several processes take turns:
// each transaction first locks the one row of ~turn.
type dialect struct{ db *DB }

// writer is the connection of the writing goroutine.
type writer struct {
	conn *pgx.Conn // nil when there is none
	seq  int64     // of the last transaction that was begun
}

// Write implements sqlstore.Driver. When the answer to a commit is lost, it looks what has
// become of the transaction before it tries again.
func (d dialect) Write(f func(sqlstore.Conn) error) error {
	db, lost := d.db, false
	for n, end := 0, time.Now().Add(db.patience); ; n++ {
		var err error
		if lost {
			var committed bool
			if committed, err = db.committed(); committed && err == nil {
				return nil
			}
			lost = err != nil
		}
		if err == nil {
			if lost, err = db.attempt(f); err == nil {
				return nil
			}
		}
		if !lost && !pgerror.Transient(err) {
			return wrap(err)
		}
		db.log.Warn("a write is tried again", "err", err, "unknown", lost)
		if time.Now().After(end) || db.closed.Load() {
			return &UnavailableError{Err: err, Unknown: lost}
		}
		_ = pause(context.Background(), n) // a caller that gives up must not undo the others' work
	}
}

func (d dialect) Read(ctx context.Context, snapshot bool, f func(sqlstore.Conn) error) error {
	return d.db.retry(ctx, func(ctx context.Context) (err error) {
		if snapshot {
			reading := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
			err = pgx.BeginTxFunc(ctx, d.db.pool, reading, func(t pgx.Tx) error {
				return f(d.db.on(ctx, t))
			})
		} else {
			err = f(d.db.on(ctx, d.db.pool))
		}
		if err != nil && d.db.closed.Load() {
			return ErrClosed
		}
		return err
	})
}

func (dialect) Taken(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "23505" && pg.TableName == "tasks"
}

func (dialect) Away(err error) bool {
	var away *UnavailableError
	return errors.As(err, &away)
}

const (
	// lockTurn makes every later statement see what the others committed.
	lockTurn = "select from ~turn for no key update"

	// noteSeq leaves the number of a transaction behind, for committed.
	noteSeq = "insert into ~writers (writer, seq, at) values ($1, $2, now()) " +
		"on conflict (writer) do update set seq = excluded.seq, at = excluded.at"

	// lastSeq reads which transaction of a writer was committed last.
	lastSeq = "select coalesce(max(seq), 0) from ~writers where writer = $1"
)

// attemptMax bounds one transaction, the wait for its turn included.
const attemptMax = 30 * time.Second

// attempt runs f in one transaction. The turn is taken with the first message, and the last
// one commits. lost says that the commit was sent and its answer did not come.
func (d *DB) attempt(f func(sqlstore.Conn) error) (lost bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), attemptMax)
	defer cancel()
	if err := d.connect(ctx); err != nil {
		return false, err
	}
	d.writer.seq++
	c := d.on(ctx, d.writer.conn)
	c.batch.Queue("begin")
	c.batch.Queue(d.q(lockTurn))
	if err = f(c); err == nil && !c.queued {
		err = c.Flush()
	}
	if err == nil && (c.wrote || c.queued) {
		c.batch.Queue(d.q(noteSeq), d.me, d.writer.seq)
		c.batch.Queue("commit")
		if err = c.Flush(); err == nil {
			return false, nil
		}
		lost = d.writer.conn.IsClosed() || pgerror.Code(err) == ""
	}
	d.undo(ctx, err)
	return lost, err
}

// committed looks what has become of the last transaction. Taking the turn waits until the
// server has ended it, one way or the other; its first message alone commits nothing.
func (d *DB) committed() (committed bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), attemptMax)
	defer cancel()
	if err := d.connect(ctx); err != nil {
		return false, err
	}
	err = pgx.BeginFunc(ctx, d.writer.conn, func(t pgx.Tx) error {
		if _, err := t.Exec(ctx, d.q(lockTurn)); err != nil {
			return err
		}
		var last int64
		err := t.QueryRow(ctx, d.q(lastSeq), d.me).Scan(&last)
		committed = last == d.writer.seq
		return err
	})
	if standby(err) {
		d.disconnect()
	}
	return committed, err
}

// undo rolls back what was not committed, or gives the connection up.
func (d *DB) undo(ctx context.Context, why error) {
	switch {
	case d.writer.conn.IsClosed():
		d.writer.conn = nil
	case standby(why):
		d.disconnect()
	default:
		if _, err := d.writer.conn.Exec(ctx, "rollback"); err != nil {
			d.disconnect()
		}
	}
}

// unpaused has the server end the transaction of a process that is paused or cut off, also of one that has yet to take an answer.
const unpaused = "set idle_in_transaction_session_timeout = '5s'; set tcp_user_timeout = '10s';"

// session is the writer's. Every statement goes by key: the planner tries nothing else while tables are small.
const session = unpaused + `set lock_timeout = '20s'; set statement_timeout = '25s';
set tcp_keepalives_idle = 5; set tcp_keepalives_interval = 2; set tcp_keepalives_count = 3;
set enable_seqscan = off; set enable_bitmapscan = off; set enable_hashjoin = off; set enable_mergejoin = off; set enable_material = off;
set jit = off; set plan_cache_mode = force_generic_plan`

func (d *DB) connect(ctx context.Context) error {
	if d.writer.conn != nil && !d.writer.conn.IsClosed() {
		return nil
	}
	conn, err := pgx.ConnectConfig(ctx, d.config)
	if err != nil {
		return err
	}
	d.writer.conn = conn
	if _, err := conn.Exec(ctx, session); err != nil {
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

// conn is a sqlstore.Conn: what was queued is one message.
type conn struct {
	ctx    context.Context
	db     *DB
	to     sender
	batch  *pgx.Batch
	queued bool // a statement that writes is in the batch
	wrote  bool // a row was changed
}

// sender is a connection, a transaction or a pool.
type sender interface {
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

func (d *DB) on(ctx context.Context, to sender) *conn {
	return &conn{ctx: ctx, db: d, to: to, batch: &pgx.Batch{}}
}

func (c *conn) Queue(read func(sqlstore.Rows) error, query string, args ...any) {
	writes := !strings.HasPrefix(query, "select")
	c.queued = c.queued || writes
	c.batch.Queue(c.db.q(query), values(args)...).Query(func(rows pgx.Rows) error {
		if read != nil {
			if err := read(answer{rows}); err != nil {
				return err
			}
		}
		rows.Close()
		c.wrote = c.wrote || writes && rows.CommandTag().RowsAffected() > 0
		return rows.Err()
	})
}

func (c *conn) Flush() error {
	if c.batch.Len() == 0 {
		return nil
	}
	batch := c.batch
	c.batch, c.queued = &pgx.Batch{}, false
	return c.to.SendBatch(c.ctx, batch).Close()
}
