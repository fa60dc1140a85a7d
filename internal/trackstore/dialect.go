package trackstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/gpstracks/tile"
	"github.com/signalbox-dev/signalbox/internal/run"
)

// Dialect holds the words of one database. Statements are SQL that both take,
// with parameters $1, $2 and so on, "~" before the name of a table, and "column in @1" for a
// parameter that is a list.
type Dialect struct {
	Prefix      string // in place of "~"
	In          string // "column in @n", with two %s for column and n
	Touches     string // condition of tracks whose bounds touch a box, with four %d for its parameters: west, south, east, north
	Near        string // condition of blocks that touch one of the areas in $1
	AreaColumns []string
	Planned     []any // goes before the parameters of a statement whose plan is the same for all values

	Arg       func(any) any                        // a []string, []int64 or time as a parameter; the rest as it is
	Areas     func([]Area) any                     // areas as a parameter
	AreaCells func(Area) []any                     // an area in AreaColumns
	Insert    func(context.Context, *Rows) error   // rows into a table
	Transient func(error) bool                     // an error that may go away by itself; nil: there is none
	Lost      func(commitError error) (maybe bool) // a commit that may have happened all the same; nil: there is none
}

// Area is a part of a level's grid.
type Area struct {
	Level  int
	Window tile.Window
}

// Rows are inserted into a table, on the connection of a transaction.
type Rows struct {
	Conn    *sql.Conn
	Table   string // without prefix
	Columns []string
	Cells   [][]any
}

var listForm = regexp.MustCompile(`([\w.]+) in @(\d+)`)

// q is a statement in the words of the dialect.
func (s *Store) q(query string) string {
	if !strings.Contains(query, " in @") {
		return strings.ReplaceAll(query, "~", s.Dialect.Prefix)
	}
	query = listForm.ReplaceAllStringFunc(query, func(found string) string {
		m := listForm.FindStringSubmatch(found)
		return fmt.Sprintf(s.Dialect.In, m[1], m[2])
	})
	return strings.ReplaceAll(query, "~", s.Dialect.Prefix)
}

// args are parameters as the database takes them.
func (s *Store) args(args []any) []any {
	for i, a := range args {
		switch a := a.(type) {
		case string:
			args[i] = text(a)
		case []string:
			texts := make([]string, len(a)) // never nil: that would be null
			for j := range a {
				texts[j] = text(a[j])
			}
			args[i] = s.Dialect.Arg(texts)
		default:
			args[i] = s.Dialect.Arg(a)
		}
	}
	return args
}

// text is one that every database can hold.
func text(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// read reads all rows of one statement.
func read[T any](ctx context.Context, s *Store, scan func(*sql.Rows) (T, error), query string, args ...any) (out []T, err error) {
	query, args = s.q(query), s.args(args)
	err = s.retry(ctx, nil, func() error {
		out = nil
		rows, err := s.DB.QueryContext(ctx, query, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			v, err := scan(rows)
			if err != nil {
				return err
			}
			out = append(out, v)
		}
		return rows.Err()
	})
	return out, err
}

// one is read of a single value.
func one[T any](ctx context.Context, s *Store, query string, args ...any) (v T, err error) {
	all, err := read(ctx, s, value[T], query, args...)
	if len(all) > 0 {
		v = all[0]
	}
	return v, err
}

func value[T any](r *sql.Rows) (v T, err error) { return v, r.Scan(&v) }

// tx is a transaction that writes.
type tx struct {
	ctx  context.Context
	s    *Store
	conn *sql.Conn
	tx   *sql.Tx
}

// exec returns how many rows were changed.
func (t *tx) exec(query string, args ...any) (int64, error) {
	done, err := t.tx.ExecContext(t.ctx, t.s.q(query), t.s.args(args)...)
	if err != nil {
		return 0, err
	}
	return done.RowsAffected()
}

func (t *tx) insert(table string, columns []string, n int, row func(i int) []any) error {
	if n == 0 {
		return nil
	}
	rows := &Rows{t.conn, table, columns, make([][]any, n)}
	for i := range n {
		rows.Cells[i] = t.s.args(row(i))
	}
	return t.s.Dialect.Insert(t.ctx, rows)
}

// attemptMax bounds one transaction.
const attemptMax = time.Minute

// write runs f in one transaction, again if the connection broke or the server went away. When
// the answer to a commit was lost, it looks what became of it, so f takes effect once. A
// caller that gives up before the commit changes nothing.
func (s *Store) write(ctx context.Context, f func(*tx) error) error {
	release, err := hold(ctx, s.turn)
	if err != nil {
		return err
	}
	defer release()
	lost := false // the answer to the last commit
	return s.retry(ctx, &lost, func() (err error) {
		if lost {
			var last int64 // committed transaction; the look waits until one that is under way has ended
			err = s.DB.QueryRowContext(ctx, s.q("select seq from ~track_writers where writer = $1 for update"), s.writer).Scan(&last)
			if err != nil || last >= s.seq {
				return err
			}
		}
		lost, err = s.attempt(ctx, f)
		return err
	})
}

func (s *Store) attempt(ctx context.Context, f func(*tx) error) (lost bool, err error) {
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), attemptMax)
	defer cancel()
	conn, err := s.DB.Conn(ctx)
	if err != nil {
		return false, err
	}
	defer func() { _ = conn.Close() }()
	own, err := conn.BeginTx(late, nil)
	if err != nil {
		return false, err
	}
	defer func() { _ = own.Rollback() }() // nothing, if it was committed
	t := &tx{ctx, s, conn, own}
	if s.writer != "" {
		s.seq++
		if err := t.sign(s.writer, s.seq); err != nil {
			return false, err
		}
	}
	if err := errors.Join(f(t), ctx.Err()); err != nil {
		return false, err
	}
	err = own.Commit() // one that was sent is waited for
	return err != nil && s.Dialect.Lost != nil && s.Dialect.Lost(err), err
}

// sign leaves the number of a transaction behind.
func (t *tx) sign(name string, seq int64) error {
	_, err := t.exec(`insert into ~track_writers (writer, seq, at) values ($1, $2, $3)
		on conflict (writer) do update set seq = excluded.seq, at = excluded.at`, name, seq, time.Now())
	return err
}

// retry calls f until it succeeds, fails for good, or patience is used up. lost, if any, says
// that a commit may have happened.
func (s *Store) retry(ctx context.Context, lost *bool, f func() error) error {
	s.closing.RLock()
	defer s.closing.RUnlock()
	for n, end := 0, time.Now().Add(s.Patience); ; n++ {
		if s.closed.Load() {
			return ErrClosed
		}
		err := f()
		unknown := lost != nil && *lost
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil && !unknown:
			return ctx.Err()
		case !unknown && (s.Dialect.Transient == nil || !s.Dialect.Transient(err)):
			return err
		case ctx.Err() != nil, time.Now().After(end):
			return &UnavailableError{Err: err, Unknown: unknown}
		}
		s.Log.Debug("the database of tracks is tried again", "err", err, "unknown", unknown)
		wait := 5 * time.Millisecond << min(n, 7)
		_ = run.Sleep(ctx, run.Real{}, wait+rand.N(wait)) // the next turn sees that ctx has ended
	}
}

// UnavailableError is the error of a server that was away for longer than Patience, or that is
// out of connections, memory or disk.
type UnavailableError struct {
	Err error
	// Unknown says that a write was sent and its answer lost: it may have happened. Without
	// it, nothing has happened.
	Unknown bool
}

// Error says whether the write may have happened.
func (u *UnavailableError) Error() string {
	if u.Unknown {
		return "tracks: the server went away during a commit; it may have happened: " + u.Err.Error()
	}
	return "tracks: " + u.Err.Error()
}

// Unwrap gives the driver's error.
func (u *UnavailableError) Unwrap() error { return u.Err }

// Retryable reports true.
func (u *UnavailableError) Retryable() bool { return true }
