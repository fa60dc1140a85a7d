package service

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admit"
	"github.com/signalbox-dev/signalbox/orchestrator/features/agentpause"
	"github.com/signalbox-dev/signalbox/orchestrator/features/budget"
	"github.com/signalbox-dev/signalbox/orchestrator/features/deps"
	"github.com/signalbox-dev/signalbox/orchestrator/features/reconcile"
	"github.com/signalbox-dev/signalbox/orchestrator/features/serialgate"
	"github.com/signalbox-dev/signalbox/orchestrator/features/waitcomment"
	"github.com/signalbox-dev/signalbox/orchestrator/features/wip"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// What features hold is let go when they are off, with their facts, and kept when they are on; what
// others hold is theirs.
func TestSwitchedOffLetsGo(t *testing.T) {
	held := []string{serialgate.Name, serialgate.Freeze, wip.Name, deps.Name, deps.Cycle, budget.Name, agentpause.Name}
	facts := []string{string(orchestrator.FactFreeze), string(wip.Works), string(reconcile.Told), string(reconcile.BrakeTold), waitcomment.Name}
	on := DefaultFeatures()
	on.BudgetTask = 1
	for _, c := range []struct {
		features    *Features
		left, known []string
	}{{on, append(held, "somebody's"), append(facts, "somebody's")}, {&Features{}, []string{"somebody's"}, []string{"somebody's"}}} {
		db := opened(t)
		for _, name := range append(held, "somebody's") {
			require.NoError(t, db.Hold(t.Context(), queue.Hold{Subject: admit.Subjects("acme/app", 1)[0], Name: name}))
		}
		all := append(facts, "somebody's")
		for _, kind := range all {
			require.NoError(t, db.Commit(t.Context(), task.Commit{Facts: []task.Fact{{Kind: task.FactKind(kind), Of: "s"}}}))
		}
		v := &Service{opt: Options{Store: db, Features: c.features}, Log: slog.New(slog.DiscardHandler)}
		require.NoError(t, v.letGo(t.Context()))
		holds, err := db.Holds(t.Context())
		require.NoError(t, err)
		var left, known []string
		for _, h := range holds {
			left = append(left, h.Name)
		}
		for _, kind := range all {
			stored, err := db.Facts(t.Context(), task.Fact{Kind: task.FactKind(kind)}, 0)
			require.NoError(t, err)
			for _, f := range stored {
				known = append(known, string(f.Kind))
			}
		}
		require.ElementsMatch(t, c.left, left)
		require.ElementsMatch(t, c.known, known)
		require.NoError(t, db.Close())
	}
}
