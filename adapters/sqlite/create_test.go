package sqlite_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/sqlite"
	"github.com/signalbox-dev/signalbox/queue"
)

// A file that is there and empty was a store: it is not taken for a new one.
func TestEmptyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "signalbox.db")
	require.NoError(t, openAt(t, path).Close())
	require.NoError(t, os.Truncate(path, 0))
	_, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	require.ErrorContains(t, err, path)
	require.ErrorContains(t, err, "restore it from a backup, or remove it to begin anew")
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Zero(t, info.Size(), "it is left as it is")
	require.NoError(t, os.Remove(path))
	openAt(t, path)
}

// A file is never seen empty while it is made, nothing is left beside it, and whoever
// makes it at the same moment works on the same one.
func TestCreatedWhole(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "signalbox.db")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
			if err == nil {
				_, err = db.Put(t.Context(), queue.Job{Pool: "p"})
			}
			if err == nil {
				err = db.Close()
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	db := openAt(t, path)
	require.Len(t, read(t, db.Jobs, queue.Filter{Pool: "p"}), 8)
	require.NoError(t, db.Close())
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Equal(t, []string{path}, left)
}
