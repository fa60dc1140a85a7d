package wiring

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// The settings files that docs/operations.md shows are good ones.
func TestSettingsInTheDocs(t *testing.T) {
	body, err := os.ReadFile("../../docs/operations.md")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(body), -1)
	require.Len(t, blocks, 2)
	for _, block := range blocks {
		example := filepath.Join(t.TempDir(), "signalbox.yaml")
		require.NoError(t, os.WriteFile(example, []byte(block[1]), 0o600))
		_, err := Load([]string{configVariable + "=" + example, Prefix + "PROXY_USER_HEADER=X-User", Prefix + "PROXY_USERS_FROM=127.0.0.1/32"})
		require.NoError(t, err)
	}
}
