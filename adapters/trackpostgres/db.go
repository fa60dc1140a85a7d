// Package trackpostgres keeps the tracks of package gpstracks in PostgreSQL: a gpstracks.Store,
// a gpstracks.RunStore and a tile.Source, on connections of its own. See package trackstore.
//
// A call that returns nil is committed. When the answer to a commit is lost, the store
// looks: every transaction leaves its number behind. What may go away by itself (a
// restart, a failover, a deadlock) is tried again inside for Options.Patience and then
// returned as an error that is retryable (package fault).
package trackpostgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"embed"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/signalbox-dev/signalbox/internal/defaults"
	"github.com/signalbox-dev/signalbox/internal/trackstore"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Options of Tracks.
type Options struct {
	// URL of the database, as libpq understands it: several hosts are tried in
	// turn, so name all of a cluster, with target_session_attrs=read-write.
	URL string
	// Schema holds the tables and is made when it is missing; "" = "signalbox".
	Schema string       `envDefault:"signalbox"`
	Log    *slog.Logger // nil discards
	// Patience bounds the wait of a call for a server that is away; 0 = 15 s.
	Patience time.Duration `envDefault:"15s"`
	// AllowUnsafe opens a server that may forget what it has committed (fsync,
	// full_page_writes or synchronous_commit off): for tests.
	AllowUnsafe bool
}

// Tracks is an open store of tracks. It is safe for concurrent use.
type Tracks struct {
	*trackstore.Store

	db     *sql.DB
	schema string
}

var schemaForm = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,62}$`)

// Open connects and brings the tables up to date. Several processes may open one database at
// the same time. Blocks of another version's layout are built again from the tracks, which
// takes a while.
func Open(ctx context.Context, o Options) (*Tracks, error) {
	defaults.Fill(&o)
	switch {
	case o.URL == "":
		return nil, errors.New("trackpostgres: Options.URL is missing: name the database, as postgres://user@host/name")
	case !schemaForm.MatchString(o.Schema):
		return nil, fmt.Errorf("trackpostgres: Options.Schema is %q: use lower case letters, digits and _, at most 63", o.Schema)
	}
	config, err := pgx.ParseConfig(o.URL)
	if err != nil {
		// err may hold the password
		return nil, errors.New("trackpostgres: Options.URL is not a database URL: write it as postgres://user@host/name")
	}
	// Statements are planned for the values that they are given and the tables as they are: a
	// plan that was made when a table was empty reads all of it when it is full.
	config.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	db := stdlib.OpenDB(*config, stdlib.OptionAfterConnect(settings))
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	store, err := trackstore.Open(ctx, trackstore.Options{Dialect: dialect(o.Schema), DB: db, Prepare: o.prepare, Patience: o.Patience,
		Log: o.Log})
	if err != nil {
		return nil, fmt.Errorf("trackpostgres: %w", err)
	}
	return &Tracks{store, db, o.Schema}, nil
}

// connections bounds those that are open.
const connections = 8

// settings bound what a process that is paused, or cut off, can do to the others, and have
// statements use indexes although tables look small, and row by row: a bitmap is made whole before a
// limit counts. Where there is none, that looks costly, and must not start the compiler.
func settings(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, "select set_config('idle_in_transaction_session_timeout', '60s', false), set_config('enable_seqscan', "+
		"'off', false), set_config('enable_bitmapscan', 'off', false), set_config('jit', 'off', false)")
	return err
}

// prepare judges the server and brings the tables up to date. The lock keeps processes that
// start together from doing so twice.
func (o Options) prepare(ctx context.Context, conn *sql.Conn) error {
	for _, name := range []string{"fsync", "full_page_writes", "synchronous_commit"} {
		var value string
		if err := conn.QueryRowContext(ctx, "select current_setting($1)", name).Scan(&value); err != nil {
			return err
		}
		if value == "off" && !o.AllowUnsafe {
			return fmt.Errorf("the server runs with %s=off and may forget what it has committed: switch it on, or set "+
				"Options.AllowUnsafe for a test", name)
		}
	}
	prefix := pgx.Identifier{o.Schema}.Sanitize()
	return trackstore.Within(ctx, conn, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "select pg_advisory_xact_lock(hashtextextended($1, 0))",
			"signalbox track migrations of "+o.Schema); err != nil {
			return err
		}
		var there bool // a role that may not make schemas can be given one
		if err := tx.QueryRowContext(ctx, "select exists (select 1 from pg_namespace where nspname = $1)",
			o.Schema).Scan(&there); err != nil {
			return err
		}
		before := []string{"create schema if not exists " + prefix, "create table if not exists " + prefix +
			".schema_migrations (name text primary key, applied_at timestamptz not null default now())"}
		if there {
			before = before[1:]
		}
		for _, query := range before {
			if _, err := tx.ExecContext(ctx, query); err != nil {
				return err
			}
		}
		if err := trackstore.Migrate(ctx, tx, migrations, prefix+".", pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "delete from "+prefix+".track_writers where at < now() - interval '30 days'")
		return err
	})
}

// Alone makes the caller the only collector of the schema, in any process, until it calls
// unlock or its connection ends: runs that are taken up would get in each other's way. Another
// one at work is an error.
func (s *Tracks) Alone(ctx context.Context) (unlock func() error, err error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	name, taken := "signalbox collector of "+s.schema, false
	if err := conn.QueryRowContext(ctx, "select pg_try_advisory_lock(hashtextextended($1, 0))", name).Scan(&taken); err != nil || !taken {
		if err == nil {
			err = fmt.Errorf("trackpostgres: another collector is at work in schema %s: wait until it has ended", s.schema)
		}
		return nil, errors.Join(err, conn.Close())
	}
	return func() error {
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		// the lock ends with its connection
		if _, err := conn.ExecContext(late, "select pg_advisory_unlock(hashtextextended($1, 0))", name); err != nil {
			_ = conn.Raw(func(any) error { return driver.ErrBadConn })
		}
		return conn.Close()
	}, nil
}
