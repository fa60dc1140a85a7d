package agentcli_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/agentcli"
)

// A known tool is called for its version, without any key; another command is not.
func TestVersion(t *testing.T) {
	bin := t.TempDir()
	script := "#!/bin/sh\n[ \"$*\" = --version ] || exit 9\necho \"1.2.3 key=$ANTHROPIC_API_KEY\"\necho more\n"
	put(t, script, bin, "claude")
	put(t, "#!/bin/sh\ntouch "+bin+"/called\n", bin, "own")
	put(t, "#!/bin/sh\necho no node >&2\nexit 1\n", bin, "codex")
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("ANTHROPIC_API_KEY", "sk-very-secret")
	r := newly(t, agentcli.Options{LogDir: t.TempDir(), StateDir: t.TempDir(), Shim: []string{"/bin/true"}})
	for _, agent := range []string{"claude", "claude --model opus"} {
		said, err := r.Version(t.Context(), agent)
		require.NoError(t, err)
		require.Equal(t, "1.2.3 key=", said)
	}
	said, err := r.Version(t.Context(), "own --fast")
	require.NoError(t, err)
	require.Empty(t, said)
	require.NoFileExists(t, filepath.Join(bin, "called"))
	_, err = r.Version(t.Context(), "codex")
	require.ErrorContains(t, err, "codex --version: exit status 1: no node")
	_, err = r.Version(t.Context(), `"`)
	require.ErrorContains(t, err, "quote")
}
