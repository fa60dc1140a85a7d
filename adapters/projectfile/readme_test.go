package projectfile_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/projectfile"
)

// The registry that the README shows is one.
func TestReadme(t *testing.T) {
	body, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(body), "```yaml\n")
	require.True(t, found)
	text, _, found := strings.Cut(rest, "```")
	require.True(t, found)
	r, err := projectfile.Parse("README.md", []byte(text))
	require.NoError(t, err)
	require.Len(t, r.Projects.All(), 1)
	require.Len(t, r.Projects.All()[0].Commands, 1)
	_, rest, found = strings.Cut(rest, "<<'END'\n")
	require.True(t, found, "the registry without any account")
	text, _, found = strings.Cut(rest, "END\n")
	require.True(t, found)
	r, err = projectfile.Parse("README.md", []byte(text))
	require.NoError(t, err)
	require.True(t, r.Projects.All()[0].Plain())
}
