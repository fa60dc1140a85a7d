package checks_test

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gates/fixture"
)

// The case that docs/gates.md shows is one, and holds.
func TestFixtureDocument(t *testing.T) {
	body, err := os.ReadFile("../../docs/gates.md")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(body), "```json\n")
	require.True(t, found)
	text, _, found := strings.Cut(rest, "```")
	require.True(t, found)
	cases, err := fixture.Read(fstest.MapFS{"doc.json": {Data: []byte(text)}}, "doc.json")
	require.NoError(t, err)
	for _, c := range cases {
		_, err := c.Run(t.Context(), registry(t))
		require.NoError(t, err)
	}
}
