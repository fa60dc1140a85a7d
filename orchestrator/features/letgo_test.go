package features_test

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features"
	"github.com/signalbox-dev/signalbox/orchestrator/features/afterdone"
	"github.com/signalbox-dev/signalbox/orchestrator/memstore"
	"github.com/signalbox-dev/signalbox/queue"
)

// What an undo holds outlives a restart, and goes with its switch.
func TestFreezeOfAnUndoIsLetGo(t *testing.T) {
	store := memstore.New(nil)
	require.NoError(t, store.Hold(t.Context(), queue.Hold{Subject: orchestrator.MergesIn("acme/app"), Name: afterdone.Freeze + "/APP-1-undo"}))
	for _, on := range []bool{true, false} {
		set := features.Default()
		set.AfterDone = on
		require.NoError(t, set.LetGo(t.Context(), store, slog.New(slog.DiscardHandler)))
		held, err := store.Holds(t.Context())
		require.NoError(t, err)
		require.Len(t, held, map[bool]int{true: 1}[on])
	}
}
