// Package sqlite keeps the queue and the tasks in one SQLite file: the embedded store of
// the service. One DB is a queue.Queue, queue.Admin, queue.Inspector, task.Store,
// task.Records, Dependencies, CostStore and Pruner.
//
// The engine is internal/sqlstore; here is what is SQLite's own. The writer has one
// connection, with WAL and synchronous=FULL: a call that returns nil is on disk. Readers
// have connections of their own beside it.
//
// The file may be opened by several processes of one machine. It must not lie
// on a network file system.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/signalbox-dev/signalbox/internal/defaults"
	"github.com/signalbox-dev/signalbox/internal/sqlstore"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
)

// Options of a DB.
type Options struct {
	Path   string           // of the file; its directory is made
	Now    func() time.Time // nil = time.Now
	Log    *slog.Logger     // nil discards
	Driver string           `envDefault:"sqlite"` // name of a database/sql driver that wraps modernc's, to count or trace
}

// DB is an open file. It is safe for concurrent use.
type DB struct {
	*sqlstore.Store

	read   *sql.DB
	kept   sync.Map // query: *sql.Stmt, prepared once for each of the readers
	writes *sql.DB
	conn   *sql.Conn // the writer's own
	stmts  map[string]*sql.Stmt
	texts  sync.Map // query: statement, translated

	path    string
	damage  atomic.Pointer[fault.Error]
	closing sync.RWMutex // held for reading while a reader is at work
	closed  bool
}

// ErrClosed is the error of every call after Close.
var ErrClosed = sqlstore.ErrClosed

// Open opens the file, making it if there is none. One that is empty is an error: what it
// held is lost.
func Open(ctx context.Context, o Options) (*DB, error) {
	if o.Path == "" {
		return nil, errors.New("sqlite: Options.Path is missing")
	}
	defaults.Fill(&o)
	if err := os.MkdirAll(filepath.Dir(o.Path), 0o700); err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	d := &DB{path: o.Path, stmts: map[string]*sql.Stmt{}}
	if err := d.open(ctx, o.Driver, o.Path); err != nil {
		d.noteDamage(&err)
		return nil, errors.Join(fmt.Errorf("sqlite: %s: %w", o.Path, err), d.closeFiles())
	}
	d.Store = sqlstore.New(ctx, sqlstore.Options{
		Driver: dialect{d}, Now: o.Now, Log: o.Log, LastJob: "select coalesce(max(id), 0) from ~jobs",
		NewTaskID: "insert into counters (name, value) values ('task', 1) " +
			"on conflict (name) do update set value = value + 1 returning value",
	})
	return d, nil
}

// private keeps the file, and those beside it, from other users, in a directory that they
// may read too. SQLite makes the others with the mode of the first.
func private(path string) error {
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		info, err := os.Stat(name)
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			err = os.Chmod(name, 0o600)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func dsn(path string, extra ...string) string {
	q := url.Values{"_pragma": append([]string{"busy_timeout(10000)", "foreign_keys(1)"}, extra...)}
	return (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}).String() + "?" + q.Encode()
}

// writing is how the file is opened for writes.
func writing(path string) string {
	return dsn(path, "auto_vacuum(incremental)", "journal_mode(WAL)", "journal_size_limit(67108864)",
		"synchronous(FULL)", "wal_autocheckpoint(4000)")
}

func (d *DB) open(ctx context.Context, driver, path string) (err error) {
	if err = create(ctx, path); err != nil {
		return err
	}
	if err = private(path); err != nil {
		return err
	}
	if err = alone(ctx, path); err != nil {
		return err
	}
	if d.writes, err = sql.Open(driver, writing(path)); err != nil {
		return err
	}
	d.writes.SetMaxOpenConns(1)
	if d.conn, err = d.writes.Conn(ctx); err != nil {
		return err
	}
	if _, err = d.conn.ExecContext(ctx, "begin immediate"); err != nil {
		return err
	}
	if err = d.migrate(ctx); err != nil {
		return err
	}
	if _, err = d.conn.ExecContext(ctx, "commit"); err != nil {
		return err
	}
	if d.read, err = sql.Open(driver, dsn(path, "query_only(1)")); err != nil {
		return err
	}
	d.read.SetMaxOpenConns(readers)
	d.read.SetMaxIdleConns(readers) // one that is opened anew reads the schema and prepares all its statements
	return d.read.PingContext(ctx)
}

// readers is how many connections read beside the writer's.
const readers = 4

// prepared prepares a statement that reads, once for the life of the file. Only for
// texts of which there are few: they are kept.
func (d *DB) prepared(ctx context.Context, query string) (*sql.Stmt, error) {
	if s, ok := d.kept.Load(query); ok {
		return s.(*sql.Stmt), nil
	}
	s, err := d.read.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	if first, twice := d.kept.LoadOrStore(query, s); twice {
		return first.(*sql.Stmt), s.Close()
	}
	return s, nil
}

// query reads with a prepared statement.
func (d *DB) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	s, err := d.prepared(ctx, query)
	if err != nil {
		return nil, err
	}
	return s.QueryContext(ctx, args...)
}

// Reader is the pool that reads the file, until Close: for a copy of it.
func (d *DB) Reader() *sql.DB { return d.read }

// Ping reports whether the store takes writes.
func (d *DB) Ping(ctx context.Context) error {
	return d.Alone(ctx, func(t *sqlstore.Tx) error {
		t.Queue(nil, "insert into counters (name, value) values ('ping', 1) on conflict (name) do update set value = value + 1")
		return nil
	})
}

// errDamaged is the error of every call once a page of the file was found that is not as SQLite writes it. Nothing is read from such
// a file or written to it any more, and nothing is given up: half a database decides worse than none.
func errDamaged(path, found string) *fault.Error {
	return &fault.Error{Again: true, Text: fmt.Sprintf(
		"sqlite: %s is damaged (%s): stop the service and put the newest backup in its place (signalbox restore)", path, found)}
}

// noteDamage replaces the error of a call that has met damage, or a disk or a lock that does not let it now.
func (d *DB) noteDamage(err *error) {
	var said *driver.Error
	if !errors.As(*err, &said) {
		return
	}
	switch said.Code() & 0xff {
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
		d.damage.CompareAndSwap(nil, errDamaged(d.path, said.Error()))
		*err = d.damage.Load()
	case lib.SQLITE_BUSY, lib.SQLITE_FULL, lib.SQLITE_IOERR, lib.SQLITE_READONLY, lib.SQLITE_CANTOPEN, lib.SQLITE_NOMEM:
		*err = &busyError{Err: *err}
	}
}

// Check reads the whole file and reports damage.
func (d *DB) Check(ctx context.Context) error {
	err := check(ctx, d.path, "quick_check(1)")
	if found := (*fault.Error)(nil); errors.As(err, &found) {
		d.damage.CompareAndSwap(nil, found)
	}
	return err
}

// Close waits for what has been handed in and closes the file.
func (d *DB) Close() error {
	if !d.Store.Close() {
		return nil
	}
	d.closing.Lock()
	defer d.closing.Unlock()
	d.closed = true
	return d.closeFiles()
}

func (d *DB) closeFiles() error {
	var errs []error
	for _, s := range d.stmts {
		errs = append(errs, s.Close())
	}
	if d.conn != nil {
		errs = append(errs, d.conn.Close())
	}
	if d.writes != nil {
		errs = append(errs, d.writes.Close())
	}
	if d.read != nil {
		errs = append(errs, d.read.Close())
	}
	return errors.Join(errs...)
}

// busyError is the error of a file that another process keeps locked, or of a disk
// that does not take the write now: it may go away.
type busyError struct{ Err error }

func (b *busyError) Error() string { return "sqlite: " + b.Err.Error() }

// Unwrap gives the driver's error.
func (b *busyError) Unwrap() error { return b.Err }

// Retryable reports true.
func (b *busyError) Retryable() bool { return true }
