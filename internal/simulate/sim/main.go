// Command sim lets simulated worlds live by seed, and checks what must hold in them.
//
//	go run ./internal/simulate/sim -seed 42          one world; a failure is shrunk and told as a story
//	go run ./internal/simulate/sim -seeds 0..2000    how many fail, and the first of each invariant
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/signalbox-dev/signalbox/internal/simulate"
)

// options are the flags.
type options struct {
	seed          uint64
	seeds, world  string
	trace, shrink bool
}

// errBroken ends the program when an invariant did not hold.
var errBroken = errors.New("an invariant is broken")

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is main with everything passed in.
func run(args []string, out, errs io.Writer) int {
	var o options
	flags := flag.NewFlagSet("sim", flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.Uint64Var(&o.seed, "seed", 1, "of one world")
	flags.StringVar(&o.seeds, "seeds", "", "a range A..B (B is not in it): how many fail, and the first of each invariant")
	flags.StringVar(&o.world, "world", "", "a file with a world as JSON, instead of a seed")
	flags.BoolVar(&o.trace, "trace", false, "print every line of the trace")
	flags.BoolVar(&o.shrink, "shrink", true, "make a failing world as small as possible")
	if flags.Parse(args) != nil {
		return 2
	}
	debug.SetGCPercent(1500) // worlds are short-lived
	if err := o.play(out); err != nil {
		fmt.Fprintln(errs, "sim:", err)
		return 1
	}
	return 0
}

// play lets one world live, or a range of them.
func (o options) play(out io.Writer) error {
	if o.seeds != "" {
		return o.many(out)
	}
	if o.world == "" {
		return o.one(out, simulate.NewWorld(o.seed, simulate.Limits{}))
	}
	body, err := os.ReadFile(o.world)
	if err != nil {
		return fmt.Errorf("-world: %w", err)
	}
	var w simulate.World
	if err := json.Unmarshal(body, &w); err != nil {
		return fmt.Errorf("-world: %s is not a world: %w", o.world, err)
	}
	return o.one(out, w)
}

func (o options) one(out io.Writer, w simulate.World) error {
	r := simulate.Run(w)
	if o.trace {
		for _, line := range simulate.Trace(w).Lines {
			fmt.Fprintln(out, line)
		}
	}
	fmt.Fprintf(out, "seed %d: %d tasks ended in %s of virtual time, %d steps, trace sha-256 %s\n",
		w.Seed, r.Ended, r.Lived.Round(time.Second), r.Steps, r.Trace)
	if r.Failure == nil {
		return nil
	}
	fmt.Fprintln(out, "broken:", r.Failure)
	if o.shrink {
		r = simulate.Shrink(r)
	}
	fmt.Fprint(out, "\n", r.Story())
	if body, err := json.Marshal(r.World); err == nil {
		fmt.Fprintf(out, "\nThis world as JSON, for -world:\n%s\n", body)
	}
	return errBroken
}

// many lets the worlds of a range live, on all processors.
func (o options) many(out io.Writer) error {
	from, to, err := seedRange(o.seeds)
	if err != nil {
		return err
	}
	began := time.Now()
	results := simulate.Sweep(from, to, simulate.Limits{}, runtime.GOMAXPROCS(0))
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
	fmt.Fprintf(out, "%d seeds, %d lives in %s (%.0f lives a second on %d processors)\n",
		len(results), lives, took.Round(time.Millisecond), float64(lives)/took.Seconds(), runtime.GOMAXPROCS(0))
	for _, r := range results {
		if r.Failure != nil && first[r.Failure.Invariant].World.Seed == r.World.Seed {
			fmt.Fprintf(out, "%d × %s, first at seed %d: %s\n", count[r.Failure.Invariant], r.Failure.Invariant, r.World.Seed, r.Failure)
		}
	}
	if len(first) > 0 {
		return errBroken
	}
	return nil
}

// seedRange reads "A..B".
func seedRange(text string) (from, to uint64, err error) {
	if _, err := fmt.Sscanf(text, "%d..%d", &from, &to); err != nil || to <= from {
		return 0, 0, fmt.Errorf("-seeds: %q, want A..B with A smaller than B, such as 0..2000", text)
	}
	return from, to, nil
}
