package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
)

// A command line that cannot be meant names the flag and what it should be.
func TestFlags(t *testing.T) {
	for want, args := range map[string][]string{
		`-stores has "mysql", want sqlite or postgres`: {"-stores", "sqlite,mysql"},
		`-features has "", want none or default`:       {"-features", ""},
		`-live has "-1", want numbers from 0`:          {"-live", "0,-1"},
		`-live has "1k", want numbers from 0`:          {"-live", "1k"},
		"-lives is 0, want at least 1":                 {"-lives", "0"},
		"-inflight is -3, want at least 1":             {"-inflight", "-3"},
		"-idle is 0s, want more than 0":                {"-idle", "0s"},
		`"quick" is no flag`:                           {"quick"},
	} {
		_, err := read(args)
		require.ErrorContains(t, err, want)
	}
	p, err := read([]string{"-quick", "-stores", "postgres", "-lives", "7"})
	require.NoError(t, err)
	require.Equal(t, []cell{{"postgres", "none", 0}, {"postgres", "none", 1000}, {"postgres", "default", 0}, {"postgres", "default", 1000}}, p.cells)
	require.Equal(t, 7, p.lives, "what is given stays")
	require.Equal(t, 5*time.Second, p.idle)
}

// Figures that could not be had are a dash, and what went wrong is below.
func TestTable(t *testing.T) {
	out := table([]result{
		{cell: cell{"sqlite", "none", 1000}, Lives: 3, LivesPerSecond: 12.345, Rows: 4321, Pages: map[string]float64{"/queue": 0.5}},
		{cell: cell{"postgres", "default", 0}, Error: "no server\nat all"},
	})
	require.Contains(t, out, "| sqlite | none | 1000 | 12.3 | - | - | - | 4321 | - | - | - | 0.50 |")
	require.Contains(t, out, "- postgres, features default, 0 other live tasks (0 lives): no server; at all")
}

// Statements and rows of SQLite are counted, prepared or not.
func TestCountedDriver(t *testing.T) {
	c := &counts{}
	path := filepath.Join(t.TempDir(), "db")
	require.NoError(t, registerCounted(path, c))
	db, err := sql.Open(path, path)
	require.NoError(t, err)
	defer db.Close()
	_, err = db.ExecContext(t.Context(), "create table t (a); insert into t values (1), (2), (3)")
	require.NoError(t, err)
	require.EqualValues(t, 1, c.statements.Load())
	rows, err := db.QueryContext(t.Context(), "select a from t where a > ?", 1)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() { // each is counted
	}
	require.NoError(t, rows.Err())
	require.EqualValues(t, 2, c.rows.Load())
	tx, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	s, err := tx.PrepareContext(t.Context(), "select a from t")
	require.NoError(t, err)
	defer s.Close()
	var a int
	require.NoError(t, s.QueryRowContext(t.Context()).Scan(&a))
	w, err := tx.PrepareContext(t.Context(), "delete from t where a = ?")
	require.NoError(t, err)
	defer w.Close()
	_, err = w.ExecContext(t.Context(), 2)
	require.NoError(t, err)
	require.NoError(t, tx.Commit())
	require.EqualValues(t, 6, c.statements.Load(), "two of them begin and commit")
	require.EqualValues(t, 3, c.rows.Load())
}

// A small measurement of each store has every figure.
func TestMeasure(t *testing.T) {
	if testing.Short() {
		t.Skip("leads real lives on real stores for seconds")
	}
	for _, args := range [][]string{{"-stores", "sqlite", "-features", "none"}, {"-stores", "postgres", "-features", "default"}} {
		var out bytes.Buffer
		args = append(args, "-live", "60", "-lives", "4", "-inflight", "3", "-span", "10m", "-idle", "1s", "-json", "-dir", t.TempDir())
		require.NoError(t, bench(t.Context(), args, &out))
		var list []result
		require.NoError(t, json.Unmarshal(out.Bytes(), &list))
		require.Len(t, list, 1)
		r := list[0]
		require.Empty(t, r.Error)
		require.Equal(t, 4, r.Lives)
		for name, figure := range map[string]float64{
			"lives/s": r.LivesPerSecond, "program": r.ProgramMS, "statements": r.Statements, "rows": r.Rows, "restart": r.RestartMS,
		} {
			require.Positive(t, figure, name)
		}
		require.Equal(t, r.Store == storePostgres, r.ServerMS > 0)
		require.Len(t, r.Pages, len(paths()))
	}
}

// A card that stands still, or goes where a life does not, ends the measurement
// with its name.
func TestUntil(t *testing.T) {
	card, seen := tracker.Item{ID: "life-7"}, make(chan stage.Status, 2)
	seen <- stage.StatusAnalysis
	seen <- stage.StatusBlocked
	require.ErrorContains(t, until(t.Context(), card, seen, stage.StatusDone), "card life-7 is blocked on its way to done")
	ctx, stop := context.WithCancel(t.Context())
	stop()
	require.ErrorIs(t, until(ctx, card, seen, stage.StatusDone), context.Canceled)
}
