package postgres

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/signalbox-dev/signalbox/internal/pgerror"
	"github.com/signalbox-dev/signalbox/internal/run"
)

// UnavailableError is the error of a server that was away for longer than
// Options.Patience, or that is out of connections, memory or disk.
type UnavailableError struct {
	Err error
	// Unknown says that a write was sent and its answer lost: it may have
	// happened. Without it, nothing has happened.
	Unknown bool
}

func (u *UnavailableError) Error() string {
	if u.Unknown {
		return "postgres: the server went away during a commit; it may have happened: " + u.Err.Error()
	}
	return "postgres: " + u.Err.Error()
}

// Unwrap gives the driver's error.
func (u *UnavailableError) Unwrap() error { return u.Err }

// Retryable reports true.
func (u *UnavailableError) Retryable() bool { return true }

// retry calls f until it succeeds, fails for good, or patience is used up.
func (d *DB) retry(ctx context.Context, f func(context.Context) error) error {
	end := time.Now().Add(d.patience)
	for n := 0; ; n++ {
		err := f(ctx)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case !pgerror.Transient(err):
			return wrap(err)
		case time.Now().After(end):
			return &UnavailableError{Err: err}
		}
		if err := pause(ctx, n); err != nil {
			return err
		}
	}
}

// pause waits before the n-th repetition: 5 to 10 ms, doubling to 0.64 to 1.28 s.
func pause(ctx context.Context, n int) error {
	wait := 5 * time.Millisecond << min(n, 7)
	return run.Sleep(ctx, run.Real{}, wait+rand.N(wait))
}

// wrap says whose error it is.
func wrap(err error) error {
	if pgerror.Code(err) != "" {
		return fmt.Errorf("postgres: %w", err)
	}
	return err
}

// standby reports a server that takes no writes: another is the primary now.
func standby(err error) bool { return pgerror.Code(err) == "25006" }
