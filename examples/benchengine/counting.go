package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
)

// counts is how much a store has asked of its database.
type counts struct {
	statements atomic.Int64
	rows       atomic.Int64 // that came back
}

// tracer counts the statements of a PostgreSQL store. Its rows are counted by the
// server.
type tracer struct{ counts *counts }

func (t tracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	t.counts.statements.Add(1)
	return ctx
}

func (t tracer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (t tracer) TraceBatchStart(ctx context.Context, _ *pgx.Conn, b pgx.TraceBatchStartData) context.Context {
	t.counts.statements.Add(int64(b.Batch.Len()))
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

// full is what a connection of SQLite's driver can do.
type full interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
}

// Open implements driver.Driver.
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

// PrepareContext implements driver.ConnPrepareContext.
func (c *countedConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	s, err := c.full.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	f, ok := s.(fullStmt)
	if !ok {
		return nil, errors.Join(fmt.Errorf("a statement of SQLite's driver is %T, which lacks a method that is counted", s), s.Close())
	}
	return &countedStmt{f, c.counts}, nil
}

// ExecContext implements driver.ExecerContext.
func (c *countedConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	c.counts.statements.Add(1)
	return c.full.ExecContext(ctx, query, args)
}

// QueryContext implements driver.QueryerContext.
func (c *countedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	c.counts.statements.Add(1)
	return c.counts.around(c.full.QueryContext(ctx, query, args))
}

// BeginTx implements driver.ConnBeginTx.
func (c *countedConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	c.counts.statements.Add(2) // with its end
	return c.full.BeginTx(ctx, o)
}

type fullStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

type countedStmt struct {
	fullStmt
	counts *counts
}

// ExecContext implements driver.StmtExecContext.
func (s *countedStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	s.counts.statements.Add(1)
	return s.fullStmt.ExecContext(ctx, args)
}

// QueryContext implements driver.StmtQueryContext.
func (s *countedStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	s.counts.statements.Add(1)
	return s.counts.around(s.fullStmt.QueryContext(ctx, args))
}

func (c *counts) around(r driver.Rows, err error) (driver.Rows, error) {
	if err != nil {
		return nil, err
	}
	return &countedRows{r, c}, nil
}

type countedRows struct {
	driver.Rows
	counts *counts
}

// Next implements driver.Rows.
func (r *countedRows) Next(dest []driver.Value) error {
	err := r.Rows.Next(dest)
	if err == nil {
		r.counts.rows.Add(1)
	}
	return err
}
