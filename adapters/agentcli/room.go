//go:build linux

package agentcli

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// lookRoom is how long after one measurement of its directories the next one begins, and how many times as long as
// that has taken it is at least.
const (
	lookRoom  = 2 * time.Second
	restsRoom = 20
)

// bound stops an execution whose directories have grown by more than RoomMax, until ctx ends.
func (r *Runner) bound(ctx context.Context, e execution, stop func(kind, why string)) {
	dirs := append([]string{e.Dir, e.outbox, e.home}, e.Command.Jail.Write...)
	first := used(ctx, dirs)
	for took := time.Duration(0); run.Sleep(ctx, run.Real{}, max(lookRoom, restsRoom*took)) == nil; {
		began := time.Now()
		if grown := used(ctx, dirs) - first; grown > r.opt.RoomMax {
			why := fmt.Sprintf("stopped: its directories have grown by %d MiB, and may by %d MiB", grown>>20, r.opt.RoomMax>>20)
			stop(work.ResultFailed, why)
		}
		took = time.Since(began)
	}
}

// freeMin is the room on a disk, in bytes, below which an agent is taken to have failed for the lack of it.
const freeMin = 1 << 20

// isFull reports whether the disk of a directory has no room, or cannot be written to.
func isFull(dir string) bool {
	var s unix.Statfs_t
	err := unix.Statfs(dir, &s)
	return err == nil && s.Blocks > 0 && (s.Bavail*uint64(s.Bsize) < freeMin || s.Flags&unix.ST_RDONLY != 0)
}

// used returns the bytes that directories take on their disks: a hole in a file is none, and of a file with several
// names each has its part. What an agent has closed to its own user is opened again.
func used(ctx context.Context, dirs []string) (sum int64) {
	for _, dir := range dirs {
		if dir == "" {
			continue
		}
		_ = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error { // what cannot be read counts for nothing
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if d == nil {
				return nil
			}
			info, infoErr := d.Info()
			if infoErr != nil {
				return nil //nolint:nilerr // it went away
			}
			if d.IsDir() && err == nil && info.Mode().Perm()&0o700 != 0o700 {
				_ = os.Chmod(name, info.Mode().Perm()|0o700) // else it is not read
			}
			if stat, ok := info.Sys().(*syscall.Stat_t); ok && err == nil {
				sum += stat.Blocks * 512 / max(1, int64(stat.Nlink))
			}
			return nil
		})
	}
	return sum
}
