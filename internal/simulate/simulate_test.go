package simulate_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/simulate"
	"github.com/signalbox-dev/signalbox/orchestrator"
)

// Every invariant holds in the worlds of the first seeds, and most of them are not
// trivial: tasks end in them, and calls have other fates than to work. Each metric of the
// engine and its features is measured in one; webhooks come through the real receiver here.
func TestSeeds(t *testing.T) {
	t.Parallel()
	seeds := uint64(200)
	if testing.Short() {
		seeds = 50
	}
	ended, fates, measured := 0, 0, map[string]bool{}
	for _, r := range simulate.Sweep(0, seeds, simulate.Limits{}, runtime.GOMAXPROCS(0)) {
		maps.Copy(measured, r.Measured)
		if r.Failure != nil {
			t.Errorf("seed %d: %s (go run ./internal/simulate/sim -seed %d tells the story)", r.World.Seed, r.Failure, r.World.Seed)
		}
		ended += r.Ended
		fates += len(r.Fates)
	}
	require.Greater(t, ended, int(seeds)*2)
	require.Greater(t, fates, int(seeds)*10)
	for _, r := range simulate.Sweep(0, 60, simulate.Limits{Features: []string{"serial_gate", "monitor", "merge_gate"}}, runtime.GOMAXPROCS(0)) {
		maps.Copy(measured, r.Measured)
	}
	for _, d := range orchestrator.Declared() {
		require.True(t, measured[d.Name], "%s is promised and never measured", d.Name)
		delete(measured, d.Name)
	}
	require.Empty(t, measured, "these are not declared")
}

// The same seed gives the same trace, byte for byte, however many worlds live at the
// same time, and when the fates that were drawn are written down.
func TestSameSeedSameTrace(t *testing.T) {
	t.Parallel()
	const seeds = 30
	first, different := simulate.Sweep(5000, 5000+seeds, simulate.Limits{}, 1), map[string]bool{}
	for i, again := range simulate.Sweep(5000, 5000+seeds, simulate.Limits{}, 8) {
		require.Equal(t, first[i].Trace, again.Trace, "seed %d", again.World.Seed)
		different[again.Trace] = true
		if i%10 == 0 {
			told := again.World
			told.Drawn, told.Fates = false, again.Fates
			require.Equal(t, again.Trace, simulate.Run(told).Trace, "seed %d with its fates written down", again.World.Seed)
		}
	}
	require.Len(t, different, seeds, "seeds differ")
}

// What is known to be broken is broken still: a fault that was mended leaves the
// list.
func TestKnownFaults(t *testing.T) {
	t.Parallel()
	for _, f := range knownFaults() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			r := simulate.Run(f.world())
			require.NotNil(t, r.Failure, "the fault is mended: take it off the list, and keep its world in testdata/worlds")
			require.Equal(t, f.invariant, r.Failure.Invariant, r.Failure.String())
		})
	}
	if os.Getenv("MUTANTS") == "all" {
		document(t, "known faults", knownTable())
	}
	body, err := os.ReadFile("../../docs/reliability.md")
	require.NoError(t, err)
	require.Contains(t, string(body), knownTable(), "make mutants writes it")
}

// Worlds that once broke an invariant hold it now.
func TestWorlds(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/worlds/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, name := range files {
		w := written(name)
		require.NotEmpty(t, w.Cards, name)
		if r := simulate.Run(w); r.Failure != nil {
			t.Errorf("%s: %s\n%s", name, r.Failure, r.Story())
		}
	}
}

// What was mended stays mended.
func TestMendedFaults(t *testing.T) {
	t.Parallel()
	for name, w := range mendedFaults() {
		if r := simulate.Run(w); r.Failure != nil {
			t.Errorf("%s again: %s\n%s", name, r.Failure, r.Story())
		}
	}
}

// A failing world shrinks to a few things that still break the same invariant, and
// reads as a story.
func TestShrink(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("make long plays it: many worlds are tried")
	}
	r := simulate.Run(knownFaults()[0].world())
	require.NotNil(t, r.Failure)
	small := simulate.Shrink(r)
	require.Equal(t, r.Failure.Invariant, small.Failure.Invariant)
	require.LessOrEqual(t, len(small.World.Fates), 2)
	require.LessOrEqual(t, len(small.World.Features), 2)
	story := small.Story()
	require.Contains(t, story, "is decided otherwise now")
	require.Contains(t, story, "BROKEN: replays")
	body, err := json.Marshal(small.World)
	require.NoError(t, err)
	var again simulate.World
	require.NoError(t, json.Unmarshal(body, &again))
	require.Equal(t, small.Trace, simulate.Run(again).Trace, "a world can be written down")
	good := simulate.Run(simulate.NewWorld(1, simulate.Limits{}))
	require.Equal(t, good, simulate.Shrink(good))
}

// A world lives from its first card to its rest.
func Example() {
	r := simulate.Run(simulate.NewWorld(7, simulate.Limits{Tasks: 2}))
	fmt.Println(r.Failure == nil, r.Ended)
	first := simulate.Trace(r.World).Lines[0]
	fmt.Println(strings.TrimSpace(first))
	// Output:
	// true 2
	// 0 r0.1 starts
}
