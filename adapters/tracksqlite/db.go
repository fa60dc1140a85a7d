// Package tracksqlite keeps the tracks of package gpstracks in an SQLite file of their own: a
// gpstracks.Store, a gpstracks.RunStore and a tile.Source. See package trackstore.
//
// WAL with synchronous=FULL: a call that returns nil is on disk. The file may be opened by
// several processes of one machine. It must not lie on a network file system.
package tracksqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver

	"github.com/signalbox-dev/signalbox/internal/defaults"
	"github.com/signalbox-dev/signalbox/internal/trackstore"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Options of Tracks.
type Options struct {
	Path string       // of the file, whose directory is made; or Memory
	From string       // a file that held tracks beside other things: they are copied once; "" = none
	Log  *slog.Logger // nil discards
}

// Memory is the Path of a store that ends with the program, and is on no disk.
const Memory = ":memory:"

// Tracks is an open file of tracks. It is safe for concurrent use.
type Tracks struct{ *trackstore.Store }

// ErrClosed is the error of every call after Close.
var ErrClosed = trackstore.ErrClosed

// Open opens the file, making it if there is none. Blocks of another version's layout are
// built again from the tracks, which takes a while.
func Open(ctx context.Context, o Options) (*Tracks, error) {
	if o.Path == "" {
		return nil, errors.New("tracksqlite: Options.Path is missing")
	}
	defaults.Fill(&o)
	s, err := open(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("tracksqlite: %s: %w", o.Path, err)
	}
	return &Tracks{s}, nil
}

func open(ctx context.Context, o Options) (*trackstore.Store, error) {
	connections := 1 // each would have a memory of its own
	if o.Path != Memory {
		connections = 5 // one writes, the others read
		if err := create(o.Path); err != nil {
			return nil, err
		}
	}
	pragmas := []string{"journal_mode(WAL)", "journal_size_limit(67108864)", "synchronous(FULL)", "wal_autocheckpoint(4000)"}
	db, err := sql.Open("sqlite", dsn(o.Path, pragmas...)+"&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections) // one that is opened anew reads the schema
	return trackstore.Open(ctx, trackstore.Options{Dialect: dialect(), DB: db, Prepare: o.prepare, Log: o.Log})
}

// create makes a file and its directory. SQLite makes those beside it with the same mode.
func create(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return file.Close()
}

func dsn(path string, pragmas ...string) string {
	q := url.Values{"_pragma": append([]string{"busy_timeout(10000)", "foreign_keys(1)"}, pragmas...)}
	return (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}).String() + "?" + q.Encode()
}

// prepare brings the tables up to date, and carries tracks over.
func (o Options) prepare(ctx context.Context, conn *sql.Conn) error {
	err := trackstore.Within(ctx, conn, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `create table if not exists schema_migrations
			(name text primary key, applied_at text not null default current_timestamp) without rowid`)
		if err != nil {
			return err
		}
		return trackstore.Migrate(ctx, tx, migrations, "")
	})
	if err != nil {
		return err
	}
	if err := carryOver(ctx, conn, o); err != nil {
		return fmt.Errorf("tracks of %s: %w", o.From, err)
	}
	return nil
}
