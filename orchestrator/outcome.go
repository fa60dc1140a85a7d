package orchestrator

import (
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/queue"
)

// Package fault defines what an error of the outside world allows. What becomes of a job
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
func GivenUp(err error, attempt int) bool {
	return err != nil && !fault.Retryable(err) && attempt >= looks
}

// backoff is how long to wait before a failed job is tried again: what the error
// says, else 1 s, 2 s, 4 s … at most 5 min, less up to a quarter, so that jobs that
// failed together do not come back together.
func backoff(err error, attempt int, id int64) time.Duration {
	if d := fault.After(err); d > 0 {
		return min(d, time.Hour)
	}
	d := min(time.Second<<min(max(attempt-1, 0), 9), 5*time.Minute)
	spread := (uint64(id)*2654435761 + uint64(attempt)*40503) % 256 // Knuth's multiplicative hash
	return d - d*time.Duration(spread)/1024
}
