package benchengine

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/postgres"
	"github.com/signalbox-dev/signalbox/adapters/sqlite"
	"github.com/signalbox-dev/signalbox/internal/app"
	"github.com/signalbox-dev/signalbox/internal/pgtest"
	"github.com/signalbox-dev/signalbox/internal/run"
)

// Stores that can be measured.
const (
	storeSQLite   = "sqlite"
	storePostgres = "postgres"
)

// database is where stores are opened, one after the other, over the same rows.
type database struct {
	counts *counts
	log    *slog.Logger
	file   string         // of SQLite, and the name of its driver
	server *pgtest.Server // of PostgreSQL, our own
}

// newDatabase makes an empty one, as safe as in production.
func newDatabase(t testing.TB, name string, log *slog.Logger) *database {
	d := &database{counts: &counts{}, log: log}
	if name == storePostgres {
		d.server = pgtest.Start(t, pgtest.Options{Durable: true})
		return d
	}
	d.file = filepath.Join(t.TempDir(), "signalbox.db")
	require.NoError(t, registerCounted(d.file, d.counts))
	return d
}

// open opens a store; end closes it.
func (d *database) open(ctx context.Context) (s app.Database, end func(), err error) {
	if d.server == nil {
		db, err := sqlite.Open(ctx, sqlite.Options{Path: d.file, Log: d.log, Driver: d.file})
		if err != nil {
			return nil, nil, err
		}
		return db, func() { _ = db.Close() }, nil
	}
	config, err := pgxpool.ParseConfig(d.server.URL("postgres"))
	if err != nil {
		return nil, nil, err
	}
	config.ConnConfig.Tracer = tracer{d.counts}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, nil, err
	}
	db, err := postgres.Open(ctx, postgres.Options{Pool: pool, Log: d.log})
	if err != nil {
		pool.Close()
		return nil, nil, err
	}
	return db, func() { _ = db.Close(); pool.Close() }, nil
}

// spending counts what has been used so far.
type spending struct {
	program, server time.Duration // of a processor
	statements      int64
}

func (s spending) minus(t spending) spending {
	return spending{s.program - t.program, s.server - t.server, s.statements - t.statements}
}

// spent reads what has been used so far.
func (d *database) spent() (s spending, err error) {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		return s, err
	}
	s = spending{program: time.Duration(use.Utime.Nano() + use.Stime.Nano()), statements: d.counts.statements.Load()}
	if d.server != nil {
		s.server, err = d.server.Spent()
	}
	return s, err
}

// othersQuery counts the connections that are not ours, and readQuery is how many rows of
// tables and entries of indexes have been read, as connections report when they end.
const (
	othersQuery = "select count(*) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()"
	readQuery   = `select (select coalesce(sum(seq_tup_read), 0) from pg_stat_user_tables)::bigint +
		(select coalesce(sum(idx_tup_read), 0) from pg_stat_user_indexes)::bigint`
)

// rows is how many rows have been read so far: those that SQLite has handed to the
// program, or those that PostgreSQL has looked at. No store is open meanwhile.
func (d *database) rows(ctx context.Context) (n int64, err error) {
	if d.server == nil {
		return d.counts.rows.Load(), nil
	}
	conn, err := pgx.Connect(ctx, d.server.URL("postgres"))
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close(ctx) }() // nothing is lost with it
	for left := 1; left > 0; {
		if err := conn.QueryRow(ctx, othersQuery).Scan(&left); err != nil {
			return 0, err
		}
		if left > 0 {
			if err := run.Sleep(ctx, run.Real{}, 20*time.Millisecond); err != nil {
				return 0, err
			}
		}
	}
	return n, conn.QueryRow(ctx, readQuery).Scan(&n)
}

// filled gathers statistics of what a store was filled with, as a server of PostgreSQL
// does by itself within a minute.
func (d *database) filled(ctx context.Context) error {
	if d.server == nil {
		return nil
	}
	conn, err := pgx.Connect(ctx, d.server.URL("postgres"))
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "analyze")
	return errors.Join(err, conn.Close(ctx))
}
