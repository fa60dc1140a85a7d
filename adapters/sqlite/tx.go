package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strings"
	"time"
)

// tx is a transaction of the writer.
type tx struct {
	ctx   context.Context
	db    *DB
	mem   *memory
	now   time.Time
	wake  map[string]bool  // pools that may have become claimable
	depth map[string]int64 // unfinished jobs by pool: what was added

	wrote bool // something, or the memory, may have been changed since the request began
}

// stmt prepares a statement once for the life of the writer.
func (t *tx) stmt(query string) (*sql.Stmt, error) {
	t.wrote = t.wrote || !strings.HasPrefix(query, "select")
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
	_, err := t.changes(query, args...)
	return err
}

// changes is exec that tells how many rows it changed.
func (t *tx) changes(query string, args ...any) (int64, error) {
	before := t.wrote
	s, err := t.stmt(query)
	if err != nil {
		return 0, err
	}
	res, err := s.ExecContext(t.ctx, args...)
	if err != nil {
		return 0, err
	}
	n, err := res.RowsAffected()
	if n == 0 && err == nil {
		t.wrote = before
	}
	return n, err
}

// one reads a row into dest; ok is false when there is none.
func (t *tx) one(dest []any, query string, args ...any) (ok bool, err error) {
	s, err := t.stmt(query)
	if err != nil {
		return false, err
	}
	err = s.QueryRowContext(t.ctx, args...).Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// ids reads a column of ids.
func (t *tx) ids(query string, args ...any) ([]int64, error) {
	s, err := t.stmt(query)
	if err != nil {
		return nil, err
	}
	rows, err := s.QueryContext(t.ctx, args...)
	return collect(rows, err, func(r *sql.Rows) (id int64, err error) { return id, r.Scan(&id) })
}

// texts reads a column of texts.
func (t *tx) texts(query string, args ...any) ([]string, error) {
	s, err := t.stmt(query)
	if err != nil {
		return nil, err
	}
	rows, err := s.QueryContext(t.ctx, args...)
	return collect(rows, err, func(r *sql.Rows) (text string, err error) { return text, r.Scan(&text) })
}

// collect reads all rows.
func collect[T any](rows *sql.Rows, err error, scan func(*sql.Rows) (T, error)) ([]T, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, rows.Err()
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

// times scans stored times into their places.
func times(us []int64, to ...*time.Time) {
	for i, t := range to {
		*t = timeOf(us[i])
	}
}

func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil { // our own types always encode
		return "null"
	}
	return string(b)
}
