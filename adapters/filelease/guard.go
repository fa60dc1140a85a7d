//go:build unix

package filelease

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/signalbox-dev/signalbox/internal/run"
)

// guarded runs f under the exclusive lock of the lease's guard file. The lock is
// the kernel's: it ends with the process, however that ends.
func (k *Locker) guarded(ctx context.Context, name string, f func(*guarded) error) error {
	path := k.path(name)
	guard, err := os.OpenFile(path+".guard", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("filelease: %w", err)
	}
	defer guard.Close() // gives the lock back
	if err := lock(ctx, guard); err != nil {
		return fmt.Errorf("filelease: %s: %w", guard.Name(), err)
	}
	return f(&guarded{k: k, path: path, guard: guard, now: k.clock.now()})
}

func lock(ctx context.Context, f *os.File) error {
	for wait := time.Millisecond; ; wait = min(2*wait, 20*time.Millisecond) {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil || !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return err
		}
		if err = run.Sleep(ctx, run.Real{}, wait); err != nil {
			return err
		}
	}
}

// remote are the magic numbers of file systems whose locks other machines may
// not see.
var remote = map[uint32]string{
	0x6969: "NFS", 0x517b: "SMB", 0xff534d42: "CIFS", 0xfe534d42: "SMB2", 0x01021997: "9P", 0x00c36400: "Ceph", 0x5346414f: "AFS",
}

func local(dir string) error {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return fmt.Errorf("filelease: %s: %w", dir, err)
	}
	if name := remote[uint32(s.Type)]; name != "" {
		return fmt.Errorf("filelease: %s is on a network file system (%s): use a directory on a local disk", dir, name)
	}
	return nil
}

// stamp is one moment on the machine's clocks.
type stamp struct {
	wall time.Time
	host string
	boot string        // empty: up says nothing
	up   time.Duration // since boot, suspended time included
}

type clock struct {
	wall       func() time.Time
	host, boot string
}

func newClock(now func() time.Time) (clock, error) {
	host, err := os.Hostname()
	if err != nil {
		return clock{}, fmt.Errorf("filelease: %w", err)
	}
	c := clock{wall: now, host: host}
	if now == nil {
		c.wall = time.Now
		if id, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil {
			c.boot = strings.TrimSpace(string(id))
		}
	}
	return c, nil
}

func (c clock) now() stamp {
	s := stamp{wall: c.wall(), host: c.host}
	var ts unix.Timespec
	if c.boot != "" && unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) == nil {
		s.boot, s.up = c.boot, time.Duration(ts.Nano())
	}
	return s
}
