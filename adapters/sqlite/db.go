// Package sqlite keeps the queue, the tasks and the tracks in one SQLite file: the
// embedded store of the service. One DB is a queue.Queue, queue.Keeper,
// queue.Lister, orchestrator.Store, Story, Dependencies and Ledger; its Tracks are
// a gpstracks.Store, a gpstracks.RunStore and a tile.Source.
//
// All writes go through one goroutine that commits what has gathered in one
// transaction (group commit) with WAL and synchronous=FULL: a call that returns
// nil is on disk. Readers have connections of their own beside it.
//
// The file may be opened by several processes of one machine. It must not lie
// on a network file system.
package sqlite

import (
	"context"
	"database/sql"
	_ "embed" // for schema.sql
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the driver

	"github.com/signalbox-dev/signalbox/internal/guard"
	"github.com/signalbox-dev/signalbox/internal/run"
)

//go:embed schema.sql
var schema string

// Options of a DB.
type Options struct {
	Path string           // of the file; its directory is made
	Now  func() time.Time // nil = time.Now
	Log  *slog.Logger     // nil discards
}

// DB is an open file. It is safe for concurrent use.
type DB struct {
	now    func() time.Time
	read   *sql.DB
	writes *sql.DB
	conn   *sql.Conn // the writer's own
	stmts  map[string]*sql.Stmt
	reqs   chan *request
	group  *run.Group
	log    *slog.Logger
	wakers wakers

	closing sync.RWMutex
	closed  bool
}

// ErrClosed is the error of every call after Close.
var ErrClosed = errors.New("sqlite: the store is closed")

// Open opens the file, making it if there is none.
func Open(ctx context.Context, o Options) (*DB, error) {
	if o.Path == "" {
		return nil, errors.New("sqlite: Options.Path is missing")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if err := os.MkdirAll(filepath.Dir(o.Path), 0o700); err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	d := &DB{now: o.Now, log: o.Log, stmts: map[string]*sql.Stmt{}, reqs: make(chan *request, 1024), wakers: wakers{byPool: map[string]chan struct{}{}}}
	if err := d.open(ctx, o.Path); err != nil {
		return nil, errors.Join(fmt.Errorf("sqlite: %s: %w", o.Path, err), d.closeFiles())
	}
	d.group = run.New(context.WithoutCancel(ctx), o.Log)
	d.group.Go("sqlite writer", d.writer)
	return d, nil
}

func dsn(path string, extra ...string) string {
	q := url.Values{"_pragma": append([]string{"busy_timeout(10000)", "foreign_keys(1)"}, extra...)}
	return (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}).String() + "?" + q.Encode()
}

func (d *DB) open(ctx context.Context, path string) (err error) {
	if d.writes, err = sql.Open("sqlite", dsn(path, "journal_mode(WAL)", "synchronous(FULL)", "wal_autocheckpoint(4000)")); err != nil {
		return err
	}
	d.writes.SetMaxOpenConns(1)
	if d.conn, err = d.writes.Conn(ctx); err != nil {
		return err
	}
	if _, err = d.conn.ExecContext(ctx, "begin immediate;\n"+schema); err != nil {
		return err
	}
	if err = d.migrate(ctx); err != nil {
		return err
	}
	if _, err = d.conn.ExecContext(ctx, "commit"); err != nil {
		return err
	}
	if d.read, err = sql.Open("sqlite", dsn(path, "query_only(1)")); err != nil {
		return err
	}
	d.read.SetMaxOpenConns(4)
	return d.read.PingContext(ctx)
}

// Ping reports whether the store takes writes.
func (d *DB) Ping(ctx context.Context) error {
	return d.write(ctx, func(t *tx) error {
		return t.exec("insert into counters (name, value) values ('ping', 1) on conflict (name) do update set value = value + 1")
	})
}

// Close waits for what has been handed in and closes the file.
func (d *DB) Close() error {
	d.closing.Lock()
	if d.closed {
		d.closing.Unlock()
		return nil
	}
	d.closed = true
	close(d.reqs)
	d.closing.Unlock()
	d.group.Wait()
	d.group.Stop()
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

// request is one caller's share of a transaction.
type request struct {
	ctx  context.Context
	do   func(*tx) error
	err  error
	pool map[string]bool // that may have become claimable
	done chan struct{}
}

// write runs f in a transaction and returns when it is on disk. f sees what
// earlier requests of the same transaction did; its error undoes only its own.
func (d *DB) write(ctx context.Context, f func(*tx) error) error {
	r := &request{ctx: ctx, do: f, done: make(chan struct{})}
	d.closing.RLock()
	if d.closed {
		d.closing.RUnlock()
		return ErrClosed
	}
	select {
	case d.reqs <- r:
	case <-ctx.Done():
		d.closing.RUnlock()
		return ctx.Err()
	}
	d.closing.RUnlock()
	<-r.done
	return r.err
}

// batchMax bounds how many requests share a commit.
const batchMax = 512

func (d *DB) writer(context.Context) {
	for first := range d.reqs {
		batch := []*request{first}
		for len(batch) < batchMax {
			select {
			case r, ok := <-d.reqs:
				if ok {
					batch = append(batch, r)
					continue
				}
			default:
			}
			break
		}
		d.commit(batch)
	}
}

// commit runs a batch in one transaction and tells every caller.
func (d *DB) commit(batch []*request) {
	// A caller that gives up must not undo the others' work: the transaction
	// has no deadline but that of a busy file.
	ctx := context.Background()
	err := d.transaction(ctx, batch)
	for _, r := range batch {
		if r.err == nil {
			r.err = err
		}
		if r.err == nil {
			for pool := range r.pool {
				d.wakers.hint(pool)
			}
		}
		close(r.done)
	}
}

func (d *DB) transaction(ctx context.Context, batch []*request) error {
	if _, err := d.conn.ExecContext(ctx, "begin immediate"); err != nil {
		return busy(err)
	}
	for _, r := range batch {
		if r.err = r.ctx.Err(); r.err == nil {
			r.err = d.savepoint(ctx, r)
		}
	}
	if _, err := d.conn.ExecContext(ctx, "commit"); err != nil {
		_, undo := d.conn.ExecContext(ctx, "rollback")
		return errors.Join(busy(err), undo)
	}
	return nil
}

func (d *DB) savepoint(ctx context.Context, r *request) error {
	if _, err := d.conn.ExecContext(ctx, "savepoint one"); err != nil {
		return err
	}
	t := &tx{ctx: ctx, db: d, now: d.now(), wake: map[string]bool{}}
	err := error(nil)
	if panicked := guard.Do("sqlite transaction", func() { err = r.do(t) }); panicked != nil {
		err = panicked
	}
	if err != nil {
		if _, undo := d.conn.ExecContext(ctx, "rollback to one"); undo != nil {
			err = errors.Join(err, undo)
		}
	}
	r.pool = t.wake
	_, release := d.conn.ExecContext(ctx, "release one")
	return errors.Join(err, release)
}

// Busy is the error of a file that another process keeps locked, or of a disk
// that does not take the write now: it may go away.
type Busy struct{ Err error }

func (b *Busy) Error() string { return "sqlite: " + b.Err.Error() }

// Unwrap gives the driver's error.
func (b *Busy) Unwrap() error { return b.Err }

// Retryable reports true.
func (b *Busy) Retryable() bool { return true }

func busy(err error) error { return &Busy{Err: err} }

// wakers are the hints that a pool may have become claimable.
type wakers struct {
	mu     sync.Mutex
	byPool map[string]chan struct{}
}

func (w *wakers) channel(pool string) chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byPool[pool] == nil {
		w.byPool[pool] = make(chan struct{}, 1)
	}
	return w.byPool[pool]
}

func (w *wakers) hint(pool string) {
	select {
	case w.channel(pool) <- struct{}{}:
	default:
	}
}
