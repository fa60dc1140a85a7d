// Package simulate runs whole worlds: the real engine with its real features,
// effects, gates and webhook receivers over the doubles in memory, on a virtual
// clock, one process at a time. A seed decides what people do, who goes next, and
// what becomes of every call of a port: that it works, fails, hangs, is slow, answers
// what was true a moment ago, happens though its answer is lost, or that the
// replica dies before or after it. Replicas die and are born again, pause past their
// claims, and have clocks that jump; webhooks are lost, doubled and late; neighbours
// are sick for minutes and hours.
//
// After every change of the truth outside, and at rest, invariants are checked (see
// Invariant). The same seed gives the same trace, byte for byte, on any machine. A
// failing world shrinks to a few cards, faults and fates that still break the same
// invariant, and reads as a story.
//
//	result := simulate.Run(simulate.NewWorld(42, simulate.Limits{}))
//	if result.Failure != nil {
//		fmt.Println(simulate.Shrink(result).Story())
//	}
package simulate

import (
	"context"
	"encoding/hex"
	"slices"
	"sync/atomic"
	"time"

	"github.com/signalbox-dev/signalbox/internal/run"
)

// Result holds what came of a world.
type Result struct {
	World   World
	Failure *Failure // nil = every invariant held
	Trace   string   // hex sha-256 of the trace
	Lines   []string // of the trace; only when they were kept
	Steps   int64    // of processes
	Lived   time.Duration
	Ended   int    // tasks that have ended
	Fates   []Fate // that calls had, beside those that worked

	Measured map[string]bool // metrics that were more than 0 at a time, by name
}

// Run lets a world live.
func Run(w World) Result { return play(w, false) }

// Trace is Run with the lines of the trace kept.
func Trace(w World) Result { return play(w, true) }

// Sweep runs the worlds of seeds from..to (to is not among them), some at a time, and
// returns their results in order.
func Sweep(from, to uint64, l Limits, atOnce int) []Result {
	out := make([]Result, to-from)
	var next atomic.Uint64
	g := run.New(context.Background(), nil)
	for range max(1, atOnce) {
		g.Go("worlds", func(context.Context) {
			for i := next.Add(1) - 1; i < to-from; i = next.Add(1) - 1 {
				out[i] = Run(NewWorld(from+i, l))
			}
		})
	}
	g.Wait()
	return out
}

func play(w World, keep bool) Result {
	s := newSim(w, keep)
	s.play()
	r := Result{
		World: w, Failure: s.check.failed, Trace: hex.EncodeToString(s.trace.hash.Sum(nil)), Lines: s.trace.lines,
		Steps: s.v.Steps(), Lived: s.since(),
		Fates: slices.Clone(s.drawn), Measured: s.meter,
	}
	for _, t := range s.check.tasks() {
		if t.State.Stage.Terminal() {
			r.Ended++
		}
	}
	return r
}
