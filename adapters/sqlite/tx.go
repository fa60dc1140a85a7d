package sqlite

import (
	"context"
	"database/sql"
	"time"
)

// tx is a transaction of the writer.
type tx struct {
	ctx context.Context
	db  *DB
	first
}

// stmt prepares a statement once for the life of the writer.
func (t *tx) stmt(query string) (*sql.Stmt, error) {
	if s := t.db.stmts[query]; s != nil {
		return s, nil
	}
	s, err := t.db.conn.PrepareContext(t.ctx, query)
	if err == nil {
		t.db.stmts[query] = s
	}
	return s, err
}

func (t *tx) exec(query string, args ...any) error {
	s, err := t.stmt(query)
	if err == nil {
		_, err = s.ExecContext(t.ctx, args...)
	}
	return err
}

// micros is a time as it is stored; timeOf reads it back.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func timeOf(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}
