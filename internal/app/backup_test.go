package app_test

import (
	"os"
	"path/filepath"
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
