package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// ErrInUse means that another process has the file open.
var ErrInUse = errors.New("sqlite: another process has the file open: stop every server first")

// Backup copies the SQLite file from, as one moment has it, to the new file to. Programs may
// write meanwhile. What appears under the name to is whole, checked and on the disk; a file that
// is there already is left alone, which is an error of fs.ErrExist.
func Backup(ctx context.Context, from, to string) (err error) {
	dir, err := os.MkdirTemp(filepath.Dir(to), filepath.Base(to)+".new-")
	if err != nil {
		return fmt.Errorf("sqlite: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	fresh := filepath.Join(dir, "db")
	err = briefly(dsn(from)+"&mode=ro", func(db *sql.DB) error {
		_, err := db.ExecContext(ctx, "vacuum into ?", fresh)
		return err
	})
	if err != nil {
		return fmt.Errorf("sqlite: %s cannot be copied: %w", from, err)
	}
	err = errors.Join(
		check(ctx, fresh, "integrity_check(1)"), os.Chmod(fresh, 0o600), flush(fresh), os.Link(fresh, to), flush(filepath.Dir(to)),
	)
	if err != nil {
		return fmt.Errorf("sqlite: %w", err)
	}
	return nil
}

// briefly opens a file for what f does with it.
func briefly(dsn string, f func(*sql.DB) error) error {
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return err
	}
	return errors.Join(f(db), db.Close())
}

// check reads the whole file, as a pragma does: what it has found is retryable.
func check(ctx context.Context, path, pragma string) error {
	return briefly(dsn(path)+"&mode=ro", func(db *sql.DB) error {
		var found string
		err := db.QueryRowContext(ctx, "pragma "+pragma).Scan(&found)
		if err == nil && found != "ok" {
			err = errDamaged(path, strings.ReplaceAll(found, "\n", " "))
		}
		return err
	})
}

// flush puts a file, or the names in a directory, on the disk.
func flush(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Unused reports, as ErrInUse, that another process has the file open. One that is not there or is no database has other errors.
func Unused(ctx context.Context, path string) error {
	return briefly(dsn(path, "locking_mode(EXCLUSIVE)")+"&mode=rw", func(db *sql.DB) error {
		db.SetMaxOpenConns(1)
		_, err := db.ExecContext(ctx, "pragma busy_timeout = 100; begin exclusive; rollback")
		if said := (*driver.Error)(nil); errors.As(err, &said) && said.Code()&0xff == lib.SQLITE_BUSY {
			err = fmt.Errorf("%w: %s: %w", ErrInUse, path, err)
		}
		return err
	})
}

// Readable refuses a file whose tables this program cannot read, as Open does, and leaves it as it is.
func Readable(ctx context.Context, path string) error {
	version, err := layoutOf(ctx, path)
	if err == nil && version == 0 {
		err = errors.New("the file has no tables")
	}
	if err != nil {
		return fmt.Errorf("sqlite: %s: %w", path, err)
	}
	return nil
}

func layoutOf(ctx context.Context, path string) (version int, err error) {
	err = briefly(dsn(path)+"&mode=ro", func(db *sql.DB) error {
		version, err = layout(ctx, db)
		return err
	})
	return version, err
}
