// Package guard holds the program's only recover: it turns a panic in work that
// must never raise into an error value, and counts it.
package guard

import (
	"fmt"
	"runtime/debug"
	"sync/atomic"
)

// Panicked is the error that a recovered panic becomes.
type Panicked struct {
	What  string // the work that was guarded
	Value any
	Stack string
}

// Error names the work and the value, not the stack.
func (p *Panicked) Error() string { return fmt.Sprintf("%s panicked: %v", p.What, p.Value) }

var count atomic.Int64

// Count returns how many panics were recovered since the program began.
func Count() int64 { return count.Load() }

// Do runs f and returns its panic, if any, as a *Panicked.
func Do(what string, f func()) (err error) {
	defer func() {
		if v := recover(); v != nil {
			count.Add(1)
			err = &Panicked{What: what, Value: v, Stack: string(debug.Stack())}
		}
	}()
	f()
	return nil
}
