package run

import (
	"context"
	"reflect"
	"time"
)

// Scheduler is the one door to processes and time: all that start something or
// wait do it here. Real is the program's; a Domain of a Virtual scheduler runs
// the same code one process at a time, in an order that a seed decides.
type Scheduler interface {
	// Now is the wall clock.
	Now() time.Time
	// Go starts a process. Group is what names, guards and joins them.
	Go(f func())
	// Wait returns nil when a hint came or the time did, and the context's error
	// when that has ended. The zero time never comes. A hint that ends the wait is
	// taken from its channel.
	Wait(ctx context.Context, until time.Time, hints ...<-chan struct{}) error
	// WithTimeout derives a context that ends after d.
	WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc)
}

// Real is the scheduler of a program: goroutines, timers and the system's clock.
type Real struct{}

func (Real) Now() time.Time { return time.Now() }

func (Real) Go(f func()) { go f() }

func (Real) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, d)
}

func (Real) Wait(ctx context.Context, until time.Time, hints ...<-chan struct{}) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var due <-chan time.Time
	if !until.IsZero() {
		wait := time.Until(until)
		if wait <= 0 {
			return nil // Go 1.26 can crash in a select on a timer that is due, with synctest and -race
		}
		t := time.NewTimer(wait)
		defer t.Stop()
		due = t.C
	}
	cases := make([]reflect.SelectCase, 0, 2+len(hints))
	cases = append(cases,
		reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(ctx.Done())},
		reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(due)})
	for _, h := range hints {
		cases = append(cases, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(h)})
	}
	if chosen, _, _ := reflect.Select(cases); chosen == 0 {
		return ctx.Err()
	}
	return nil
}

// Hint sends a hint unless one lies there already. The channel has room for one.
func Hint(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Sleep waits for a duration; its error is that of the context.
func Sleep(ctx context.Context, s Scheduler, d time.Duration) error {
	return s.Wait(ctx, s.Now().Add(d))
}
