package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/simulate"
)

// simCmd lets worlds live by seed.
type simCmd struct {
	Seed     uint64   `help:"The seed of one world." default:"1"`
	Seeds    string   `help:"A range of seeds, A..B (B is not in it): how many fail, and the first of each invariant." placeholder:"A..B"`
	Tasks    int      `help:"How many cards there are; 0 = as the seed says."`
	Replicas int      `help:"How many replicas there are; 0 = as the seed says."`
	Features []string `help:"Exactly these features; none = as the seed says."`
	Faults   []string `help:"Only these kinds of faults; none = all."`
	Traps    []string `help:"What is known to break an invariant, to have it happen."`
	World    string   `help:"A file with a world as JSON, instead of a seed." type:"existingfile"`
	Trace    bool     `help:"Print every line of the trace."`
	Shrink   bool     `help:"Make a failing world as small as possible." default:"true" negatable:""`
}

// errBroken ends the command when an invariant did not hold.
var errBroken = errors.New("an invariant is broken")

// Run lets one world live, or a range of them.
func (c simCmd) Run(s *streams) error {
	debug.SetGCPercent(400) // worlds are short-lived
	limits, err := c.limits()
	if err != nil {
		return err
	}
	if c.Seeds != "" {
		return c.many(s, limits)
	}
	if c.World == "" {
		return c.one(s, simulate.NewWorld(c.Seed, limits))
	}
	body, err := os.ReadFile(c.World)
	if err != nil {
		return err
	}
	var w simulate.World
	if err := json.Unmarshal(body, &w); err != nil {
		return fmt.Errorf("--world: %s is not a world: %w", c.World, err)
	}
	return c.one(s, w)
}

// limits are the flags, checked.
func (c simCmd) limits() (l simulate.Limits, err error) {
	l = simulate.Limits{Tasks: c.Tasks, Replicas: c.Replicas, Features: c.Features, Faults: c.Faults, Traps: c.Traps}
	for _, f := range []struct {
		flag        string
		given, have []string
	}{{"features", c.Features, simulate.AllFeatures()}, {"faults", c.Faults, simulate.AllFaults()}, {"traps", c.Traps, simulate.Traps()}} {
		for _, name := range f.given {
			if !slices.Contains(f.have, name) {
				return l, fmt.Errorf("--%s: there is no %q, want some of %s", f.flag, name, strings.Join(f.have, ","))
			}
		}
	}
	return l, nil
}

func (c simCmd) one(s *streams, w simulate.World) error {
	r := simulate.Run(w)
	if c.Trace {
		for _, line := range simulate.Trace(w).Lines {
			fmt.Fprintln(s.out, line)
		}
	}
	fmt.Fprintf(s.out, "seed %d: %d tasks ended in %s of virtual time, %d steps, trace sha-256 %s\n", w.Seed, r.Ended, r.Lived.Round(time.Second), r.Steps, r.Trace)
	if r.Failure == nil {
		return nil
	}
	fmt.Fprintln(s.out, "broken:", r.Failure)
	if c.Shrink {
		r = simulate.Shrink(r)
	}
	fmt.Fprint(s.out, "\n", r.Story())
	if body, err := json.Marshal(r.World); err == nil {
		fmt.Fprintf(s.out, "\nThis world as JSON, for --world:\n%s\n", body)
	}
	return errBroken
}

// many lets the worlds of a range live, on all processors.
func (c simCmd) many(s *streams, limits simulate.Limits) error {
	from, to, err := seedRange(c.Seeds)
	if err != nil {
		return err
	}
	began := time.Now()
	results := simulate.Sweep(from, to, limits, runtime.GOMAXPROCS(0))
	took := time.Since(began)
	first, count, lives := map[simulate.Invariant]simulate.Result{}, map[simulate.Invariant]int{}, 0
	for _, r := range results {
		lives += r.Ended
		if r.Failure == nil {
			continue
		}
		if count[r.Failure.Invariant]++; count[r.Failure.Invariant] == 1 {
			first[r.Failure.Invariant] = r
		}
	}
	fmt.Fprintf(s.out, "%d seeds, %d lives in %s (%.0f lives a second on %d processors)\n",
		len(results), lives, took.Round(time.Millisecond), float64(lives)/took.Seconds(), runtime.GOMAXPROCS(0))
	for _, r := range results {
		if r.Failure != nil && first[r.Failure.Invariant].World.Seed == r.World.Seed {
			fmt.Fprintf(s.out, "%d × %s, first at seed %d: %s\n", count[r.Failure.Invariant], r.Failure.Invariant, r.World.Seed, r.Failure)
		}
	}
	if len(first) > 0 {
		return errBroken
	}
	return nil
}

// seedRange reads "A..B".
func seedRange(text string) (from, to uint64, err error) {
	a, b, ok := strings.Cut(text, "..")
	from, err1 := strconv.ParseUint(a, 10, 64)
	to, err2 := strconv.ParseUint(b, 10, 64)
	if !ok || err1 != nil || err2 != nil || to <= from {
		return 0, 0, fmt.Errorf("--seeds: %q, want A..B with A smaller than B, such as 0..2000", text)
	}
	return from, to, nil
}
