// Package memlease keeps leases in memory: the double of package lease for
// tests. It passes the suite in queue/lease/leasetest.
package memlease

import (
	"context"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/queue/lease"
)

// Locker is a lease.Locker in memory.
type Locker struct {
	now func() time.Time

	mu     sync.Mutex
	leases map[string]lease.Lease // with Holder "" when free; the epoch stays
}

// New makes a locker. A nil clock means time.Now.
func New(now func() time.Time) *Locker {
	if now == nil {
		now = time.Now
	}
	return &Locker{now: now, leases: map[string]lease.Lease{}}
}

// Acquire implements lease.Locker.
func (k *Locker) Acquire(_ context.Context, name, holder string, ttl time.Duration) (lease.Lease, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	l, err := lease.Grant(k.leases[name], name, holder, k.now(), ttl)
	if err == nil {
		k.leases[name] = l
	}
	return l, err
}

// Release implements lease.Locker.
func (k *Locker) Release(_ context.Context, l lease.Lease) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.leases[l.Name].Same(l) {
		return lease.ErrLost
	}
	k.leases[l.Name] = l.Free()
	return nil
}

// Holder implements lease.Locker.
func (k *Locker) Holder(_ context.Context, name string) (lease.Lease, bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	l := k.leases[name]
	if !l.Live(k.now()) {
		return lease.Lease{}, false, nil
	}
	return l, true, nil
}
