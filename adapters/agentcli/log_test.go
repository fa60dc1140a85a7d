//go:build linux

package agentcli

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A runaway agent must not fill the disk while it runs.
func TestTrim(t *testing.T) {
	const limit = 64 << 10
	name := filepath.Join(t.TempDir(), "log")
	log, err := output(name)
	require.NoError(t, err)
	defer log.Close()
	var peak int64
	for i := range 64 {
		_, err := log.Write(bytes.Repeat([]byte{byte('a' + i%26)}, limit))
		require.NoError(t, err)
		trim(log, limit)
		info, err := os.Stat(name)
		require.NoError(t, err)
		peak = max(peak, info.Sys().(*syscall.Stat_t).Blocks*512)
	}
	require.LessOrEqual(t, peak, int64(8*limit), "blocks on the disk, of %d written", 64*limit)
	_, err = log.WriteString("the end")
	require.NoError(t, err)
	require.NoError(t, shrink(name, limit))
	body, err := os.ReadFile(name)
	require.NoError(t, err)
	require.LessOrEqual(t, len(body), limit)
	require.True(t, bytes.HasPrefix(body, []byte("aaaa")))
	require.True(t, bytes.HasSuffix(body, []byte("the end")))
	require.NotContains(t, string(body), "\x00")
}
