package app

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// scratchDir begins the names of rehearsals' directories; their marks follow.
const scratchDir = "rehearsal-"

// lockFile is held while a rehearsal lives. It names its repository.
const lockFile = "lock"

// prefixOf is the prefix of the cards of a rehearsal.
func prefixOf(mark string) string { return "R" + strings.ToUpper(mark) }

// hold makes the directory of a rehearsal, and holds it until the file is closed.
func (r *Rehearsal) hold(dir string) (*os.File, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		_, err = f.WriteString(r.Repo)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// sweep removes what rehearsals of the repository have left that were killed.
func (r *Rehearsal) sweep(ctx context.Context) error {
	dirs, err := filepath.Glob(filepath.Join(r.Settings.DataDir, scratchDir+"*"))
	for _, dir := range dirs {
		mark := strings.TrimPrefix(filepath.Base(dir), scratchDir)
		if mark != r.mark && r.isDead(dir) {
			err = errors.Join(err, r.sweepOne(ctx, dir, mark))
		}
	}
	return err
}

// isDead reports whether a directory is that of a rehearsal of this repository that nobody
// holds any more.
func (r *Rehearsal) isDead(dir string) bool {
	f, err := os.Open(filepath.Join(dir, lockFile))
	if err != nil {
		return false
	}
	defer f.Close()
	repo := make([]byte, len(r.Repo)+1)
	n, _ := f.Read(repo) // an empty one is being made
	return string(repo[:n]) == r.Repo && unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
}

func (r *Rehearsal) sweepOne(ctx context.Context, dir, mark string) error {
	for _, name := range slices.Sorted(maps.Keys(r.before)) {
		_, branch, _ := strings.Cut(name, "/")
		if name != RehearsalBranch+mark && !strings.HasPrefix(branch, prefixOf(mark)+"-") {
			continue
		}
		if err := r.service.Git.RemoveBranch(ctx, r.space(name), name, r.before[name]); err != nil {
			return err
		}
		delete(r.before, name)
	}
	return removeAll(dir)
}
