// Package historytest records what callers of a queue and of leases saw, and
// checks that it can be explained: that the calls took effect one after the
// other, each between its begin and its end (linearizability). Callers may be
// goroutines or processes of one machine; one that was killed leaves a call
// without an end, which may or may not have happened.
//
// What is checked beside the order: a job is claimed once for each attempt; what
// ends a claim that is not held any more is refused; a claim is not given back
// before its time; what was acknowledged is there at the end; a lease has one
// holder at a time and an epoch of its own for each; nobody loses one early.
package historytest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"sync"

	"golang.org/x/sys/unix"
)

// Call is one call and what its caller saw.
type Call struct {
	Client int    `json:"client"`
	N      int64  `json:"n"` // of the client's calls
	Op     string `json:"op"`
	From   int64  `json:"from"`         // nanoseconds of the machine's clock
	To     int64  `json:"to,omitempty"` // 0 at the beginning
	TTL    int64  `json:"ttl,omitempty"`
	No     bool   `json:"no,omitempty"` // refused: lost, or held by another

	Jobs []Job `json:"jobs,omitempty"` // that the call is about, or that it returned

	Name   string `json:"name,omitempty"` // of a lease
	Asker  string `json:"asker,omitempty"`
	Holder string `json:"holder,omitempty"` // who has it, by the answer
	Epoch  int64  `json:"epoch,omitempty"`
}

// Job is a job as a call saw it. Its task id names it: each job of a history has
// one of its own.
type Job struct {
	Task    int64  `json:"task"`
	Attempt int    `json:"attempt"`
	Status  string `json:"status,omitempty"`
}

// pending reports a call that has no end.
func (c Call) pending() bool { return c.To == math.MaxInt64 }

// Log is one client's record, a line of JSON for each begin and end. It is safe
// for concurrent use.
type Log struct {
	client int
	mu     sync.Mutex
	w      io.Writer
	n      int64
	err    error
}

// newLog writes to w. Each client of a history has a number of its own; a
// process that is started again is another client.
func newLog(client int, w io.Writer) *Log { return &Log{client: client, w: w} }

// Err returns what kept the record from being whole, in the log or in a call.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Crash records that the server was down during f.
func (l *Log) Crash(f func() error) error {
	call := l.begin(Call{Op: opCrash})
	err := f()
	l.end(call, err)
	return err
}

func (l *Log) begin(c Call) Call {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n++
	c.Client, c.N, c.From = l.client, l.n, now()
	l.write(c)
	return c
}

// end records the answer. An error that is none of those that a caller can
// expect spoils the record.
func (l *Log) end(c Call, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.To = now()
	l.write(c)
	if err != nil && l.err == nil {
		l.err = fmt.Errorf("%s: %w", c.Op, err)
	}
}

func (l *Log) write(c Call) {
	line, err := json.Marshal(c)
	if err == nil {
		_, err = l.w.Write(append(line, '\n'))
	}
	if err != nil && l.err == nil {
		l.err = err
	}
}

// now is a clock that all processes of the machine share.
func now() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err) // every kernel has it
	}
	return t.Nano()
}

// Read reads what logs have written. A line that was cut off by a kill does not
// count.
func Read(r io.Reader) ([]Call, error) {
	byName := map[[2]int64]int{}
	var out []Call
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var c Call
		if json.Unmarshal(lines.Bytes(), &c) != nil {
			continue
		}
		name := [2]int64{int64(c.Client), c.N}
		i, begun := byName[name]
		switch {
		case !begun:
			byName[name] = len(out)
			c.To = math.MaxInt64
			out = append(out, c)
		default:
			out[i] = c
		}
	}
	return out, lines.Err()
}
