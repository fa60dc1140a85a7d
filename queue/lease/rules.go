package lease

import (
	"errors"
	"time"
)

// Live reports whether somebody holds the lease at a moment.
func (l Lease) Live(now time.Time) bool { return l.Holder != "" && now.Before(l.Expires) }

// Same reports whether the stored lease is the one that was granted: by name,
// holder and epoch.
func (l Lease) Same(granted Lease) bool {
	return granted.Holder != "" && l.Name == granted.Name && l.Holder == granted.Holder && l.Epoch == granted.Epoch
}

// Free is the lease after its release: nobody's, the epoch kept.
func (l Lease) Free() Lease { return Lease{Name: l.Name, Epoch: l.Epoch} }

// Grant decides an acquisition: what is stored afterwards, given what is stored
// now (the zero Lease when there is nothing). It is the one rule that all
// lockers share.
func Grant(stored Lease, name, holder string, now time.Time, ttl time.Duration) (none Lease, err error) {
	switch {
	case name == "":
		return none, errors.New("lease: name is empty: say what the right is to")
	case holder == "":
		return none, errors.New("lease: holder is empty: say who asks")
	case ttl <= 0:
		return none, errors.New("lease: ttl must be above zero")
	case !stored.Live(now):
		return Lease{Name: name, Holder: holder, Epoch: stored.Epoch + 1, Expires: now.Add(ttl)}, nil
	case stored.Holder == holder:
		stored.Expires = now.Add(ttl)
		return stored, nil
	default:
		return none, &Held{Lease: stored}
	}
}
