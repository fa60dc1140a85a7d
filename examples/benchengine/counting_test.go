package benchengine

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
)

// counts is the number of statements and rows of a store.
type counts struct {
	statements atomic.Int64
	rows       atomic.Int64 // that came back

	mu     sync.Mutex
	byText map[string]*share // nil: not counted by text
}

// share counts the statements of one text.
type share struct{ parsed, statements, rows int64 }

// add counts how often a text was parsed and done, and the rows that it gave.
func (c *counts) add(text string, n share) {
	c.statements.Add(n.statements)
	c.rows.Add(n.rows)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byText == nil {
		return
	}
	s := c.byText[text]
	if s == nil {
		s = &share{}
		c.byText[text] = s
	}
	s.parsed, s.statements, s.rows = s.parsed+n.parsed, s.statements+n.statements, s.rows+n.rows
}

// tracer counts the statements of a PostgreSQL store. Its rows are counted by the
// server.
type tracer struct{ counts *counts }

func (t tracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	t.counts.add(q.SQL, share{statements: 1})
	return ctx
}

func (t tracer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (t tracer) TraceBatchStart(ctx context.Context, _ *pgx.Conn, b pgx.TraceBatchStartData) context.Context {
	for _, q := range b.Batch.QueuedQueries {
		t.counts.add(q.SQL, share{statements: 1})
	}
	return ctx
}

func (t tracer) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

func (t tracer) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// registerCounted makes SQLite's driver with counts around it, under a new name.
func registerCounted(name string, c *counts) error {
	db, err := sql.Open("sqlite", "")
	if err != nil {
		return err
	}
	sql.Register(name, counted{db.Driver(), c})
	return db.Close()
}

// counted is a driver whose statements and rows are counted.
type counted struct {
	driver.Driver
	counts *counts
}

// full lists the abilities of a connection of SQLite's driver.
type full interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
}

func (d counted) Open(name string) (driver.Conn, error) {
	c, err := d.Driver.Open(name)
	if err != nil {
		return nil, err
	}
	f, ok := c.(full)
	if !ok {
		return nil, errors.Join(fmt.Errorf("a connection of SQLite's driver is %T, which lacks a method that is counted", c), c.Close())
	}
	return &countedConn{f, d.counts}, nil
}

type countedConn struct {
	full
	counts *counts
}

func (c *countedConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	c.counts.add(query, share{parsed: 1})
	s, err := c.full.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	f, ok := s.(fullStmt)
	if !ok {
		return nil, errors.Join(fmt.Errorf("a statement of SQLite's driver is %T, which lacks a method that is counted", s), s.Close())
	}
	return &countedStmt{f, query, c.counts}, nil
}

func (c *countedConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	c.counts.add(query, share{parsed: 1, statements: 1})
	return c.full.ExecContext(ctx, query, args)
}

func (c *countedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	c.counts.add(query, share{parsed: 1, statements: 1})
	return c.counts.around(query)(c.full.QueryContext(ctx, query, args))
}

func (c *countedConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	c.counts.add("begin and its end", share{statements: 2})
	return c.full.BeginTx(ctx, o)
}

type fullStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

type countedStmt struct {
	fullStmt
	query  string
	counts *counts
}

func (s *countedStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	s.counts.add(s.query, share{statements: 1})
	return s.fullStmt.ExecContext(ctx, args)
}

func (s *countedStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	s.counts.add(s.query, share{statements: 1})
	return s.counts.around(s.query)(s.fullStmt.QueryContext(ctx, args))
}

// around counts the rows of a question while they are read.
func (c *counts) around(query string) func(driver.Rows, error) (driver.Rows, error) {
	return func(r driver.Rows, err error) (driver.Rows, error) {
		if err != nil {
			return nil, err
		}
		return &countedRows{r, query, c}, nil
	}
}

type countedRows struct {
	driver.Rows
	query  string
	counts *counts
}

func (r *countedRows) Next(dest []driver.Value) error {
	err := r.Rows.Next(dest)
	if err == nil {
		r.counts.add(r.query, share{rows: 1})
	}
	return err
}
