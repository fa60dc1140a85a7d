package sqlstore

import (
	"context"
	"time"

	"github.com/signalbox-dev/signalbox/queue/lease"
)

// Leases is a lease.Locker whose leases lie in the database of a store.
type Leases struct{ store *Store }

// Leases gives the leases of the database.
func (s *Store) Leases() *Leases { return &Leases{s} }

const (
	leaseByName = "select name, holder, epoch, expires from ~leases where name = $1"
	saveLease   = `insert into ~leases (name, holder, epoch, expires) values ($1, $2, $3, $4)
		on conflict (name) do update set holder = excluded.holder, epoch = excluded.epoch, expires = excluded.expires`
)

func scanLease(rows Rows) (l lease.Lease, err error) {
	return l, rows.Scan(&l.Name, &l.Holder, &l.Epoch, &l.Expires)
}

// change stores what f makes of the lease that is stored; the zero Lease when there is none.
func (k *Leases) change(
	ctx context.Context, name string, f func(now time.Time, stored lease.Lease) (lease.Lease, error),
) (l lease.Lease, err error) {
	err = k.store.Alone(ctx, func(t *Tx) error {
		stored, err := ask(t, scanLease, leaseByName, name)
		if err != nil {
			return err
		}
		if l, err = f(t.Now, append(stored, lease.Lease{})[0]); err == nil {
			t.Queue(nil, saveLease, l.Name, l.Holder, l.Epoch, l.Expires)
		}
		return err
	})
	if err != nil {
		return lease.Lease{}, err
	}
	return l, nil
}

func (k *Leases) Acquire(ctx context.Context, name, holder string, ttl time.Duration) (lease.Lease, error) {
	return k.change(ctx, name, func(now time.Time, stored lease.Lease) (lease.Lease, error) {
		return lease.Grant(stored, Clean(name), Clean(holder), now, ttl)
	})
}

func (k *Leases) Release(ctx context.Context, l lease.Lease) error {
	_, err := k.change(ctx, l.Name, func(_ time.Time, stored lease.Lease) (lease.Lease, error) {
		if !stored.Same(l) {
			return stored, lease.ErrLost
		}
		return stored.Free(), nil
	})
	return err
}

func (k *Leases) Holder(ctx context.Context, name string) (lease.Lease, bool, error) {
	found, err := list(ctx, k.store, scanLease, leaseByName, name)
	if err != nil || len(found) == 0 || !found[0].Live(k.store.Now()) {
		return lease.Lease{}, false, err
	}
	return found[0], true, nil
}
