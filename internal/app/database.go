package app

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/signalbox-dev/signalbox/adapters/board"
	"github.com/signalbox-dev/signalbox/adapters/filelease"
	"github.com/signalbox-dev/signalbox/adapters/postgres"
	"github.com/signalbox-dev/signalbox/adapters/sqlite"
	"github.com/signalbox-dev/signalbox/adapters/trackpostgres"
	"github.com/signalbox-dev/signalbox/adapters/tracksqlite"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
	"github.com/signalbox-dev/signalbox/orchestrator/service"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
	"github.com/signalbox-dev/signalbox/queue"
)

// Database is the store of the service: tasks, their story and the queue, which
// share transactions. adapters/sqlite and adapters/postgres have one.
type Database interface {
	service.Store
	Kept
	Opened
}

// Kept adds to the pipeline's work those who may come in, and the chain of the journal.
type Kept interface {
	access.Store
	task.Chain
}

// Opened is a store that is open.
type Opened interface {
	// Ping reports whether the store takes writes.
	Ping(ctx context.Context) error
	// Close waits for what has been handed in.
	Close() error
}

// DatabaseSettings say where tasks are kept.
type DatabaseSettings struct {
	DatabaseURL    secret.String `env:"DATABASE_URL" doc:"postgres://… = PostgreSQL, for replicas too; unset: SQLite in the data directory"`
	DatabaseSchema string        `env:"DATABASE_SCHEMA" envDefault:"signalbox" doc:"of the tables in PostgreSQL"`

	MaxConcurrencyTotal int `env:"MAX_CONCURRENCY_TOTAL" envDefault:"0" doc:"agents at a time of all servers on a PostgreSQL; 0: no bound"`
}

// openDatabase opens the store that the settings name, and the leases that go
// with it: files for the one process of an SQLite file, rows for the replicas
// that share a PostgreSQL.
func (v *Service) openDatabase(ctx context.Context) error {
	s := v.Settings
	if s.Shared() {
		o := postgres.Options{URL: s.DatabaseURL.Reveal(), Schema: s.DatabaseSchema, Log: v.Log}
		if s.MaxConcurrencyTotal > 0 {
			o.Bounds = map[string]int{queue.PoolAgents: s.MaxConcurrencyTotal}
		}
		db, err := postgres.Open(ctx, o)
		if err != nil {
			return fmt.Errorf("%sDATABASE_URL: %w", Prefix, err)
		}
		v.DB, v.Leases = db, db.Leases()
		return nil
	}
	files, err := filelease.New(filepath.Join(s.DataDir, "leases"), nil)
	if err != nil {
		return fmt.Errorf("%sDATA_DIR: %w", Prefix, err)
	}
	db, err := sqlite.Open(ctx, sqlite.Options{Path: s.file(), Log: v.Log})
	if err != nil {
		return err
	}
	v.DB, v.Leases = db, files
	return nil
}

// checkFile reads the whole of a database that is a file, and reports damage.
func (v *Service) checkFile(ctx context.Context) error {
	if file, is := v.DB.(interface {
		Check(ctx context.Context) error
	}); is {
		return file.Check(ctx)
	}
	return nil
}

// Occupy takes the data directory for one server, until the file is closed or this process is no
// more, however it ends. A refusal names who has it. Servers that share a PostgreSQL take none.
func (s Settings) Occupy() (io.Closer, error) {
	if s.Shared() {
		return io.NopCloser(nil), nil
	}
	f, err := os.OpenFile(filepath.Join(s.DataDir, "server.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		who, _ := io.ReadAll(io.LimitReader(f, 1000)) // nothing yet, when it has just begun
		return nil, errors.Join(fmt.Errorf("%sDATA_DIR: a server works in %s already (%s): stop it first, or name another directory",
			Prefix, s.DataDir, cmp.Or(strings.TrimSpace(string(who)), "it has just begun")), f.Close())
	}
	host, _ := os.Hostname() // only told
	err = f.Truncate(0)
	if err == nil {
		_, err = fmt.Fprintf(f, "process %d on %s, since %s, at http://%s\n",
			os.Getpid(), host, time.Now().UTC().Format(time.RFC3339), s.Listen)
	}
	return held{f}, err
}

// held is a file with a lock, which a child that is being started may have open for a moment too.
type held struct{ *os.File }

// Close gives the lock back.
func (h held) Close() error {
	return errors.Join(unix.Flock(int(h.Fd()), unix.LOCK_UN), h.File.Close())
}

// Shared reports whether replicas can share the database.
func (s Settings) Shared() bool { return s.DatabaseURL.IsSet() }

// file is the path of the SQLite file.
func (s Settings) file() string { return filepath.Join(s.DataDir, "signalbox.db") }

// Database names the database for people, without user and password.
func (s Settings) Database() string {
	if !s.Shared() {
		return "SQLite, " + s.file()
	}
	u, err := url.Parse(s.DatabaseURL.Reveal())
	if err != nil {
		return "PostgreSQL"
	}
	host := cmp.Or(u.Host, u.Query().Get("host"))
	return fmt.Sprintf("PostgreSQL, database %s at %s, schema %s", strings.TrimPrefix(u.Path, "/"), host, s.DatabaseSchema)
}

// checkDatabase judges the URL without repeating it: it may hold a password.
func (s Settings) checkDatabase() error {
	if !s.Shared() {
		return nil
	}
	u, err := url.Parse(s.DatabaseURL.Reveal())
	if err != nil {
		return errors.New("cannot be read as an address: " +
			"write it as postgres://user@host/name, with special characters of the password escaped")
	}
	if u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return fmt.Errorf("begins with %q, want postgres://user@host/name, or nothing for an SQLite file in the data directory", u.Scheme)
	}
	return nil
}

// ConfirmSource refuses to copy from what the settings do not name: from is sqlite, or the path of the file
// or of its directory.
func (s Settings) ConfirmSource(from string) error {
	named := "--from " + from + ": the settings name " + s.Database()
	there, err := os.Stat(from)
	file, none := os.Stat(s.file())
	dir, _ := os.Stat(s.DataDir) // without it there is no file either
	switch {
	case s.Shared():
		return fmt.Errorf("%s: unset %sDATABASE_URL, so that the SQLite file is what is copied", named, Prefix)
	case from == "sqlite":
		return nil
	case strings.HasPrefix(from, "postgres"):
		return fmt.Errorf("%s: a copy goes from SQLite to PostgreSQL, and not back", named)
	case err != nil:
		return fmt.Errorf("%s, and that is neither sqlite nor a file: %w", named, err)
	case none == nil && (os.SameFile(there, file) || os.SameFile(there, dir)):
		return nil
	case there.IsDir():
		return fmt.Errorf("%s: set %sDATA_DIR=%s to copy from there", named, Prefix, from)
	}
	return fmt.Errorf("%s: set %sDATA_DIR to the directory of the signalbox.db that is to be copied", named, Prefix)
}

// CopyTo fills an empty PostgreSQL, in the schema of the settings, with what the SQLite file keeps, and with what keeps
// tracks away: all of it or nothing. No server may run on either. It returns the rows of each table; the journal's
// chain is the same and whole in both.
func (s Settings) CopyTo(ctx context.Context, address string) (counts map[string]int64, err error) {
	if s.Shared() {
		return nil, fmt.Errorf("%sDATABASE_URL is set: unset it, so that the SQLite file is what is copied", Prefix)
	}
	if err := s.NeedsDatabase(); err != nil {
		return nil, err
	}
	held, err := s.Occupy()
	if err == nil {
		defer held.Close()
		err = errors.Join(sqlite.Unused(ctx, s.file()), postgres.Unused(ctx, address, s.DatabaseSchema))
	}
	if err != nil {
		return nil, err
	}
	from, err := sqlite.Open(ctx, sqlite.Options{Path: s.file()})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	before, err := task.Verify(ctx, from)
	if err == nil && len(before.Broken) > 0 {
		err = fmt.Errorf("the journal in %s is not as it was written: %s", s.file(), strings.Join(before.Broken, "; "))
	}
	if err != nil {
		return nil, err
	}
	db, err := postgres.Open(ctx, postgres.Options{URL: address, Schema: s.DatabaseSchema})
	if err != nil {
		return nil, fmt.Errorf("--to: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	cards, err := board.Open(ctx, board.Options{URL: address, Schema: s.DatabaseSchema}) // makes its tables
	if err == nil {
		err = cards.Close()
	}
	layer, failed := trackpostgres.Open(ctx, trackpostgres.Options{URL: address, Schema: s.DatabaseSchema}) // so does this
	if failed == nil {
		failed = layer.Close()
	}
	if err = errors.Join(err, failed); err != nil {
		return nil, err
	}
	tracks, err := tracksqlite.Open(ctx, tracksqlite.Options{Path: filepath.Join(s.DataDir, "tracks.db"), From: s.file()})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, tracks.Close()) }()
	private := map[string]*sql.DB{"track_zones": tracks.DB, "track_removals": tracks.DB} // tracks that come anew are kept away by them
	return db.Fill(ctx, from.Reader(), private, func(c task.Chain) error {
		after, err := task.Verify(ctx, c)
		if err == nil && !reflect.DeepEqual(after, before) {
			err = fmt.Errorf("the journal is another one there: %s", strings.Join(after.Broken, "; "))
		}
		return err
	}, "board_revision")
}
