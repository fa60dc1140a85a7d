//go:build linux

package agentcli

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/fault"
)

// What survives KILL is waited for again: nothing is removed from under it.
func TestWhatCannotBeEndedMayEndLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := end(t.Context(), func() ([]ident, bool) { return []ident{{PID: 1 << 30}}, true }, time.Second)
		require.Error(t, err)
		require.True(t, fault.Retryable(err))
	})
}
