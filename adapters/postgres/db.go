// Package postgres keeps the queue and the tasks in PostgreSQL: the store for
// more than one machine. One DB is a queue.Queue, queue.Admin, queue.Inspector,
// task.Store, Records, Dependencies and CostStore; its Leases are a lease.Locker.
//
// The engine is internal/sqlstore; here is what is PostgreSQL's own. A group of requests is
// one transaction of a few messages, whatever their number: statements are sets, and those
// that do not wait for each other's rows travel together. Writers of several processes take
// turns: each transaction locks one row first. That makes the order of keys and the effect
// of holds as plain as in a single process, and bounds a cluster to one commit at a time.
//
// A call that returns nil is committed. When the answer to a commit is lost, the
// store looks: every transaction leaves its number behind. What may go away by
// itself (a restart, a failover, a deadlock) is tried again inside for
// Options.Patience and then returned as *Unavailable.
//
// NOTIFY hints other processes at new work. It is a hint: polling is the truth.
//
// Times are those of the machine that writes. Machines that share a database
// must agree on the time to well within the times to live of their claims and
// leases; where they do not, work is handed over too soon or too late, but an
// attempt number and an epoch still let only one of two end it.
package postgres

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/signalbox-dev/signalbox/internal/defaults"
	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/internal/sqlstore"
)

// Options of a DB.
type Options struct {
	// URL of the database, as libpq understands it: several hosts are tried in
	// turn, so name all of a cluster, with target_session_attrs=read-write.
	URL string
	// Pool, in place of URL, is a pool of the host program. Reads borrow from
	// it; the writer and the listener open two connections of their own with its
	// settings. Close leaves it open.
	Pool *pgxpool.Pool
	// Schema holds the tables and is made when it is missing.
	Schema string           `envDefault:"signalbox"`
	Now    func() time.Time // nil = time.Now
	Log    *slog.Logger     // nil discards
	// Patience is how long a call waits for a server that is away. A
	// transaction that is under way by then may take up to 30 s more.
	Patience time.Duration `envDefault:"15s"`
	// Bounds say how many jobs of a pool may be at work in all stores of the
	// schema together; pools that are not named have no bound. Stores that share
	// a schema should name the same ones: each keeps to its own.
	Bounds map[string]int
	// AllowUnsafe opens a server that may forget what it has committed (fsync,
	// full_page_writes or synchronous_commit off): for tests.
	AllowUnsafe bool
}

// DB is an open store. It is safe for concurrent use.
type DB struct {
	*sqlstore.Store

	now      func() time.Time
	log      *slog.Logger
	schema   string
	prefix   string // what "~" in a statement stands for
	patience time.Duration
	me       string // this store's name among the writers: a UUID

	pool    *pgxpool.Pool
	ownPool bool
	config  *pgx.ConnConfig // of the writer and the listener

	writer writer
	group  *run.Group // ends with Close
	notes  notes
	closed atomic.Bool
}

// ErrClosed is the error of every call after Close.
var ErrClosed = sqlstore.ErrClosed

// Leases is a lease.Locker whose leases lie in the database: it is safe between
// machines.
type Leases = sqlstore.Leases

const (
	lastJob   = "select greatest(ids, (select max(id) from ~jobs)) from ~turn" // ids: of jobs that were pruned before step 9
	newTaskID = "select nextval('~task_ids')"
)

var schemaForm = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,62}$`)

// Open connects, brings the tables up to date and starts the writer. Several processes may open one database at the same time.
func Open(ctx context.Context, o Options) (*DB, error) {
	d, err := configure(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := d.retry(ctx, func(ctx context.Context) error { return d.prepare(ctx, o.AllowUnsafe) }); err != nil {
		d.closePool()
		return nil, err
	}
	d.Store = sqlstore.New(ctx, sqlstore.Options{
		Driver: dialect{d}, Now: d.now, Log: d.log, Bounds: o.Bounds, Committed: d.notes.add,
		LastJob: lastJob, NewTaskID: newTaskID,
	})
	d.group = run.New(context.WithoutCancel(ctx), d.log)
	d.group.Go("postgres listener", d.listen)
	d.group.Go("postgres notifier", d.notify)
	d.group.Go("postgres inbox", d.moving)
	return d, nil
}

func configure(ctx context.Context, o Options) (*DB, error) {
	defaults.Fill(&o)
	switch {
	case o.URL == "" && o.Pool == nil:
		return nil, errors.New("postgres: Options.URL is missing: name the database, as postgres://user@host/name")
	case o.URL != "" && o.Pool != nil:
		return nil, errors.New("postgres: Options.URL and Options.Pool are both set: give one of them")
	case len(o.Bounds) > 0 && slices.Min(slices.Collect(maps.Values(o.Bounds))) < 1:
		return nil, fmt.Errorf("postgres: Options.Bounds is %v: a bound is at least 1; leave a pool out that has none", o.Bounds)
	case !schemaForm.MatchString(o.Schema):
		return nil, fmt.Errorf("postgres: Options.Schema is %q: use lower case letters, digits and _, at most 63", o.Schema)
	}
	d := &DB{
		now: o.Now, log: o.Log, schema: o.Schema, prefix: pgx.Identifier{o.Schema}.Sanitize() + ".", patience: o.Patience,
		pool: o.Pool, notes: notes{pools: map[string]bool{}, ready: make(chan struct{}, 1)},
	}
	id := make([]byte, 16)
	_, _ = rand.Read(id) // never fails
	d.me = hex.EncodeToString(id)
	return d, d.connectPool(ctx, o.URL)
}

func (d *DB) connectPool(ctx context.Context, url string) (err error) {
	if d.pool == nil {
		config, err := pgxpool.ParseConfig(url)
		if err != nil {
			// Err may hold the password.
			return errors.New("postgres: Options.URL is not a database URL: write it as postgres://user@host/name")
		}
		if d.pool, err = pgxpool.NewWithConfig(context.WithoutCancel(ctx), config); err != nil {
			return fmt.Errorf("postgres: %w", err)
		}
		d.ownPool = true
	}
	d.config = d.pool.Config().ConnConfig
	d.config.RuntimeParams["application_name"] = sessionName(d.schema)
	return nil
}

// sessionName returns the name of a schema's two connections of a store's own: the server shows it, and cuts longer names.
func sessionName(schema string) string {
	name := "signalbox " + schema
	return name[:min(len(name), 63)]
}

// ErrInUse means that a program has a store of the schema open.
var ErrInUse = errors.New("a program has the schema open: stop every server first")

// once connects for what f does.
func once(ctx context.Context, url string, f func(*pgx.Conn) error) error {
	c, err := pgx.Connect(ctx, url)
	if err == nil {
		err = errors.Join(f(c), c.Close(ctx))
	}
	if err != nil {
		return fmt.Errorf("postgres: %w", err)
	}
	return nil
}

// Unused reports, as ErrInUse, that a program has a store of the schema open.
func Unused(ctx context.Context, url, schema string) error {
	const inUse = "select count(*) from pg_stat_activity where datname = current_database() and application_name = $1"
	return once(ctx, url, func(c *pgx.Conn) error {
		n := 0
		for range 20 { // the server shows a session for a moment after its end
			if err := c.QueryRow(ctx, inUse, sessionName(schema)).Scan(&n); err != nil || n == 0 {
				return err
			}
			_, _ = c.Exec(ctx, "select pg_sleep(0.1)") // the next look says what is wrong
		}
		return ErrInUse
	})
}

// RenameSchema gives a schema another name, with all that is in it. It reports whether there
// was one.
func RenameSchema(ctx context.Context, url, from, to string) (was bool, err error) {
	return was, once(ctx, url, func(c *pgx.Conn) error {
		err := c.QueryRow(ctx, "select exists (select 1 from pg_namespace where nspname = $1)", from).Scan(&was)
		if err == nil && was {
			_, err = c.Exec(ctx, "alter schema "+pgx.Identifier{from}.Sanitize()+" rename to "+pgx.Identifier{to}.Sanitize())
		}
		return err
	})
}

// q completes a statement with the schema.
func (d *DB) q(query string) string { return strings.ReplaceAll(query, "~", d.prefix) }

// Ping reports whether the store takes writes.
func (d *DB) Ping(ctx context.Context) error {
	return d.Alone(ctx, func(t *sqlstore.Tx) error { return t.Flush() })
}

// Close waits for what has been handed in and closes the connections.
func (d *DB) Close() error {
	if d.closed.Swap(true) {
		return nil
	}
	d.Store.Close()
	d.disconnect()
	d.group.Stop()
	d.closePool()
	return nil
}

func (d *DB) closePool() {
	if d.ownPool {
		d.pool.Close()
	}
}
