package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/sqlstore"
)

// dialect carries out the statements of the store. SQLite has one writer at a time: "begin
// immediate" waits for those of other processes.
type dialect struct{ db *DB }

// Write implements sqlstore.Driver. It has no deadline but that of a busy file: a caller
// that gives up must not undo the others' work.
func (d dialect) Write(f func(sqlstore.Conn) error) (err error) {
	defer d.db.noteDamage(&err)
	if found := d.db.damage.Load(); found != nil {
		return found
	}
	ctx := context.Background()
	t := &tx{ctx: ctx, db: d.db}
	if err := t.exec("begin immediate"); err != nil {
		return err
	}
	err = f(t)
	if err == nil {
		err = t.Flush()
	}
	if err == nil {
		if err = t.exec("commit"); err == nil {
			return nil
		}
	}
	_, undo := d.db.conn.ExecContext(ctx, "rollback")
	return errors.Join(err, undo)
}

func (d dialect) Read(ctx context.Context, snapshot bool, f func(sqlstore.Conn) error) (err error) {
	defer d.db.noteDamage(&err)
	if found := d.db.damage.Load(); found != nil {
		return found
	}
	d.db.closing.RLock()
	defer d.db.closing.RUnlock()
	if d.db.closed {
		return ErrClosed
	}
	if !snapshot {
		return f(&reader{ctx: ctx, db: d.db, query: d.db.query})
	}
	snap, err := d.db.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { _ = snap.Rollback() }() // nothing to undo
	var fresh []string                     // prepared afterwards: a snapshot that waits for another's connection could wait for ever
	err = f(&reader{ctx: ctx, db: d.db, query: func(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
		if s, ok := d.db.kept.Load(text); ok {
			return snap.StmtContext(ctx, s.(*sql.Stmt)).QueryContext(ctx, args...)
		}
		fresh = append(fresh, text)
		return snap.QueryContext(ctx, text, args...)
	}})
	_ = snap.Rollback() // its connection is free again
	for _, text := range fresh {
		if _, failed := d.db.prepared(ctx, text); failed != nil {
			return errors.Join(err, failed)
		}
	}
	return err
}

func (dialect) Taken(err error) bool {
	return strings.Contains(err.Error(), "UNIQUE constraint failed: tasks.")
}

func (dialect) Away(err error) bool {
	var away *busyError
	return errors.As(err, &away)
}

// Queue implements sqlstore.Conn. It carries the statement out at once: there is nobody to
// wait for.
func (t *tx) Queue(read func(sqlstore.Rows) error, query string, args ...any) {
	if t.err == nil {
		t.err = t.run(read, query, args)
	}
}

// first is the error of the first statement that has failed since the last Flush.
type first struct{ err error }

func (f *first) Flush() error {
	err := f.err
	f.err = nil
	return err
}

func (t *tx) run(read func(sqlstore.Rows) error, query string, args []any) error {
	q := t.db.translated(query)
	s, err := t.stmt(q.text)
	if err != nil {
		return err
	}
	for i := range q.times(args) {
		values := q.values(args, i)
		if read == nil {
			_, err = s.ExecContext(t.ctx, values...)
		} else {
			var rows *sql.Rows
			rows, err = s.QueryContext(t.ctx, values...)
			err = scanAll(rows, err, read)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// reader is a sqlstore.Conn that reads.
type reader struct {
	ctx   context.Context
	db    *DB
	query func(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	first
}

func (r *reader) Queue(read func(sqlstore.Rows) error, query string, args ...any) {
	if r.err != nil {
		return
	}
	q := r.db.translated(query)
	rows, err := r.query(r.ctx, q.text, q.values(args, 0)...)
	r.err = scanAll(rows, err, read)
}

func scanAll(rows *sql.Rows, err error, read func(sqlstore.Rows) error) error {
	if err != nil {
		return err
	}
	defer rows.Close()
	if err := read(answer{rows}); err != nil {
		return err
	}
	for rows.Next() { // a statement that returns rows has done its work when all are read
	}
	return rows.Err()
}
