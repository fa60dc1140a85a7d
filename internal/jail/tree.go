package jail

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// RemoveTree removes a directory and what is in it, also directories that their owner
// may not write, as caches of Go modules are.
func RemoveTree(dir string) error {
	if dir == "" || os.RemoveAll(dir) == nil {
		return nil
	}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = os.Chmod(name, 0o700) // before it is read: a link is no directory
		}
		return err
	})
	return errors.Join(err, os.RemoveAll(dir))
}
