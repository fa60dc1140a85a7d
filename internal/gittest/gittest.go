// Package gittest runs git for tests, without the settings of the machine.
package gittest

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Run runs git in a folder as a person named kim, and fails the test when git fails. White space
// around the output is left out.
func Run(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=maintenance.auto", "GIT_CONFIG_VALUE_0=false", // a process for each commit
		"GIT_AUTHOR_NAME=kim", "GIT_AUTHOR_EMAIL=kim@example.org", "GIT_COMMITTER_NAME=kim", "GIT_COMMITTER_EMAIL=kim@example.org")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "git %v: %s", args, out)
	return strings.TrimSpace(string(out))
}
