package app

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/signalbox-dev/signalbox/internal/run"
)

// keepModes gives the service's files their modes back until ctx ends.
func (v *Service) keepModes(ctx context.Context) {
	for run.Sleep(ctx, run.Real{}, 30*time.Second) == nil {
		if err := v.mendModes(); err != nil {
			v.Log.Error("the modes of the service's own files cannot be put right", "err", err)
		}
	}
}

// mendModes gives the owner the service's files and directories back: an agent, whose files are the same
// user's, can take them away where no namespace hides them. What is another user's (lost+found) stays as it is.
func (v *Service) mendModes() error {
	dir := v.Settings.DataDir
	var mended []string
	for _, pattern := range []string{".", "*", "git/*", "git/mirrors/*", "logs/*", "running/*"} { // agents write in none of them
		names, _ := fs.Glob(os.DirFS(dir), pattern) // no pattern is wrong
		for _, name := range names {
			info, err := os.Lstat(filepath.Join(dir, name))
			if err != nil || !info.IsDir() && !info.Mode().IsRegular() {
				continue // it has gone, or is a link
			}
			least := fs.FileMode(0o600)
			if info.IsDir() {
				least = 0o700
			}
			if info.Mode().Perm()&least == least {
				continue
			}
			switch err := os.Chmod(filepath.Join(dir, name), info.Mode().Perm()|least); {
			case err == nil:
				mended = append(mended, name)
			case !errors.Is(err, fs.ErrPermission):
				return err
			}
		}
	}
	if len(mended) > 0 {
		runs, _ := fs.Glob(os.DirFS(dir), "running/*.json") // each name begins with the number of the task
		v.Log.Warn("the service's own files had lost their modes, and have them again: an agent may have taken them away",
			"files", mended, "runs", runs)
	}
	return nil
}
