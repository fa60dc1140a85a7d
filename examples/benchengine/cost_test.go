package benchengine

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/sqlite"
)

// beside is how many other live tasks the cost of a life is compared with, and
// dearer how much more it may cost beside them. For each of them at most, who starts reads startRows rows, and who rests
// makes restCalls statements in five minutes, after which relations are read again.
const (
	beside    = 2000
	dearer    = 1.1
	startRows = 20
	restCalls = 3
)

// A life costs what it costs, however many other tasks live in the store, with what the reference server
// switches on: statements, and the rows that they give.
func TestCostOfALife(t *testing.T) {
	alone, crowded := costOfALife(t, 0), costOfALife(t, beside)
	t.Logf("statements and rows a life: alone %.1f, %.1f; beside %d other live tasks %.1f, %.1f", alone.calls, alone.rows, beside, crowded.calls, crowded.rows)
	require.LessOrEqual(t, crowded.calls, dearer*alone.calls, "statements")
	require.LessOrEqual(t, crowded.rows, dearer*alone.rows, "rows")
	require.LessOrEqual(t, crowded.rest-alone.rest, float64(restCalls*beside), "statements of a rest")
}

type costs struct{ calls, rows, rest float64 }

// connections are those of an open file: the writer's, and those that read.
const connections = 5

// overSQLite opens an empty store; asked returns its cost so far: statements, and the rows that SQLite hands to the
// program.
func overSQLite(t *testing.T) (s store, asked func() costs) {
	file := filepath.Join(t.TempDir(), "signalbox.db")
	c := &counts{byText: map[string]*share{}}
	require.NoError(t, registerCounted(file, c))
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: file, Driver: file})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, db.Close())
		for text, s := range c.byText {
			// A connection that was given up with a context is opened anew.
			require.LessOrEqual(t, s.parsed, int64(4*connections), "parsed about once by each connection: %s", text)
			require.NotContains(t, text, "limit ?", "SQLite prepares it anew for each number: limit +?")
		}
	})
	return db, func() costs { return costs{calls: float64(c.statements.Load()), rows: float64(c.rows.Load())} }
}

// costOfALife returns what a life costs the store beside n other live tasks, in the
// mean of a few: one after the other, so that none of them makes another decide
// again, half of them in a repository that has other live tasks. What it costs
// without a life in the same time does not count.
func costOfALife(t *testing.T, n int) (c costs) {
	const lives, span = 6, 5 * time.Second
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		w, err := newWorld(2, true, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		s, asked := overSQLite(t)
		require.NoError(t, w.begin(s))
		require.NoError(t, w.fill(ctx, n))
		filled := asked().rows
		w.start(ctx)
		defer w.stop()
		synctest.Wait() // the loops have looked once; they do so again after 15 s
		require.LessOrEqual(t, asked().rows-filled, float64(startRows*n), "rows of a start")
		counted := func(span time.Duration, f func()) costs {
			before, until := asked(), time.Now().Add(span)
			f()
			require.True(t, time.Now().Before(until), "lives fit into the time")
			time.Sleep(time.Until(until))
			synctest.Wait()
			after := asked()
			return costs{calls: (after.calls - before.calls) / lives, rows: (after.rows - before.rows) / lives}
		}
		idle := counted(span, func() {})
		busy := counted(span, func() {
			for i := range lives {
				require.NoError(t, w.live(ctx, i%2))
			}
		})
		time.Sleep(20 * time.Minute) // cards are told by then what they wait for
		c = costs{busy.calls - idle.calls, busy.rows - idle.rows, counted(lives*5*time.Minute, func() {}).calls}
	})
	return c
}
