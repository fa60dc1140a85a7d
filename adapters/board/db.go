package board

import (
	"context"
	"database/sql"
	_ "embed" // for schema.sql
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite" // the driver
)

//go:embed schema.sql
var schema string

// unavailableError reports that the database has not done it, or has not answered. The same
// call may be made again: it changes nothing a second time.
type unavailableError struct{ Err error }

// Error is the cause.
func (e *unavailableError) Error() string {
	return "board: the database does not answer: " + e.Err.Error()
}

// Unwrap gives the cause.
func (e *unavailableError) Unwrap() error { return e.Err }

// Retryable implements the contract of package fault.
func (e *unavailableError) Retryable() bool { return true }

// database is a pool with what differs between the two kinds.
type database struct {
	*sql.DB
	numbered bool   // parameters are $1, $2 … in place of ?
	lock     string // the first statement of a transaction that writes; empty: its begin locks
}

// openSQLite opens a file, which the rest of the service has open as well: a descriptor of our own of such a file takes
// SQLite's locks from this whole process when it is closed, and others then take the file for one that nobody uses.
func openSQLite(path string) (database, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return database{}, err
	}
	_ = f.Close() // of a new one: nothing was written
	q := url.Values{
		"_txlock": {"immediate"},
		"_pragma": {"busy_timeout(10000)", "foreign_keys(1)", "journal_mode(WAL)", "synchronous(FULL)"},
	}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}).String()+"?"+q.Encode())
	if err != nil {
		return database{}, err
	}
	db.SetMaxOpenConns(4)
	return database{DB: db}, nil
}

// openPostgres opens the schema that the rest of the service has made.
func openPostgres(address, in string) (database, error) {
	c, err := pgx.ParseConfig(address)
	if err != nil {
		return database{}, errors.New("the address of the database cannot be read") // it may hold a password
	}
	c.RuntimeParams["search_path"] = pgx.Identifier{in}.Sanitize()
	c.RuntimeParams["application_name"] = "signalbox board"
	db := stdlib.OpenDB(*c)
	db.SetMaxOpenConns(4)
	const lock = "set local idle_in_transaction_session_timeout = '5s'; set local tcp_user_timeout = '10s'; " + // who is paused
		"select pg_advisory_xact_lock(hashtextextended('signalbox board of "
	return database{DB: db, numbered: true, lock: lock + strings.ReplaceAll(in, "'", "") + "', 0))"}, nil
}

// migrate makes the tables that are missing.
func (d database) migrate(ctx context.Context) error {
	return d.write(ctx, func(t tx) error {
		for statement := range strings.SplitSeq(withoutNotes(schema), ";") {
			if statement = strings.TrimSpace(statement); statement == "" {
				continue
			}
			if _, err := t.ExecContext(ctx, statement); err != nil {
				return fmt.Errorf("%.60s…: %w", statement, err)
			}
		}
		return nil
	})
}

func withoutNotes(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		code, _, _ := strings.Cut(line, "--")
		b.WriteString(strings.TrimRight(code, "\n") + "\n")
	}
	return b.String()
}

// asker is the pool, or a transaction.
type asker interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// tx is a transaction that writes.
type tx struct {
	*sql.Tx
	d database
}

func (t tx) exec(ctx context.Context, query string, args ...any) error {
	_, err := t.ExecContext(ctx, t.d.placed(query), args...)
	return err
}

// write makes a transaction. Writers take turns, in all processes.
func (d database) write(ctx context.Context, do func(tx) error) (err error) {
	t, err := d.BeginTx(ctx, nil)
	if err != nil {
		return unavailable(ctx, err)
	}
	defer t.Rollback() //nolint:errcheck // after a commit there is nothing to undo
	if d.lock != "" {
		if _, err := t.ExecContext(ctx, d.lock); err != nil {
			return unavailable(ctx, err)
		}
	}
	if err := do(tx{t, d}); err != nil {
		return unavailable(ctx, err)
	}
	return unavailable(ctx, t.Commit())
}

// unavailable is the error of a database as callers see it. What is said of the input or by
// the caller's own context stays what it is.
func unavailable(ctx context.Context, err error) error {
	if err == nil || isSaid(err) {
		return err
	}
	if ended := ctx.Err(); ended != nil {
		return ended
	}
	var known *unavailableError
	if errors.As(err, &known) {
		return err
	}
	return &unavailableError{err}
}

// each reads rows. scan is called for each of them with the function that takes it apart.
func (d database) each(ctx context.Context, from asker, query string, args []any, scan func(func(...any) error) error) error {
	rows, err := from.QueryContext(ctx, d.placed(query), args...)
	if err != nil {
		return unavailable(ctx, err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows.Scan); err != nil {
			return unavailable(ctx, err)
		}
	}
	return unavailable(ctx, rows.Err())
}

// placed writes the parameters of a statement as the database takes them. No statement here
// has a question mark of another meaning.
func (d database) placed(query string) string {
	if !d.numbered {
		return query
	}
	var b strings.Builder
	n := 0
	for part := range strings.SplitSeq(query, "?") {
		if n > 0 {
			b.WriteString("$" + strconv.Itoa(n))
		}
		b.WriteString(part)
		n++
	}
	return b.String()
}
