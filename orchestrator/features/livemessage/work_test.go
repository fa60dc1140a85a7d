package livemessage_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features/livemessage"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// While an agent works its message shows how far it is: within 15 s, no more often, and only when that has changed.
func TestShowsWork(t *testing.T) {
	var work atomic.Value
	work.Store("")
	Run(t, func(r *Rig) {
		r.Place.SetScript(Instead(stage.Analyst, Hang))
		r.Features = func() []orchestrator.Feature {
			l, err := livemessage.Feature(livemessage.Options{Parts: r.Parts(), Messenger: r.Chat, Work: func(context.Context, int64) (string, error) { return work.Load().(string), nil }})
			require.NoError(r, err)
			return []orchestrator.Feature{l}
		}
	}, func(r *Rig) {
		item := r.Begin("x")
		r.Settle(time.Minute)
		require.True(r, containsText(r, item, "the service works"))
		before := r.Silent()[0].Edits
		for _, text := range []string{"analyst: 1 file", "analyst: 2 files", "analyst: 14 files, $0.41"} {
			work.Store(text)
			r.Settle(5 * time.Second)
		}
		r.Settle(16 * time.Second)
		require.True(r, containsText(r, item, "analyst: 14 files, $0.41"))
		require.LessOrEqual(r, r.Silent()[0].Edits, before+2)
		edits := r.Silent()[0].Edits
		r.Settle(10 * time.Minute)
		require.Equal(r, edits, r.Silent()[0].Edits, "nothing has changed")
	})
}
