package app

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/secret"
)

const canary = `canary"of<the>test`

// The log has no secret.
func TestLogHasNoSecret(t *testing.T) {
	t.Parallel()
	by := secret.NewRedactor(canary)
	var log bytes.Buffer
	for _, format := range []string{"text", "json"} {
		l := Settings{LogLevel: "info", LogFormat: format, hidden: by}.Logger(&log)
		l.Info("said "+canary, "err", fmt.Errorf("no: %s", canary), slog.Group("g", "k", canary))
	}
	require.NotContains(t, log.String(), "canary")
	require.Equal(t, 6, strings.Count(log.String(), "****"+strings.Repeat("*", 14))-strings.Count(log.String(), strings.Repeat("*", 36)))
}
