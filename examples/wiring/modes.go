package wiring

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

const modesEvery = 30 * time.Second

// keepModes gives the service's files their modes back until ctx ends.
func (v *Service) keepModes(ctx context.Context) {
	for run.Sleep(ctx, run.Real{}, modesEvery) == nil {
		if err := v.mendModes(); err != nil {
			v.Log.Error("the modes of the service's own files cannot be put right", "err", err)
		}
	}
}

// mendModes gives the owner the service's files and directories back: an agent, whose files are the same
// user's, can take them away where no namespace hides them. What is
// another user's (lost+found), and what is deep in a checkout, a mirror or a task's logs, stays as it is.
func (v *Service) mendModes() error {
	dir := v.Settings.DataDir
	var mended []string
	mend := func(name string, info fs.FileInfo, chmod func(string, fs.FileMode) error) error {
		least := fs.FileMode(0o600)
		if info.IsDir() {
			least = 0o700
		}
		if info.Mode().Perm()&least == least || !info.IsDir() && !info.Mode().IsRegular() {
			return nil
		}
		mended = append(mended, name)
		return chmod(name, info.Mode().Perm()|least)
	}
	info, err := os.Stat(dir)
	if err == nil {
		err = mend(dir, info, os.Chmod)
	}
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir) // no link leads out of it
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // nothing was written through it
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		depth := strings.Count(name, "/")
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
			return nil
		case err != nil || name == "." || !d.IsDir() && depth > 1:
			return err
		}
		info, err := d.Info()
		if err == nil {
			err = mend(name, info, root.Chmod)
		}
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
			return nil
		case err == nil && d.IsDir() && depth > 1:
			return fs.SkipDir
		default:
			return err
		}
	})
	if len(mended) > 0 {
		marks, _ := filepath.Glob(filepath.Join(dir, "running", "*.json"))
		for i, name := range marks {
			marks[i] = filepath.Base(name) // begins with the number of the task
		}
		v.Log.Warn("the service's own files had lost their modes, and have them again: an agent may have taken them away", "files", mended, "runs", marks)
	}
	return err
}
