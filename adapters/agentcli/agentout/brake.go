package agentout

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"regexp"
	"strconv"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Thresholds of a repetition, in calls of tools. An agent that works looks at the same thing twice or thrice.
const (
	repeatWindow  = 12
	repeatSuspect = 4 // in the window: its checkout is worth a look
	repeatMax     = 8 // in the window
	cycleWindow   = 24
	cycleMax      = 3  // different calls in it
	errorMin      = 24 // bytes: a shorter error, such as an exit code, says too little to be the same one
	resultMax     = 32 << 10
)

// repetition tells what the last calls of a run have in common: each had the result of the others of its kind.
type repetition struct {
	Words string // what was repeated, and how often; empty: nothing was
	Sure  bool   // often enough to be no progress
	Turns int64  // calls of the run so far
}

// turn is a call with its result, by their hashes.
type turn struct {
	what   string // the call, for people; empty: it waits
	same   uint64 // call and result
	error  uint64 // 0: none
	failed string // the error's text, for people
}

// repeats judges turns, oldest first.
func repeats(turns []turn) (r repetition) {
	last := turns[max(0, len(turns)-repeatWindow):]
	most, times := repeatSuspect-1, map[uint64]int{}
	for _, t := range last {
		said := []string{"were " + t.what + ", each with the same result", "ended with the same error, " + strconv.Quote(t.failed)}
		for i, key := range []uint64{t.same, t.error} {
			if times[key]++; key != 0 && times[key] > most {
				most, r.Words = times[key], fmt.Sprintf("%d of its last %d calls %s", times[key], len(last), said[i])
			}
		}
	}
	if r.Sure = most >= repeatMax; r.Sure || len(turns) < cycleWindow {
		return r
	}
	var round []string
	seen := map[uint64]bool{}
	for _, t := range turns[len(turns)-cycleWindow:] {
		if !seen[t.same] {
			seen[t.same], round = true, append(round, t.what)
		}
	}
	if len(round) <= cycleMax {
		r.Sure = true
		r.Words = fmt.Sprintf("its last %d calls were these %d in turn, each with the same result: %s",
			cycleWindow, len(round), strings.Join(round, "; "))
	}
	return r
}

// Repeats judges what the run has done last.
func (r *Reader) Repeats() repetition {
	out := repeats(r.turns)
	out.Turns = r.turned
	return out
}

var (
	// waiting calls are to be made again: they wait for what others do.
	waiting = regexp.MustCompile(`(?i)\b(?:sleep|wait\w*|watch\w*|poll\w*|tail -f|BashOutput|TaskOutput|write_stdin)\b`)
	// passing parts of a result differ although it is the same for people: how long it took, and when.
	passing = regexp.MustCompile(`\b\d+(?:\.\d+)? ?(?:ns|[uµ]s|ms|s|sec|seconds?|m|min|minutes?)\b|\b\d+:\d\d(?::\d\d(?:[.,]\d+)?)?`)
)

func hash(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // it never fails
	return h.Sum64()
}

// called remembers a call until its result comes.
func (r *Reader) called(id, tool string, input []byte) {
	if len(r.open) >= seenMax || r.open == nil {
		r.open = map[string]turn{}
	}
	r.open[id] = r.begun(tool, input)
}

func (r *Reader) begun(tool string, input []byte) turn {
	if waiting.MatchString(tool) || waiting.Match(input) {
		return turn{}
	}
	t := turn{what: strings.TrimSpace(r.clean(tool, nameMax) + " " + strconv.Quote(r.clean(brief(input), stepMax/20)))}
	if changed(tool, input) == "" {
		var fields map[string]any
		if json.Unmarshal(input, &fields) == nil {
			delete(fields, "description") // of the same command, in other words
			input, _ = json.Marshal(fields)
		}
		t.same = hash(tool + "\x00" + string(input))
	}
	return t
}

// command is the input of a tool that has a command alone.
func command(text string) []byte {
	out, _ := json.Marshal(map[string]string{"command": text}) // it is a text
	return out
}

// answered adds the result of a call that called has remembered.
func (r *Reader) answered(id string, result []byte, failed bool) {
	if t, ok := r.open[id]; ok {
		delete(r.open, id)
		r.turn(t, string(result), failed)
	}
}

// turn adds a call with its result. One that has changed a file, or waits, begins anew.
func (r *Reader) turn(t turn, result string, failed bool) {
	r.turned++
	if len(result) > 2*resultMax {
		result = result[:resultMax] + result[len(result)-resultMax:]
	}
	result = strings.TrimSpace(passing.ReplaceAllString(result, ""))
	if failed && len(result) >= errorMin {
		t.error, t.failed = hash(result)|1, r.clean(strings.Join(strings.Fields(result), " "), stepMax/10)
	}
	if t.what == "" || t.same == 0 && t.error == 0 {
		r.turns = r.turns[:0]
		return
	}
	t.same ^= hash(result)
	if r.turns = append(r.turns, t); len(r.turns) > 2*cycleWindow {
		r.turns = append(r.turns[:0], r.turns[len(r.turns)-cycleWindow:]...)
	}
}

// touched is a file that was changed: what came before is no repetition.
func (r *Reader) touched(s work.Step) work.Step {
	if s.Kind == work.StepFile {
		r.turns = r.turns[:0]
	}
	return s
}
