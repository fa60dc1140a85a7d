package simulate

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"strconv"
	"time"
)

// trace records what happened, a line for each step: the virtual time, who, what, and
// what became of it. Its hash is made of every line; the lines are kept on demand.
type trace struct {
	hash   hash.Hash
	buffer []byte
	keep   bool
	lines  []string
}

func newTrace(keep bool) *trace { return &trace{hash: sha256.New(), keep: keep} }

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

func (t *trace) sum() string { return hex.EncodeToString(t.hash.Sum(nil)) }

// traceCall adds the line of a call of a port.
func (s *sim) traceCall(n *node, o op, arg string, f Fate, err error) {
	fate, failed := "", ""
	if f.Kind != FateOK {
		fate = " [" + string(f.Kind) + "]"
	}
	if err != nil {
		failed = ": " + err.Error()
	}
	s.trace.line(s.since(), n.name(), o.name, arg, fate, failed)
}
