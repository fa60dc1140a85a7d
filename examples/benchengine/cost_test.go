package main

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/memstore"
)

// beside is how many other live tasks the cost of a life is compared with, and
// dearer how much more it may cost beside them.
const (
	beside = 2000
	dearer = 1.1
)

// A life costs what it costs, however many other tasks live in the store.
func TestCostOfALife(t *testing.T) {
	compareLives(t, false)
}

// The same with what the reference server switches on.
func TestCostOfALifeWithFeatures(t *testing.T) {
	compareLives(t, true)
}

func compareLives(t *testing.T, features bool) {
	alone, crowded := costOfALife(t, features, 0), costOfALife(t, features, beside)
	t.Logf("calls and rows a life: alone %.1f, %.1f; beside %d other live tasks %.1f, %.1f", alone.calls, alone.rows, beside, crowded.calls, crowded.rows)
	require.LessOrEqual(t, crowded.calls, dearer*alone.calls, "calls of the store")
	require.LessOrEqual(t, crowded.rows, dearer*alone.rows, "rows over the port")
}

type costs struct{ calls, rows float64 }

// costOfALife is what a life asks of the store beside n other live tasks, in the
// mean of a few: one after the other, so that none of them makes another decide
// again, half of them in a repository that has other live tasks. What is asked
// without a life in the same time does not count.
func costOfALife(t *testing.T, features bool, n int) (c costs) {
	const lives, span = 6, 5 * time.Second
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		w, err := newWorld(2, features, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		s := &counter{store: memstore.New(nil)}
		require.NoError(t, w.begin(s))
		require.NoError(t, w.fill(ctx, n))
		w.start(ctx)
		defer w.stop()
		synctest.Wait() // the loops have looked once; they do so again after 15 s
		counted := func(f func()) costs {
			calls, rows, until := s.calls.Load(), s.rows.Load(), time.Now().Add(span)
			f()
			require.True(t, time.Now().Before(until), "lives fit into the time")
			time.Sleep(time.Until(until))
			synctest.Wait()
			return costs{float64(s.calls.Load()-calls) / lives, float64(s.rows.Load()-rows) / lives}
		}
		idle := counted(func() {})
		busy := counted(func() {
			for i := range lives {
				require.NoError(t, w.live(ctx, i%2))
			}
		})
		c = costs{busy.calls - idle.calls, busy.rows - idle.rows}
	})
	return c
}
