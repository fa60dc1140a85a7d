// Package lease is the port to a named, expiring right with one holder at a
// time: the per-repo right to merge. It fences: every lease has an epoch that
// rises strictly with each new holder, so that a write made under an old lease
// can be distinguished from one made under the present one.
//
// A lease saves duplicate work; it is never the only thing that keeps data
// safe. adapters/filelease keeps leases in files, lease/memlease in memory, and
// lease/leasetest is the suite that both pass.
package lease

import (
	"context"
	"errors"
	"time"
)

// ErrHeld means that somebody else holds the lease now.
var ErrHeld = errors.New("lease: held by another")

// ErrLost means that the lease is not (or no longer) the caller's.
var ErrLost = errors.New("lease: lost")

// Lease is a right that was granted.
type Lease struct {
	Name    string
	Holder  string // who; compared byte for byte
	Epoch   int64  // rises strictly with every acquisition of the name
	Expires time.Time
}

// Locker grants leases. Implementations are safe for concurrent use, between
// processes too where the adapter says so.
type Locker interface {
	// Acquire grants the lease for ttl, or returns ErrHeld (wrapped in *Held).
	// A holder that has it gets it again: same epoch, longer.
	Acquire(ctx context.Context, name, holder string, ttl time.Duration) (Lease, error)
	// Release gives it back. Releasing a lease that is another's, or nobody's,
	// changes nothing and returns ErrLost.
	Release(ctx context.Context, l Lease) error
	// Holder returns the lease of the name's holder of now; ok is false when there is none.
	Holder(ctx context.Context, name string) (l Lease, ok bool, err error)
}

// Held is the error of a busy lease: who has it and until when.
type Held struct{ Lease Lease }

// Error names the holder.
func (e *Held) Error() string {
	return "lease: " + e.Lease.Name + " is held by " + e.Lease.Holder + " until " + e.Lease.Expires.UTC().Format(time.RFC3339)
}

// Unwrap makes errors.Is(err, ErrHeld) true.
func (e *Held) Unwrap() error { return ErrHeld }
