package app

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEnvFile(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, UseEnvFile(), "there need not be one")
	write := func(body string, mode os.FileMode) {
		t.Helper()
		require.NoError(t, os.WriteFile(EnvFile, []byte(body), 0o600))
		require.NoError(t, os.Chmod(EnvFile, mode))
	}
	write("# settings\n\nORCH_LISTEN=127.0.0.1:1\n ORCH_PLANE_URL = x\n", 0o600)
	_, err := ReadEnvFile(EnvFile)
	require.EqualError(t, err, "signalbox.env:4: want NAME=value")
	const good = "ORCH_LISTEN=127.0.0.1:1\nORCH_AGENT=\"a b=c\"\nORCH_GITHUB_TOKEN=of the file\nORCH_ADMIN_TOKEN='it''s'\n"
	write(good, 0o640)
	require.EqualError(t, UseEnvFile(), "signalbox.env has the mode 0640, and may be read or written by others: chmod 600 signalbox.env")
	write(good, 0o600)
	t.Setenv("ORCH_LISTEN", "127.0.0.1:2")
	t.Setenv("ORCH_GITHUB_TOKEN_FILE", "/run/token")
	for _, name := range []string{"ORCH_AGENT", "ORCH_ADMIN_TOKEN"} { // they come back after the test
		t.Setenv(name, "")
		require.NoError(t, os.Unsetenv(name))
	}
	require.NoError(t, UseEnvFile())
	require.Equal(t, "127.0.0.1:2", os.Getenv("ORCH_LISTEN"), "the environment goes first")
	require.Equal(t, "a b=c", os.Getenv("ORCH_AGENT"))
	require.Equal(t, "it''s", os.Getenv("ORCH_ADMIN_TOKEN"))
	require.Empty(t, os.Getenv("ORCH_GITHUB_TOKEN"), "the environment names its file")
	require.NoError(t, os.Remove(EnvFile))
	require.NoError(t, os.Mkdir(EnvFile, 0o700))
	require.EqualError(t, UseEnvFile(), "signalbox.env is no file")
}
