package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/signalbox-dev/signalbox/queue/lease"
)

// Leases is a lease.Locker whose leases lie in the database: it is safe between
// machines.
type Leases struct{ db *DB }

// Leases gives the leases of the database.
func (d *DB) Leases() *Leases { return &Leases{d} }

func scanLease(row pgx.CollectableRow) (l lease.Lease, err error) {
	at := make([]*time.Time, 1)
	err = row.Scan(&l.Name, &l.Holder, &l.Epoch, &at[0])
	times(at, &l.Expires)
	return l, err
}

const leaseQuery = "select name, holder, epoch, expires from ~leases where name = $1"

// lease reads what is stored; the zero Lease when there is nothing.
func (t *tx) lease(name string) (lease.Lease, error) {
	list, err := rows(t, scanLease, leaseQuery, name)
	if err != nil || len(list) == 0 {
		return lease.Lease{}, err
	}
	return list[0], nil
}

func (t *tx) saveLease(l lease.Lease) {
	t.exec(`insert into ~leases (name, holder, epoch, expires) values ($1, $2, $3, $4)
		on conflict (name) do update set holder = excluded.holder, epoch = excluded.epoch, expires = excluded.expires`, l.Name, l.Holder, l.Epoch, when(l.Expires))
}

// Acquire implements lease.Locker.
func (k *Leases) Acquire(ctx context.Context, name, holder string, ttl time.Duration) (l lease.Lease, err error) {
	err = k.db.alone(ctx, func(t *tx) error {
		stored, err := t.lease(name)
		if err != nil {
			return err
		}
		if l, err = lease.Grant(stored, text(name), text(holder), t.now, ttl); err == nil {
			t.saveLease(l)
		}
		return err
	})
	if err != nil {
		return lease.Lease{}, err
	}
	return l, nil
}

// change changes a lease that is the caller's, or returns lease.ErrLost.
func (k *Leases) change(ctx context.Context, granted lease.Lease, f func(*tx, lease.Lease) lease.Lease) (l lease.Lease, err error) {
	err = k.db.alone(ctx, func(t *tx) error {
		stored, err := t.lease(granted.Name)
		if err != nil {
			return err
		}
		if !stored.Same(granted) {
			return lease.ErrLost
		}
		l = f(t, stored)
		t.saveLease(l)
		return nil
	})
	if err != nil {
		return lease.Lease{}, err
	}
	return l, nil
}

// Renew implements lease.Locker.
func (k *Leases) Renew(ctx context.Context, l lease.Lease, ttl time.Duration) (lease.Lease, error) {
	return k.change(ctx, l, func(t *tx, l lease.Lease) lease.Lease {
		l.Expires = t.now.Add(ttl)
		return l
	})
}

// Release implements lease.Locker.
func (k *Leases) Release(ctx context.Context, l lease.Lease) error {
	_, err := k.change(ctx, l, func(_ *tx, l lease.Lease) lease.Lease { return l.Free() })
	return err
}

// Holder implements lease.Locker.
func (k *Leases) Holder(ctx context.Context, name string) (lease.Lease, bool, error) {
	found, err := list(ctx, k.db, scanLease, leaseQuery, name)
	if err != nil || len(found) == 0 || !found[0].Live(k.db.now()) {
		return lease.Lease{}, false, err
	}
	return found[0], true, nil
}
