package orchestrator_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
)

// A webhook of a card that was removed holds its task at once, without a reconciler. While the board cannot be read, a signed
// one alone does, and the card that is there after all frees it.
func TestRemovedCard(t *testing.T) {
	for _, c := range []struct {
		name                    string
		removed, away, unsigned bool
		held, heldOnceItIsRead  bool
	}{
		{"removed", true, false, false, true, true},
		{"removed, and nobody has signed", true, false, true, true, true},
		{"it is there", false, false, false, false, false},
		{"unreadable", true, true, false, true, true},
		{"unreadable, and it is there", false, true, false, true, false},
		{"unreadable, and nobody has signed", true, true, true, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			Run(t, withReconciler, func(r *Rig) {
				item := r.Begin("one")
				r.Settle(10 * time.Second)
				r.Stands(item, stage.Analysis)
				if c.removed {
					r.Board.Remove(App, item)
				}
				if c.away {
					r.Board.FailCall("Item", errors.New("502"))
				}
				r.Hook(tracker.Hook{Kind: tracker.HookItemRemoved, ProjectID: App, ItemID: item, ActorID: "service/", Self: true, Unsigned: c.unsigned})
				r.Settle(3 * time.Second)
				held := func() bool { return r.Explain(item).Blockers[0].Kind == "card" }
				require.Equal(r, c.held, held())
				r.Board.FailCall("Item", nil)
				r.Settle(5 * time.Minute)
				require.Equal(r, c.heldOnceItIsRead, held())
				if c.held {
					require.Equal(r, 1, strings.Count(r.Notices(), "The task is held: "), r.Notices())
				}
			})
		})
	}
}
