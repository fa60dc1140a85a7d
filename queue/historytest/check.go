package historytest

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// Seen counts the answers of a history, by call; those that were refused have a
// "no " before their name. A test that requires some of each cannot pass because
// nothing happened.
type Seen map[string]int

// Need fails the test when some answers were never given.
func (s Seen) Need(t *testing.T, answers ...string) {
	t.Helper()
	for _, a := range answers {
		if s[a] == 0 {
			t.Errorf("the history has no %q, so that it says little: %v", a, s)
		}
	}
}

// writer is a writer of several logs.
type writer struct {
	mu sync.Mutex
	w  io.Writer
}

func (w *writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.w.Write(p)
}

// CheckJobs fails the test when a history of jobs cannot be explained.
func CheckJobs(t *testing.T, history []Call) Seen {
	t.Helper()
	return check(t, byTask(history), history, job.next)
}

// CheckLeases fails the test when a history of leases cannot be explained.
func CheckLeases(t *testing.T, history []Call) Seen {
	t.Helper()
	parts := map[string][]Call{}
	for _, c := range history {
		if c.Op != opCrash {
			parts[c.Name] = append(parts[c.Name], c)
		}
	}
	return check(t, parts, history, right.next)
}

// patience is how long one job or lease may be puzzled over.
const patience = time.Minute

func check[K comparable, S comparable](t *testing.T, parts map[K][]Call, history []Call, next func(S, Call) []S) Seen {
	t.Helper()
	var worst string // the shortest story is the easiest to read
	failed, shortest := 0, math.MaxInt
	for name, calls := range parts {
		result := explain(calls, next)
		if result == porcupine.Ok {
			continue
		}
		if failed++; len(calls) < shortest {
			worst, shortest = fmt.Sprintf("what was seen of %v cannot be explained (%s):\n%s", name, result, story(calls)), len(calls)
		}
	}
	if failed > 0 {
		t.Errorf("%d of %d stories; the shortest: %s", failed, len(parts), worst)
	}
	seen := Seen{}
	for _, c := range history {
		switch {
		case c.pending():
			seen["pending"]++
		case c.No:
			seen["no "+c.Op]++
		case len(c.Jobs) > 0:
			seen[c.Op] += len(c.Jobs)
		default:
			seen[c.Op]++
		}
	}
	return seen
}

// explain looks for an order of the calls in which each could see what it saw.
func explain[S comparable](calls []Call, next func(S, Call) []S) porcupine.CheckResult {
	model := porcupine.NondeterministicModel{
		Init: func() []any { return []any{*new(S)} },
		Step: func(state, input, _ any) (out []any) {
			for _, s := range next(state.(S), input.(Call)) {
				out = append(out, s)
			}
			return out
		},
	}
	var ops []porcupine.Operation
	for i, c := range calls {
		ops = append(ops, porcupine.Operation{ClientId: i, Input: c, Call: c.From, Return: c.To})
	}
	return porcupine.CheckOperationsTimeout(model.ToModel(), ops, patience)
}

// byTask splits a history of jobs by job. A call without an end that would
// have returned jobs may have been about any of them. So may a Take during a
// crash of the server: claims that others have reaped or cancelled before the
// store had the answer of its own commit are not in what it returned.
func byTask(history []Call) map[int64][]Call {
	out := map[int64][]Call{}
	var anyJob, looks, crashes []Call
	for _, c := range history {
		if c.Op == opCrash {
			crashes = append(crashes, c)
		}
	}
	for _, c := range history {
		switch {
		case c.Op == opSee:
			looks = append(looks, c)
		case c.pending() && (c.Op == opTake || c.Op == opReap):
			anyJob = append(anyJob, c)
		case c.Op == opTake && slices.ContainsFunc(crashes, func(d Call) bool { return c.From <= d.To && d.From <= c.To }):
			untold := c
			untold.To, untold.Jobs = math.MaxInt64, nil
			anyJob = append(anyJob, untold)
		}
		for _, j := range c.Jobs {
			one := c
			one.Jobs = []Job{j}
			out[j.Task] = append(out[j.Task], one)
		}
	}
	for task, calls := range out {
		for _, c := range looks { // a job that is missing was seen as not being there
			if !slices.ContainsFunc(c.Jobs, func(j Job) bool { return j.Task == task }) {
				c.Jobs = []Job{{Task: task}}
				calls = append(calls, c)
			}
		}
		last := slices.MaxFunc(calls, func(a, b Call) int { return int(a.From - b.From) }).From
		for _, c := range anyJob {
			if c.From <= last && !slices.ContainsFunc(calls, func(d Call) bool { return c.Client == d.Client && c.N == d.N }) {
				c.Jobs = []Job{{Task: task}}
				calls = append(calls, c)
			}
		}
		out[task] = calls
	}
	return out
}

// story lists calls in the order in which they began, in microseconds.
func story(calls []Call) string {
	calls = slices.SortedFunc(slices.Values(calls), func(a, b Call) int { return int(a.From - b.From) })
	var b strings.Builder
	for _, c := range calls {
		to := "never ended"
		if !c.pending() {
			to = fmt.Sprintf("%8d", (c.To-calls[0].From)/1000)
		}
		fmt.Fprintf(&b, "%8d %s client %d %s", (c.From-calls[0].From)/1000, to, c.Client, c.Op)
		for _, j := range c.Jobs {
			fmt.Fprintf(&b, " attempt %d %s", j.Attempt, j.Status)
		}
		if c.Name != "" {
			fmt.Fprintf(&b, " by %q: %q epoch %d", c.Asker, c.Holder, c.Epoch)
		}
		if c.No {
			b.WriteString(" refused")
		}
		b.WriteString("\n")
	}
	return b.String()
}
