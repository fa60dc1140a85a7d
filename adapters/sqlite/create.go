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
	err = begin(ctx, fresh)
	if err == nil {
		err = os.Link(fresh, path)
	}
	if errors.Is(err, fs.ErrExist) { // another process was quicker
		err = nil
	}
	return errors.Join(err, os.RemoveAll(dir))
}

// begin writes the first page of a file: the settings that are kept in it.
func begin(ctx context.Context, path string) error {
	db, err := sql.Open("sqlite", writing(path))
	if err != nil {
		return err
	}
	return errors.Join(db.PingContext(ctx), db.Close())
}
