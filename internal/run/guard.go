package run

import (
	"fmt"
	"runtime/debug"
	"sync/atomic"
)

// PanicError is the error that a recovered panic becomes.
type PanicError struct {
	What  string // the work that was guarded
	Value any
	Stack string
}

// Error names the work and the value, not the stack.
func (p *PanicError) Error() string { return fmt.Sprintf("%s panicked: %v", p.What, p.Value) }

var panics atomic.Int64

// Panics returns how many panics were recovered since the program began.
func Panics() int64 { return panics.Load() }

// Guard runs f and returns its panic, if any, as a *PanicError. It has the only recover.
func Guard(what string, f func()) (err error) {
	defer func() {
		if v := recover(); v != nil {
			panics.Add(1)
			err = &PanicError{What: what, Value: v, Stack: string(debug.Stack())}
		}
	}()
	f()
	return nil
}
