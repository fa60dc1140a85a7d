package browsertest

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRunPrintsSitesAndEndsWithItsInput(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	require.Zero(t, run(nil, strings.NewReader(""), &out, &errs), errs.String())
	require.Equal(t, "{}\n", out.String())
}

// Strangers' pipelines come to stand in every situation.
func TestStrangers(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	require.Zero(t, run([]string{"-dashboard"}, strings.NewReader(""), &out, &errs), errs.String())
	require.Regexp(t, `"strangers":"http://127.0.0.1:\d+/","strangers-2":"http://127.0.0.1:\d+/some/where/"`, out.String())
}

func TestRunRefuses(t *testing.T) {
	t.Parallel()
	require.Equal(t, 2, run([]string{"-nonsense"}, strings.NewReader(""), io.Discard, io.Discard))
	require.Equal(t, 1, run([]string{"-demo", "/nowhere"}, strings.NewReader(""), io.Discard, io.Discard))
}

func TestAnnouncedReadsTheAddresses(t *testing.T) {
	t.Parallel()
	a := &announced{named: make(chan map[string]string, 1)}
	for _, part := range []string{"open this in a browser:  http://127.0.0.1:1/\n\nque", "ue:   http://127.0.0.1:2/queue\nda", "ta:", " /tmp", "\n", "more: http://x/\n"} {
		require.Empty(t, a.named)
		n, err := a.Write([]byte(part))
		require.NoError(t, err)
		require.Len(t, part, n)
		if a.done {
			break
		}
	}
	require.Equal(t, map[string]string{"demo": "http://127.0.0.1:1/", "queue": "http://127.0.0.1:2/queue"}, <-a.named)
}
