package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A backup that is not whole leaves the databases where they are, as they are.
func TestBackupThatIsNotWhole(t *testing.T) {
	v := open(t)
	require.NoError(t, v.Close())
	for name, part := range map[string][2]string{
		"names none":     {"backup.json", `{"files": ["../signalbox.db"]}`},
		"tracks damaged": {"tracks.db", "SQLite format 3\x00"},
		"tasks empty":    {"signalbox.db", ""},
	} {
		dir := filepath.Join(t.TempDir(), "backup")
		_, err := v.Settings.MakeBackup(t.Context(), dir)
		require.NoError(t, err)
		put(t, filepath.Join(dir, part[0]), part[1])
		before, err := os.ReadDir(v.Settings.DataDir)
		require.NoError(t, err)
		_, _, err = v.Settings.RestoreBackup(t.Context(), dir)
		require.Error(t, err, name)
		now, err := os.ReadDir(v.Settings.DataDir)
		require.NoError(t, err)
		require.Equal(t, before, now, name)
	}
}

// A backup takes the place of what cannot be read any more and of what is not there, and not while a server begins its work.
func TestRestoreInPlaceOfDamage(t *testing.T) {
	v := open(t)
	require.NoError(t, v.Close())
	dir := filepath.Join(t.TempDir(), "backup")
	_, err := v.Settings.MakeBackup(t.Context(), dir)
	require.NoError(t, err)
	put(t, filepath.Join(v.Settings.DataDir, "signalbox.db"), strings.Repeat("no database", 1000))
	server, err := v.Settings.Occupy()
	require.NoError(t, err)
	_, _, err = v.Settings.RestoreBackup(t.Context(), dir)
	require.ErrorContains(t, err, "a server works in")
	require.NoError(t, server.Close())
	_, _, err = v.Settings.RestoreBackup(t.Context(), dir)
	require.NoError(t, err)
	v.Settings.DataDir = t.TempDir()
	_, aside, err := v.Settings.RestoreBackup(t.Context(), dir)
	require.NoError(t, err)
	require.Empty(t, aside, "nothing was there")
}
