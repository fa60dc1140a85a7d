package gitcli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/run"
)

// leftAfter is how old a lock in a mirror is at least before it is taken to be left:
// git holds one for milliseconds, and the git of a service that was killed may still
// be running for a moment.
const leftAfter = 2 * time.Second

// lockMirror waits for the other calls that use a mirror, which nobody else changes, and
// removes the locks that a killed git has left there: else whatever needs one of them
// would fail for ever.
func (g *Git) lockMirror(ctx context.Context, p checkout) (unlock func()) {
	unlock = g.lock(p.mirror)
	if err := removeLocks(ctx, p.mirror); err != nil { // git says what it cannot do
		g.opt.Log.Warn("a lock that a killed git has left could not be removed", "repo", p.Repo, "err", err)
	}
	return unlock
}

// removeLocks removes the locks of a mirror's references and settings, as soon as they have
// been left. One that goes by itself meanwhile was not.
func removeLocks(ctx context.Context, repo string) error {
	left, err := locksIn(repo)
	if err != nil {
		return err
	}
	for _, name := range left {
		seen, err := os.Lstat(name)
		if wait := min(leftAfter, leftAfter-time.Since(modified(seen))); err == nil && wait > 0 {
			if err := run.Sleep(ctx, run.Real{}, wait); err != nil {
				return err
			}
			var now fs.FileInfo
			if now, err = os.Lstat(name); err == nil && !(os.SameFile(seen, now) && now.ModTime().Equal(seen.ModTime())) {
				continue // another's: numbers of files are used again
			}
		}
		if err == nil {
			err = os.Remove(name)
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

func modified(f fs.FileInfo) time.Time {
	if f == nil {
		return time.Time{}
	}
	return f.ModTime()
}

// locksIn lists lock files.
func locksIn(repo string) (names []string, err error) {
	for _, dir := range []string{repo, filepath.Join(repo, "refs")} {
		err := filepath.WalkDir(dir, func(name string, f fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, os.ErrNotExist): // there is none, or it has gone
				return nil
			case err != nil:
				return err
			case name == dir:
				return nil
			case strings.HasSuffix(name, ".lock"): // no reference is called so
				names = append(names, name)
			case dir == repo || !f.IsDir():
			default:
				return nil
			}
			if f.IsDir() {
				return filepath.SkipDir
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return names, nil
}
