package main

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

func TestRunRefuses(t *testing.T) {
	t.Parallel()
	require.Equal(t, 2, run([]string{"-nonsense"}, strings.NewReader(""), io.Discard, io.Discard))
	require.Equal(t, 1, run([]string{"-demo", "/nowhere"}, strings.NewReader(""), io.Discard, io.Discard))
}

func TestAnnouncedPassesOnTheFirstLines(t *testing.T) {
	t.Parallel()
	a := &announced{lines: make(chan string, 2)}
	for _, part := range []string{"board:  http://127.0.0.1:1/\nque", "ue:   http://127.0.0.1:2/queue\ndata:", " /tmp\n", "more\n"} {
		n, err := a.Write([]byte(part))
		require.NoError(t, err)
		require.Len(t, part, n)
	}
	require.Equal(t, "board:  http://127.0.0.1:1/", <-a.lines)
	require.Equal(t, "queue:   http://127.0.0.1:2/queue", <-a.lines)
	require.Empty(t, a.lines)
}
