package agentcli_test

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/agentcli"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// A log that the service writes itself is kept as those of agents are: read while it is
// written, begun anew by the next attempt of its name, cut at its end, and without secrets.
func TestKeepLog(t *testing.T) {
	const limit = 4 << 10
	r := newRunner(t, func(o *agentcli.Options) { o.LogMax, o.Hidden = limit, secret.NewRedactor("sk-very-secret-value") })
	name := work.LogName{TaskID: 7, Role: "ci", Run: 26, Attempt: 1}
	read := func() string {
		t.Helper()
		f, err := r.OpenLog(t.Context(), name)
		require.NoError(t, err)
		defer f.Close()
		body, err := io.ReadAll(f)
		require.NoError(t, err)
		return string(body)
	}
	for range 2 {
		log, err := r.KeepLog(t.Context(), name)
		require.NoError(t, err)
		_, err = io.WriteString(log, "begin sk-very-secret-value\n")
		require.NoError(t, err)
		require.Equal(t, "begin ********************\n", read())
		for range 100 {
			n, err := io.WriteString(log, strings.Repeat("x", limit))
			require.NoError(t, err)
			require.Equal(t, limit, n, "whoever prints goes on")
		}
		require.NoError(t, log.Close())
		require.LessOrEqual(t, len(read()), limit)
		require.True(t, strings.HasPrefix(read(), "begin ********************\n"))
	}
}
