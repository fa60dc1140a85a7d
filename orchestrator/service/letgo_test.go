package service

import (
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/sqlite"
	"github.com/signalbox-dev/signalbox/orchestrator/features/agentpause"
	"github.com/signalbox-dev/signalbox/orchestrator/features/budget"
	"github.com/signalbox-dev/signalbox/orchestrator/features/deps"
	"github.com/signalbox-dev/signalbox/orchestrator/features/reconcile"
	"github.com/signalbox-dev/signalbox/orchestrator/features/serialgate"
	"github.com/signalbox-dev/signalbox/orchestrator/features/waitcomment"
	"github.com/signalbox-dev/signalbox/orchestrator/features/wip"
	"github.com/signalbox-dev/signalbox/queue"
)

// What features hold is let go when they are off, and kept when they are on; what
// others hold is theirs.
func TestSwitchedOffLetsGo(t *testing.T) {
	ours := []string{serialgate.Name, serialgate.Freeze, wip.Name, wip.Waits, wip.Works, deps.Name, deps.Cycle, budget.Name, reconcile.Told, reconcile.BrakeTold, waitcomment.Name, agentpause.Name}
	on := DefaultFeatures()
	on.BudgetTask = 1
	for _, c := range []struct {
		features *Features
		left     []string
	}{{on, append(ours, "somebody's")}, {&Features{}, []string{"somebody's"}}} {
		db, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "x.db")})
		require.NoError(t, err)
		for _, name := range append(ours, "somebody's") {
			require.NoError(t, db.Hold(t.Context(), queue.Hold{Subject: "s", Name: name}))
		}
		v := &Service{opt: Options{Store: db, Features: c.features}, Log: slog.New(slog.DiscardHandler)}
		require.NoError(t, v.letGo(t.Context()))
		held, err := db.Holds(t.Context())
		require.NoError(t, err)
		var left []string
		for _, h := range held {
			left = append(left, h.Name)
		}
		require.ElementsMatch(t, c.left, left)
		require.NoError(t, db.Close())
	}
}
