package sqlstore

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The page that explains a claim shows the statements that are carried out, whole but for
// what it leaves out.
func TestDocumentedStatements(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/how-a-claim-works.md")
	require.NoError(t, err)
	var shown []string
	for _, block := range regexp.MustCompile("(?s)```sql\n(.*?);\n```").FindAllStringSubmatch(string(page), -1) {
		shown = append(shown, strings.Split(block[1], ";")...)
	}
	run := []string{putJobs, dueJobs, readyJobs, claimJobs, endJobs, openJobs}
	require.Len(t, shown, len(run))
	words := func(s string) string { return strings.Join(strings.Fields(strings.ReplaceAll(s, "~", "")), " ") }
	for i, statement := range shown {
		rest := words(run[i])
		for _, part := range strings.Split(words(statement), "…") {
			_, after, found := strings.Cut(rest, strings.TrimSpace(part))
			require.True(t, found, "%q is not in: %s", part, rest)
			rest = after
		}
		require.Empty(t, rest, "%s", statement)
	}
}
