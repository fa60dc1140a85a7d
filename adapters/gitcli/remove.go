package gitcli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// remove deletes something below the root, and nothing else: a symbolic link on
// the way is not followed out of it. Directories that may not be written (module
// caches, or an agent that resists) are made so first.
func (g *Git) remove(name string) error {
	rel, err := filepath.Rel(g.opt.Root, name)
	if err != nil || !filepath.IsLocal(rel) || rel == "." {
		return fmt.Errorf("%w: %s is not below %s", work.ErrBadName, name, g.opt.Root)
	}
	root, err := os.OpenRoot(g.opt.Root)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // nothing was written through it
	err = root.RemoveAll(rel)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	if err := unlock(root, rel); err != nil {
		return err
	}
	return root.RemoveAll(rel)
}

// unlock makes every directory of a tree one that its owner may empty.
func unlock(root *os.Root, rel string) error {
	return fs.WalkDir(root.FS(), filepath.ToSlash(rel), func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case d.IsDir():
			return root.Chmod(filepath.FromSlash(name), 0o700) // before it is read
		default:
			return nil
		}
	})
}
