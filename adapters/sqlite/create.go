package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// errEmpty says that a file exists and has nothing in it. It was one with everything
// in it: create never leaves such a file behind.
var errEmpty = errors.New("the file exists and is empty, so that what it held is lost: " +
	"restore it from a backup, or remove it to begin anew")

// create makes the file when there is none: whole, beside its place, and then linked
// there, so that neither a kill nor another process meets an empty one.
func create(ctx context.Context, path string) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.Size() == 0:
		return errEmpty
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), filepath.Base(path)+".new-")
	if err != nil {
		return err
	}
	fresh := filepath.Join(dir, "db")
	err = briefly(writing(fresh), func(db *sql.DB) error { return db.PingContext(ctx) }) // the first page has the settings that are kept
	if err == nil {
		err = os.Link(fresh, path)
	}
	if errors.Is(err, fs.ErrExist) { // another process was quicker
		err = nil
	}
	return errors.Join(err, os.RemoveAll(dir))
}
