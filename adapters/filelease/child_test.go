//go:build unix

package filelease_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/signalbox-dev/signalbox/queue/lease"
)

// holdGuard keeps the guard of the lease "x" locked until the process is killed.
func holdGuard(t *testing.T, dir string, l lease.Locker) {
	t.Helper()
	_, err := l.Acquire(t.Context(), "x", "child", time.Nanosecond)
	require.NoError(t, err)
	guard, err := os.OpenFile(leaseFile(t, dir)+".guard", os.O_RDWR, 0)
	require.NoError(t, err)
	require.NoError(t, unix.Flock(int(guard.Fd()), unix.LOCK_EX))
	fmt.Println("held")
	time.Sleep(time.Hour)
}
