package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// trackTx is a transaction that changes tracks. It has the turn.
type trackTx struct {
	ctx     context.Context
	db      *DB
	tx      pgx.Tx
	version int64 // of the tracks, when the turn was taken
}

// write runs f in one transaction, again if the connection broke or the server
// went away. When the answer to a commit was lost, it looks what became of it, so
// f takes effect once. A caller that gives up before the commit changes nothing.
func (s *Tracks) write(ctx context.Context, f func(*trackTx) error) error {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	var lost bool // the answer to the last commit
	for n, end := 0, time.Now().Add(s.db.patience); ; n++ {
		var err error
		if lost {
			var committed bool
			if committed, err = s.look(ctx); err == nil {
				if committed {
					return nil
				}
				lost = false
			}
		}
		if err == nil {
			if lost, err = s.attempt(ctx, f); err == nil {
				return nil
			}
		}
		switch {
		case s.db.closed.Load():
			return ErrClosed
		case ctx.Err() != nil && !lost:
			return ctx.Err()
		case !lost && !transient(err):
			return wrap(err)
		case time.Now().After(end), ctx.Err() != nil:
			return &Unavailable{Err: err, Unknown: lost}
		}
		s.db.log.Warn("a change of tracks is tried again", "err", err, "unknown", lost)
		if err := pause(ctx, n); err != nil && !lost {
			return err
		}
	}
}

// ownWay bounds what a process that is paused, or cut off, can do to the others, and
// has statements use indexes although tables look small: they are planned once, and
// tables grow. Where there is none, that looks costly, and must not start the compiler.
const ownWay = `set_config('idle_in_transaction_session_timeout', '60s', true), set_config('enable_seqscan', 'off', true),
	set_config('jit', 'off', true)`

// takeTurn takes the turn and leaves the transaction's number behind.
const takeTurn = `with bounds as materialized (select ` + ownWay + `),
	turn as materialized (select version from ~track_turn, bounds for no key update of track_turn),
	noted as (insert into ~writers (writer, seq, at) select $1, $2, now() from turn
		on conflict (writer) do update set seq = excluded.seq, at = excluded.at)
	select version from turn`

// attempt runs f once. lost says that the commit was sent and its answer did not
// come.
func (s *Tracks) attempt(ctx context.Context, f func(*trackTx) error) (lost bool, err error) {
	tx, err := s.db.pool.Begin(ctx)
	if err != nil {
		return false, err
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), attemptMax)
	defer cancel()
	defer func() { _ = tx.Rollback(late) }() // nothing, if it was committed
	s.seq++
	t := &trackTx{ctx: ctx, db: s.db, tx: tx}
	if err := tx.QueryRow(ctx, s.db.q(takeTurn), s.me, s.seq).Scan(&t.version); err != nil {
		return false, err
	}
	if err := f(t); err != nil {
		return false, err
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if err := tx.Commit(late); err != nil { // a commit that was sent is waited for
		var refused *pgconn.PgError
		return !errors.As(err, &refused) && !errors.Is(err, pgx.ErrTxCommitRollback), err
	}
	return false, nil
}

// look tells whether the last transaction was committed. Taking the turn waits
// until the server has ended it, one way or the other.
func (s *Tracks) look(ctx context.Context) (committed bool, err error) {
	err = pgx.BeginFunc(ctx, s.db.pool, func(t pgx.Tx) error {
		if _, err := t.Exec(ctx, s.db.q("select from ~track_turn for no key update")); err != nil {
			return err
		}
		var last int64
		err := t.QueryRow(ctx, s.db.q("select coalesce(max(seq), 0) from ~writers where writer = $1"), s.me).Scan(&last)
		committed = last >= s.seq
		return err
	})
	return committed, err
}

// ask reads all rows of one statement, on a connection of the pool.
func ask[T any](ctx context.Context, s *Tracks, scan pgx.RowToFunc[T], query string, args ...any) (out []T, err error) {
	err = s.db.retry(ctx, func(ctx context.Context) error {
		rows, err := s.db.pool.Query(ctx, s.db.q(query), clean(args)...)
		if err == nil {
			out, err = pgx.CollectRows(rows, scan)
		}
		if err != nil && s.db.closed.Load() {
			return ErrClosed
		}
		return err
	})
	if len(out) == 0 {
		out = nil
	}
	return out, err
}

// rowsOf is ask inside a transaction.
func rowsOf[T any](t *trackTx, scan pgx.RowToFunc[T], query string, args ...any) ([]T, error) {
	rows, err := t.tx.Query(t.ctx, t.db.q(query), clean(args)...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scan)
}

func (t *trackTx) exec(query string, args ...any) error {
	_, err := t.tx.Exec(t.ctx, t.db.q(query), clean(args)...)
	return err
}

// copy sends n rows at once.
func (t *trackTx) copy(table string, columns []string, n int, row func(i int) ([]any, error)) error {
	if n == 0 {
		return nil
	}
	_, err := t.tx.CopyFrom(t.ctx, pgx.Identifier{t.db.schema, table}, columns, pgx.CopyFromSlice(n, row))
	return err
}
