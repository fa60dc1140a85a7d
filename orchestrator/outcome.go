package orchestrator

import (
	"context"
	"errors"
	"time"

	"github.com/signalbox-dev/signalbox/queue"
)

// An error of the outside world is final, retryable, or retryable after a moment, by
// its type: see package tracker, whose contract all ports share. What becomes of a job
// that met one is decided in settle and nowhere else.

// Retry is the outcome of an effect that met an error.
func Retry(err error) queue.Outcome {
	return queue.Outcome{Kind: queue.OutcomeRetry, Cause: err, Error: err.Error()}
}

// looks is how often an effect is tried that is refused for good.
const looks = 3

// settle decides what becomes of a job that met an error. An effect that is refused
// for good is given up at its third look; whatever may pass is tried again for as long
// as it takes, because what is owed stays owed. An event is never given up: it is
// what people and neighbours have said.
func settle(o queue.Outcome, j queue.Job, now time.Time) queue.Outcome {
	if o.Cause == nil || o.Kind != queue.OutcomeRetry {
		return o
	}
	if IsEffect(j) && GivenUp(o.Cause, j.Attempt) {
		o.Kind = queue.OutcomeDead
		return o
	}
	o.At = now.Add(backoff(o.Cause, j.Attempt, j.ID))
	return o
}

// GivenUp reports whether an attempt that ended with an error is an effect's last.
func GivenUp(err error, attempt int) bool { return err != nil && !mayPass(err) && attempt >= looks }

// mayPass reports whether an error may go away by itself. Everything is final that
// does not say so, but the end of a time limit or of the program.
func mayPass(err error) bool {
	var r interface{ Retryable() bool }
	if errors.As(err, &r) {
		return r.Retryable()
	}
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// retryAfter is the moment that an error asks to wait for, or zero.
func retryAfter(err error) time.Duration {
	var r interface{ RetryAfter() time.Duration }
	if errors.As(err, &r) {
		return r.RetryAfter()
	}
	return 0
}

// backoff is how long to wait before a failed job is tried again: what the error
// says, else 1 s, 2 s, 4 s … at most 5 min, less up to a quarter, so that jobs that
// failed together do not come back together.
func backoff(err error, attempt int, id int64) time.Duration {
	if d := retryAfter(err); d > 0 {
		return min(d, time.Hour)
	}
	d := min(time.Second<<min(max(attempt-1, 0), 9), 5*time.Minute)
	spread := (uint64(id)*2654435761 + uint64(attempt)*40503) % 256 // Knuth's multiplicative hash
	return d - d*time.Duration(spread)/1024
}
