package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// ErrInUse means that another process has the file open.
var ErrInUse = errors.New("sqlite: another process has the file open")

// Backup copies the SQLite file from, as one moment has it, to the new file to. Programs may
// write meanwhile. What appears under the name to is whole, checked and on the disk; a file that
// is there already is left alone, which is an error of fs.ErrExist.
func Backup(ctx context.Context, from, to string) (err error) {
	if _, err := os.Stat(from); err != nil {
		return fmt.Errorf("sqlite: %w", err)
	}
	dir, err := os.MkdirTemp(filepath.Dir(to), filepath.Base(to)+".new-")
	if err != nil {
		return fmt.Errorf("sqlite: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	fresh := filepath.Join(dir, "db")
	db, err := sql.Open("sqlite", dsn(from)+"&mode=ro")
	if err != nil {
		return fmt.Errorf("sqlite: %w", err)
	}
	_, err = db.ExecContext(ctx, "vacuum into ?", fresh)
	if err = errors.Join(err, db.Close()); err != nil {
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

// check reads the whole file, as a pragma does: what it has found is retryable.
func check(ctx context.Context, path, pragma string) error {
	db, err := sql.Open("sqlite", dsn(path)+"&mode=ro")
	if err != nil {
		return err
	}
	var found string
	err = db.QueryRowContext(ctx, "pragma "+pragma).Scan(&found)
	if err == nil && found != "ok" {
		err = errDamaged(path, strings.ReplaceAll(found, "\n", " "))
	}
	return errors.Join(err, db.Close())
}

// flush puts a file, or the names in a directory, on the disk.
func flush(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Unused reports, as ErrInUse, that another process has the file open.
func Unused(ctx context.Context, path string) error {
	db, err := sql.Open("sqlite", dsn(path, "locking_mode(EXCLUSIVE)")+"&_txlock=exclusive")
	if err != nil {
		return fmt.Errorf("sqlite: %w", err)
	}
	db.SetMaxOpenConns(1)
	_, err = db.ExecContext(ctx, "pragma busy_timeout = 100; begin exclusive; rollback")
	if err != nil {
		err = fmt.Errorf("%w: %s: %w", ErrInUse, path, err)
	}
	return errors.Join(err, db.Close())
}

// Readable refuses a file whose tables this program cannot read, as Open does, and leaves it as it is.
func Readable(ctx context.Context, path string) error {
	db, err := sql.Open("sqlite", dsn(path)+"&mode=ro")
	if err != nil {
		return fmt.Errorf("sqlite: %w", err)
	}
	version, err := layout(ctx, db)
	if err == nil && version == 0 {
		err = errors.New("the file has no tables")
	}
	if err = errors.Join(err, db.Close()); err != nil {
		return fmt.Errorf("sqlite: %s: %w", path, err)
	}
	return nil
}
