package agentpause_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// A disk that is full for hours is one notice, and is tried each minute: it may have room at any moment.
func TestFullDisk(t *testing.T) {
	paused(t, func(w *world) {
		w.set(work.Trouble{Kind: work.TroubleRoom})
		items := w.cards(3)
		w.Settle(2 * time.Hour)
		require.Equal(w, 1, w.notices("claude"), w.Notices())
		require.Contains(w, w.Notices(), "Make room on the service's disk.")
		w.set(work.Trouble{})
		w.Settle(2 * time.Minute)
		require.Equal(w, 2, w.notices("claude"), "it is used again")
		w.approve(items...)
		w.Settle(5 * time.Minute)
		for _, item := range items {
			w.Stands(item, stage.Done)
		}
		w.nothingLeft()
	})
}
