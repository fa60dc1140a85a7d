// Package filelease keeps leases in files of one directory, for the processes
// of one machine.
//
// Every step happens under an exclusive flock(2) of a guard file beside the
// lease; the lease itself is written to a temporary file and published with
// link(2) or rename(2), so that a reader sees a whole lease or none. The guard
// also keeps the last epoch: a lease file that was torn or removed does not make
// epochs start again. A torn lease counts as held until its modification time
// plus the time to live has passed.
//
// Expiry is judged by the kernel's clock since boot where both moments lie in
// the same boot, and by the wall clock otherwise. Directories on network file
// systems, and leases of another machine, are refused.
package filelease

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/queue/lease"
)

// ErrForeign means that the lease was made by another machine.
var ErrForeign = errors.New("filelease: the lease was made by another machine: use a database lease for several machines")

// Locker is a lease.Locker over a directory.
type Locker struct {
	dir   string
	clock clock
}

// New makes the directory if there is none, and refuses one on a network file
// system. A nil now means the machine's clocks.
func New(dir string, now func() time.Time) (*Locker, error) {
	if dir == "" {
		return nil, errors.New("filelease: dir is missing: a directory on a local disk")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("filelease: %w", err)
	}
	if err := local(dir); err != nil {
		return nil, err
	}
	c, err := newClock(now)
	return &Locker{dir: dir, clock: c}, err
}

// record is a lease as its file has it.
type record struct {
	Name    string        `json:"name"`
	Holder  string        `json:"holder"`
	Epoch   int64         `json:"epoch"`
	Expires time.Time     `json:"expires"`
	Host    string        `json:"host"`
	Boot    string        `json:"boot,omitempty"`  // the boot that Until counts in
	Until   time.Duration `json:"until,omitempty"` // expiry, since that boot
}

// path names a lease's file: readable, and unique for names that a file system
// might take for one another.
func (k *Locker) path(name string) string {
	readable := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, name)
	return filepath.Join(k.dir, fmt.Sprintf("%s-%.6x.lease", readable[:min(len(readable), 60)], sha256.Sum256([]byte(name))))
}

// Acquire implements lease.Locker.
func (k *Locker) Acquire(ctx context.Context, name, holder string, ttl time.Duration) (got lease.Lease, err error) {
	err = k.guarded(ctx, name, func(g *guarded) error {
		stored, err := g.read(ttl)
		if err != nil {
			return err
		}
		if got, err = lease.Grant(stored, name, holder, g.now.wall, ttl); err != nil {
			return err
		}
		return g.write(got, ttl)
	})
	return got, err
}

// Release implements lease.Locker.
func (k *Locker) Release(ctx context.Context, l lease.Lease) error {
	return k.guarded(ctx, l.Name, func(g *guarded) error {
		stored, err := g.read(0)
		if err != nil {
			return err
		}
		if !stored.Same(l) {
			return lease.ErrLost
		}
		return g.write(stored.Free(), 0)
	})
}

// Holder implements lease.Locker.
func (k *Locker) Holder(ctx context.Context, name string) (got lease.Lease, ok bool, err error) {
	err = k.guarded(ctx, name, func(g *guarded) error {
		got, err = g.read(tornTTL)
		return err
	})
	if err != nil || !got.Live(k.clock.now().wall) {
		return lease.Lease{}, false, err
	}
	return got, true, nil
}

// tornTTL is how long Holder takes a torn file for a lease.
const tornTTL = time.Minute

// guarded is a lease whose guard is held.
type guarded struct {
	k     *Locker
	path  string
	guard *os.File
	now   stamp
}

// read returns the stored lease with its expiry in terms of the wall clock as
// it is now; the zero Lease (but for the epoch) when there is none.
func (g *guarded) read(ttl time.Duration) (none lease.Lease, err error) {
	epoch, err := g.epoch()
	if err != nil {
		return none, err
	}
	body, err := os.ReadFile(g.path)
	if errors.Is(err, os.ErrNotExist) {
		return lease.Lease{Epoch: epoch}, nil
	}
	if err != nil {
		return none, err
	}
	var r record
	if json.Unmarshal(body, &r) != nil || r.Epoch < 1 {
		return g.torn(epoch, ttl)
	}
	switch { // a container that replaces another has another name for the same machine
	case r.Boot != "" && r.Boot == g.now.boot:
		r.Expires = g.now.wall.Add(r.Until - g.now.up)
	case r.Host != g.now.host && r.Holder != "" && g.now.wall.Before(r.Expires):
		return none, fmt.Errorf("%w (%s, by %s)", ErrForeign, g.path, r.Host)
	}
	return lease.Lease{Name: r.Name, Holder: r.Holder, Epoch: max(r.Epoch, epoch), Expires: r.Expires}, nil
}

// torn returns what a lease file counts as that cannot be read: somebody's, until it
// is older than the time to live.
func (g *guarded) torn(epoch int64, ttl time.Duration) (lease.Lease, error) {
	info, err := os.Stat(g.path)
	if err != nil {
		return lease.Lease{}, err
	}
	return lease.Lease{Holder: "unknown (torn file)", Epoch: epoch, Expires: info.ModTime().Add(ttl)}, nil
}

// write publishes a lease; the epoch is durable before the lease is.
func (g *guarded) write(l lease.Lease, ttl time.Duration) error {
	if err := g.setEpoch(l.Epoch); err != nil {
		return err
	}
	r := record{Name: l.Name, Holder: l.Holder, Epoch: l.Epoch, Expires: l.Expires, Host: g.now.host}
	if g.now.boot != "" && l.Holder != "" {
		r.Boot, r.Until = g.now.boot, g.now.up+ttl
	}
	body, err := json.Marshal(r)
	if err != nil {
		return err
	}
	temp, err := os.CreateTemp(g.k.dir, ".lease-*")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name()) // after link it is a second name; after rename it is gone
	_, err = temp.Write(append(body, '\n'))
	if err = errors.Join(err, temp.Sync(), temp.Close()); err != nil {
		return err
	}
	if err = os.Link(temp.Name(), g.path); errors.Is(err, os.ErrExist) {
		err = os.Rename(temp.Name(), g.path)
	}
	return err
}

func (g *guarded) epoch() (int64, error) {
	body := make([]byte, 32)
	n, _ := g.guard.ReadAt(body, 0)
	text := strings.TrimSpace(string(body[:n]))
	if text == "" {
		return 0, nil
	}
	epoch, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("filelease: the guard %s does not hold an epoch; "+
			"remove it together with its lease when no server runs", g.guard.Name())
	}
	return epoch, nil
}

func (g *guarded) setEpoch(n int64) error {
	// A fixed width, so that one write replaces all of the old number.
	if _, err := g.guard.WriteAt(fmt.Appendf(nil, "%020d\n", n), 0); err != nil {
		return err
	}
	return g.guard.Sync()
}
