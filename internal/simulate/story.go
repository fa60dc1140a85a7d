package simulate

import (
	"fmt"
	"hash"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// storyMax is how many lines of what happened a story has.
const storyMax = 80

// Story writes what happened in a world in lines that a person can read: who was
// there, what went wrong, and what was done, to the broken invariant.
func (r Result) Story() string {
	var b strings.Builder
	w := r.World
	fmt.Fprintf(&b, "Seed %d\n", w.Seed)
	lines := Trace(w).Lines
	said := map[string]bool{} // explanations that have not changed
	lines = slices.DeleteFunc(lines, func(l string) bool {
		_, what, _ := strings.Cut(l, " ")
		again := said[what]
		said[what] = strings.HasPrefix(what, "helper ")
		return again || !isNotable(l)
	})
	for i, l := range lines {
		if skip := len(lines) - storyMax; skip > 0 && i >= storyMax/4 && i < storyMax/4+skip {
			if i == storyMax/4 {
				fmt.Fprintf(&b, "… %d lines\n", skip)
			}
			continue
		}
		ms, rest, _ := strings.Cut(l, " ")
		at, err := time.ParseDuration(ms + "ms")
		if err == nil {
			fmt.Fprintf(&b, "%s %s\n", at.Round(time.Second), rest)
		}
	}
	if r.Failure != nil {
		fmt.Fprintf(&b, "BROKEN: %s\n", r.Failure)
	}
	return b.String()
}

// isNotable reports whether a line of a trace says more than that somebody looked.
func isNotable(line string) bool {
	part := strings.SplitN(line, " ", 4)
	if len(part) < 4 {
		return false
	}
	who, what, detail := part[1], part[2], part[3]
	switch {
	case !strings.HasPrefix(who, "r"), strings.Contains(detail, " ["), strings.HasPrefix(detail, "["):
		return true
	case strings.HasPrefix(what, "store.Commit"):
		return !strings.Contains(detail, ", nothing")
	default:
		return slices.Contains([]string{
			"starts", "killed", "agent", "crash", "restart", "pause", "clock", "tracker.SetStatus", "host.Merge", "host.OpenPullRequest",
			"git.Push", "git.Drop", "git.Close", "chat.Send", "lease.Acquire", "lease.Release", "store.Receive", "store.Put",
		}, what)
	}
}

// meter keeps which metrics were more than 0. One process runs at a time: it needs no
// lock.
type meter map[string]bool

func (m meter) Add(name string, n float64, _ ...string) { m.Set(name, n) }

func (m meter) Set(name string, v float64, _ ...string) {
	if v > 0 {
		m[name] = true
	}
}

func (m meter) Observe(name string, seconds float64, _ ...string) { m.Set(name, seconds) }

// decision is an entry of the journal with what it records.
type decision struct {
	entry task.JournalEntry
	said  task.Recorded
	err   error
}

// recorded are the decisions that a commit stores.
func recorded(c task.Commit) (out []decision) {
	for _, e := range c.Journal {
		if e.Kind == task.KindDecision {
			said, err := e.Recorded()
			out = append(out, decision{e, said, err})
		}
	}
	return out
}

// describe is a commit in a few words, for the trace.
func describe(c task.Commit, said []decision) string {
	var b strings.Builder
	if c.Task != nil {
		b.WriteString(c.Task.WorkItemID + " " + string(c.Task.State.Stage) + " v" + id(c.Task.State.Seq))
		if c.Task.State.Hold != "" {
			b.WriteString(" (" + string(c.Task.State.Hold) + ")")
		}
	}
	for _, d := range said {
		b.WriteString(" on " + string(d.said.Event.On))
		if !d.said.Decision.Moved {
			b.WriteString(", nothing")
		}
	}
	if len(c.Jobs) > 0 {
		b.WriteString(", puts " + kinds(c.Jobs))
	}
	return b.String()
}

func kinds(jobs []queue.Job) string {
	var out []string
	for _, j := range jobs {
		out = append(out, j.Kind)
	}
	return strings.Join(out, " ")
}

// trace records what happened, a line for each step: the virtual time, who, what, and
// what became of it. Its hash is made of every line; the lines are kept on demand.
type trace struct {
	hash   hash.Hash
	buffer []byte
	keep   bool
	lines  []string
}

// line adds a line.
func (t *trace) line(at time.Duration, who, what string, details ...string) {
	b := strconv.AppendInt(t.buffer[:0], at.Milliseconds(), 10)
	b = append(append(append(append(b, ' '), who...), ' '), what...)
	b = append(b, ' ')
	for _, d := range details {
		b = append(b, d...)
	}
	if t.keep {
		t.lines = append(t.lines, string(b))
	}
	t.buffer = append(b, '\n')
	t.hash.Write(t.buffer)
}

// traceCall adds the line of a call of a port.
func (s *sim) traceCall(n *node, o op, arg string, f Fate, err error) {
	fate, failed := "", ""
	if f.Kind != fateOK {
		fate = " [" + string(f.Kind) + "]"
	}
	if err != nil {
		failed = ": " + err.Error()
	}
	s.trace.line(s.since(), n.name, o.name, arg, fate, failed)
}
