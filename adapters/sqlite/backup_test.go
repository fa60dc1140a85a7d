package sqlite_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/sqlite"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/queue"
)

// A copy that is made while others write has all that was durable when it began, and a store
// opens it.
func TestBackup(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from, to := filepath.Join(dir, "a.db"), filepath.Join(dir, "copy.db")
	db := openAt(t, from)
	const before = 500
	for i := range before {
		put(t, db, queue.Job{Pool: "p", Kind: fmt.Sprint(i)})
	}
	done, stop := make(chan error), make(chan struct{})
	go func() {
		for {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			if _, err := db.Put(t.Context(), queue.Job{Pool: "p"}); err != nil {
				done <- err
				return
			}
		}
	}()
	require.NoError(t, sqlite.Backup(t.Context(), from, to))
	close(stop)
	require.NoError(t, <-done)
	info, err := os.Stat(to)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
	require.ErrorIs(t, sqlite.Backup(t.Context(), from, to), fs.ErrExist)
	agree(t, to)

	jobs := read(t, openAt(t, to).Jobs, queue.Filter{Limit: 1_000_000})
	require.GreaterOrEqual(t, len(jobs), before)
	for i := range before {
		require.Equal(t, fmt.Sprint(i), jobs[i].Kind)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.new-*"))
	require.NoError(t, err)
	require.Empty(t, names)
}

// A damaged file gives no copy, and nothing is read from it or written to it once that is known: as the file is read whole, or by
// the first call that meets it.
func TestDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from, to := filepath.Join(dir, "a.db"), filepath.Join(dir, "copy.db")
	db := openAt(t, from)
	for range 200 {
		put(t, db, queue.Job{Pool: "p", Payload: make([]byte, 1000)})
	}
	require.NoError(t, db.Close())
	f, err := os.OpenFile(from, os.O_RDWR, 0)
	require.NoError(t, err)
	for page := int64(60); page < 70; page++ {
		_, err = f.WriteAt([]byte("this was a page of the file"), page*4096)
		require.NoError(t, err)
	}
	require.NoError(t, f.Close())
	require.ErrorContains(t, sqlite.Backup(t.Context(), from, to), "malformed")
	require.NoFileExists(t, to)
	damaged := from + " is damaged"
	for name, meet := range map[string]func(*sqlite.DB) error{
		"read whole":  func(db *sqlite.DB) error { return db.Check(t.Context()) },
		"met by jobs": func(db *sqlite.DB) error { _, err := db.Jobs(t.Context(), queue.Filter{Limit: 1000}); return err },
	} {
		db, err := sqlite.Open(t.Context(), sqlite.Options{Path: from})
		require.NoError(t, err, name)
		require.NoError(t, db.Ping(t.Context()), name)
		met := meet(db)
		require.ErrorContains(t, met, damaged, name)
		require.True(t, fault.Retryable(met), name)
		require.ErrorContains(t, db.Ping(t.Context()), damaged, name)
		_, err = db.Tokens(t.Context())
		require.ErrorContains(t, err, damaged, name)
		require.NoError(t, db.Close(), name)
	}
	require.NoError(t, os.WriteFile(from, []byte(strings.Repeat("no database", 1000)), 0o600))
	_, err = sqlite.Open(t.Context(), sqlite.Options{Path: from})
	require.ErrorContains(t, err, damaged)
}

func TestUnused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	db := openAt(t, path)
	require.ErrorIs(t, sqlite.Unused(t.Context(), path), sqlite.ErrInUse)
	require.NoError(t, db.Close())
	require.NoError(t, sqlite.Unused(t.Context(), path))
}
