package github_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/fakehttp"
	"github.com/signalbox-dev/signalbox/internal/forgetest"
)

// failure returns what is shown of a commit's failed job.
func (k *kit) failure(sha string) (string, error) {
	k.Helper()
	list, err := k.client.Checks(k.Context(), repo, "main", sha)
	require.NoError(k, err)
	require.Len(k, list, 1)
	return k.client.FailureLog(k.Context(), repo, list[0])
}

// A job shows its annotations, and its log as far as the error, as plain text: colours, marks
// that turn text around and moments are left out, and so is what cleans up behind the error.
func TestFailureLog(t *testing.T) {
	t.Parallel()
	k := setup(t)
	sha := k.Commit("feature/a")
	k.Server.SetCheckRun(repo, sha, "build", "completed", "failure")
	var log strings.Builder
	log.WriteString(strings.Repeat("a bundle in one line", 1<<13) + "\n")
	for i := range 500 {
		fmt.Fprintf(&log, "2026-05-01T10:00:00.1234567Z step %d\n", i)
	}
	log.WriteString("2026-05-01T10:00:01.1234567Z \x1b[31mFAIL\x1b[0m TestCart \u202eevil\x00\n2026-05-01T10:00:02Z ##[error]Process completed with exit code 1.\n")
	log.WriteString(strings.Repeat("2026-05-01T10:00:03Z Post job cleanup.\n", 200))
	require.NoError(t, k.Server.ShowFailure(repo, sha, "build", log.String(), forgetest.Annotation{Path: "cart.go", Line: 7, Message: "undefined: x\x1b[0m"}))
	text, err := k.failure(sha)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(text, "cart.go:7: undefined: x\n"), text)
	require.True(t, strings.HasSuffix(text, "step 499\nFAIL TestCart evil\n##[error]Process completed with exit code 1."), text)
	require.NotContains(t, text, "step 400")
	require.NotContains(t, text, "2026-05-01")
}

// What cannot be read is left out; when nothing can that is an error.
func TestFailureLogInPart(t *testing.T) {
	t.Parallel()
	k := setup(t)
	sha := k.Commit("feature/a")
	k.Server.SetCheckRun(repo, sha, "build", "completed", "failure")
	note := forgetest.Annotation{Path: "cart.go", Line: 7, Message: strings.Repeat("x", 2*githost.FailureMax)}
	require.NoError(t, k.Server.ShowFailure(repo, sha, "build", "", note))
	text, err := k.failure(sha)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(text, "cart.go:7: xxx"))
	require.LessOrEqual(t, len(text), githost.FailureMax)
	k.Server.Break("GET /repos/{owner}/{repo}/check-runs/{id}/annotations", fakehttp.Denied)
	_, err = k.failure(sha)
	require.ErrorIs(t, err, githost.ErrDenied)
	require.NotContains(t, err.Error(), "sig=")
}
