package app_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/app"
)

// An agent that takes the service's files away ends nothing: the owner has them again, and the log says whose
// run was at work.
func TestModesAreMended(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"signalbox.db", "running/7.1.2.json", "git/mirrors/m.git/HEAD", "logs/task-7/001.out"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(at(name)), 0o700))
		require.NoError(t, os.WriteFile(at(name), nil, 0o600))
	}
	outside := filepath.Join(t.TempDir(), "outside")
	require.NoError(t, os.WriteFile(outside, nil, 0o400))
	require.NoError(t, os.Symlink(outside, at("link")))
	for _, name := range []string{"git/mirrors/m.git", "git/mirrors", "git", "logs/task-7", "running", "signalbox.db", "."} {
		require.NoError(t, os.Chmod(at(name), 0))
	}
	var log bytes.Buffer
	s := app.Settings{DataDir: dir}
	require.NoError(t, s.MendModes(slog.New(slog.NewTextHandler(&log, nil))))
	for name, want := range map[string]os.FileMode{"git/mirrors/m.git": 0o700, "git": 0o700, "logs/task-7": 0o700, "running": 0o700, "signalbox.db": 0o600, ".": 0o700} {
		info, err := os.Stat(at(name))
		require.NoError(t, err)
		require.Equal(t, want, info.Mode().Perm(), name)
	}
	info, err := os.Stat(outside)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o400), info.Mode().Perm(), "no link is followed")
	require.Contains(t, log.String(), "7.1.2.json")
	log.Reset()
	require.NoError(t, s.MendModes(slog.New(slog.NewTextHandler(&log, nil))))
	require.Empty(t, log.String(), "nothing is put right twice")
}

// Where the kernel lacks nothing, nobody is told to do without a jail.
func TestJailIsNotDroppedForOtherFaults(t *testing.T) {
	s := load(t, []string{"ORCH_DATA_DIR=" + t.TempDir(), "ORCH_JAIL=landlock"})
	_, _, err := s.Walls(t.Context(), []string{"/nonexistent"})
	require.ErrorContains(t, err, "cannot be seen")
	require.NotContains(t, err.Error(), "ORCH_JAIL=none")
}
