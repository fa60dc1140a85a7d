package task

import (
	"context"
	"time"
)

// Reservation holds what an attempt of an agent is taken to cost until its record
// says what it did cost.
type Reservation struct {
	TaskID   int64
	JobID    int64
	Attempt  int // JobID with Attempt is unique: reserving again replaces
	Repo     string
	MicroUSD int64 // millionths of a dollar
	At       time.Time
}

// CostStore keeps what agents are taken to cost, and what they did cost. The record
// of an attempt (Commit.Runs) ends its reservation in the same transaction. An
// attempt that was interrupted has no record, so that its reservation stays.
type CostStore interface {
	// Reserve keeps a reservation.
	Reserve(ctx context.Context, r Reservation) error
	// Reservations lists them by job and attempt: of a repository, or all for "".
	Reservations(ctx context.Context, repo string) ([]Reservation, error)
	// Forget removes reservations, known by job and attempt.
	Forget(ctx context.Context, rs ...Reservation) error
	// RunsSince lists the runs in a repository that finished at or after a
	// moment, oldest record first.
	RunsSince(ctx context.Context, repo string, since time.Time) ([]AgentRun, error)
}
